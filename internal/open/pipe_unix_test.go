//go:build unix

package open

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestIsProgramKeepsPipeContents: what a look at a pipe reads is lost to those who read it after that.
func TestIsProgramKeepsPipeContents(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	const log = "gc 1 @0.1s"
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(pipe, []byte(log), 0o600) }()
	f, err := os.Open(pipe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if IsProgram(f) {
		t.Error("a pipe is said to be a program")
	}
	if got, err := io.ReadAll(f); err != nil || string(got) != log {
		t.Errorf("read %q, %v after that; want %q", got, err, log)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	self, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	if !IsProgram(self) {
		t.Error("the test itself is no program")
	}
}
