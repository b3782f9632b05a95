package advise

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/symbol"
	"github.com/hone-perf/hone/internal/gocmd"
)

func TestSayMissing(t *testing.T) {
	for _, tt := range []struct {
		functions []string
		want      string
	}{
		{nil, ""},
		{[]string{"a.F"}, "no findings for a.F and the rest of its file: not 1; source=DIR says where the sources are"},
		{[]string{"a.F", "b.G"}, "no findings for the files of a.F, b.G; about the first: not 1; source=DIR says where the sources are"},
		{
			[]string{"a.F", "b.G", "c.H", "d.I", "e.J"},
			"no findings for the files of a.F, b.G, c.H and 2 more; about the first: not 1; source=DIR says where the sources are",
		},
	} {
		var tr tree
		for i, fn := range tt.functions {
			tr.lost = append(tr.lost, lost{fn, fmt.Errorf("not %d", i+1)})
		}
		tr.sayMissing()
		if got := tr.notes.String(); got != tt.want {
			t.Errorf("of %q it says\n%s\nwant\n%s", tt.functions, got, tt.want)
		}
	}
}

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
		want     cost.Class
	}{
		{"runtime.goready", "/usr/local/go/src/runtime/proc.go", cost.Std},
		{"_.goready.func1", "/usr/local/go/src/runtime/proc.go", cost.Std},
		{"_.goready.func1", "/home/u/src/link/goroot/src/runtime/proc.go", cost.Std},
		{"_.goready.func1", "runtime/proc.go", cost.Std},
		{"_.run.func1", "/home/u/src/runtime/mine.go", cost.Own},
		{"_.run.func1", "/home/u/proc.go", cost.Own},
		{"_.run.func1", "example.com/app/proc.go", cost.Own},
		{"_.run.func1", "/home/u/go/pkg/mod/example.com/a@v1.0.0/a.go", cost.Foreign},
		{"main.main", "/home/u/src/runtime/proc.go", cost.Own},
		{"main.main", "/home/u/app/main_test.go", cost.Test},
	}
	for _, tt := range tests {
		tr := &tree{about: gocmd.About{GOROOT: root}, std: map[string]bool{}, classes: map[cost.LineKey]cost.Class{}}
		if got := tr.class(tt.fn, tt.file); got != tt.want {
			t.Errorf("%s in %s is of class %v, want %v", tt.fn, tt.file, got, tt.want)
		}
	}
	for fn, want := range map[string]string{
		"gopkg.in/yaml%2ev3.Unmarshal":         "gopkg.in/yaml.v3",
		"gopkg.in/yaml%252ev3.Wrap.func1":      "gopkg.in/yaml.v3",
		"example.com/a/b.(*T[go.shape.int]).M": "example.com/a/b",
	} {
		if got := symbol.PackageOf(fn); got != want {
			t.Errorf("%s is of package %s, want %s", fn, got, want)
		}
	}
}
