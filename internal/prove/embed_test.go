package prove

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestWorkerFiles holds that all sources are in the program, and no test.
func TestWorkerFiles(t *testing.T) {
	files, err := filepath.Glob("worker/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		_, err := fs.Stat(workerFiles, filepath.ToSlash(f))
		if test := strings.HasSuffix(f, "_test.go"); test != (err != nil) {
			t.Errorf("%s: %v", f, err)
		}
	}
}
