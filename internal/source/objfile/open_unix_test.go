//go:build unix

package objfile

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
)

// TestNamedPipe would hang if Open opened it: there is no writer.
func TestNamedPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Skipf("mkfifo: %v", err)
	}
	if _, err := Open(name); fmt.Sprint(err) != "open "+name+": unrecognized object file" {
		t.Errorf("error %v", err)
	}
}
