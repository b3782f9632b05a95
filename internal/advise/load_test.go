package advise

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hone-perf/hone/internal/gocmd"
)

// TestClass holds that the standard library is known as such by the package of a function, and where it names none, by its file.
func TestClass(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"src/runtime/proc.go", "src/cmd/go/main.go"} {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		fn, file string
		want     class
	}{
		{"runtime.goready", "/usr/local/go/src/runtime/proc.go", std},
		{"_.goready.func1", "/usr/local/go/src/runtime/proc.go", std},
		{"_.goready.func1", "/home/u/src/link/goroot/src/runtime/proc.go", std},
		{"_.goready.func1", "runtime/proc.go", std},
		{"_.run.func1", "/home/u/src/runtime/mine.go", own},
		{"_.run.func1", "/home/u/proc.go", own},
		{"_.run.func1", "example.com/app/proc.go", own},
		{"_.run.func1", "/home/u/go/pkg/mod/example.com/a@v1.0.0/a.go", foreign},
		{"main.main", "/home/u/src/runtime/proc.go", own},
		{"main.main", "/home/u/app/main_test.go", test},
	}
	for _, tt := range tests {
		tr := &tree{about: gocmd.About{GOROOT: root}, std: map[string]bool{}, classes: map[lineKey]class{}}
		if got := tr.class(tt.fn, tt.file); got != tt.want {
			t.Errorf("%s in %s is of class %v, want %v", tt.fn, tt.file, got, tt.want)
		}
	}
	for fn, want := range map[string]string{
		"gopkg.in/yaml%2ev3.Unmarshal":         "gopkg.in/yaml.v3",
		"gopkg.in/yaml%252ev3.Wrap.func1":      "gopkg.in/yaml.v3",
		"example.com/a/b.(*T[go.shape.int]).M": "example.com/a/b",
	} {
		if got := packageOf(fn); got != want {
			t.Errorf("%s is of package %s, want %s", fn, got, want)
		}
	}
}
