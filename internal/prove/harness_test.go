package prove

import (
	"path/filepath"
	"testing"

	"github.com/hone-perf/hone/internal/gocmd"
)

// The packages of a version share a worker, but for those of other modules, which cannot import it, and those below a folder that has no import
// path of its own.
func TestWorkerPlace(t *testing.T) {
	top := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":               "module example.com/top\n\ngo 1.22\n",
		"top.go":               "package top\n",
		"a/internal/deep/d.go": "package deep\n",
		"other/go.mod":         "module example.com/top/other\n\ngo 1.22\n",
		"other/o.go":           "package other\n",
		"elsewhere/go.mod":     "module example.org/elsewhere\n\ngo 1.22\n",
		"elsewhere/e.go":       "package elsewhere\n",
		"go.work":              "go 1.22\n\nuse (\n\t.\n\t./other\n\t./elsewhere\n)\n",
	} {
		write(t, filepath.Join(top, filepath.FromSlash(name)), []byte(text))
	}
	for _, test := range []struct{ version, rel, path, dir string }{
		{".", ".", "example.com/top/", "."},
		{".", "a/internal/deep", "example.com/top/", "."},
		{"a", "internal/deep", "example.com/top/a/", "a"},
		{".", "other", "example.com/top/other/", "other"},
		{".", "elsewhere", "example.org/elsewhere/", "elsewhere"},
		{"elsewhere", ".", "example.org/elsewhere/", "elsewhere"},
	} {
		v := Version{Name: "new", Dir: filepath.Join(top, test.version)}
		sides, err := loadSides(t.Context(), v, []string{test.rel})
		if err != nil {
			t.Fatal(err)
		}
		s := sides[filepath.FromSlash(test.rel)]
		if s == nil {
			t.Fatalf("%s in %s is not loaded: %v", test.rel, test.version, sides)
		}
		path, dir := s.workerPlace()
		if want := filepath.Join(top, test.dir, workerFolder); path != test.path+workerFolder || dir != want {
			t.Errorf("%s in %s: the worker is %s in %s, want %s in %s", test.rel, test.version, path, dir, test.path+workerFolder, want)
		}
		r, err := newReplacing(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.addWorker(r.put); err != nil {
			t.Fatal(err)
		}
		overlay, err := r.write()
		if err != nil {
			t.Fatal(err)
		}
		if out, err := (gocmd.Command{Dir: s.dir}).Run(t.Context(), "list", "-overlay="+overlay, path); err != nil {
			t.Errorf("%s cannot import it: %v %s", test.rel, err, out)
		}
	}
}
