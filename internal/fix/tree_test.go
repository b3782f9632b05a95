package fix

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/testrun"
)

// TestTree copies a module whose go.mod leads out of it, with links, and holds that the copies stand for themselves.
func TestTree(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		testrun.Missing(t, "there is no go command")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"m/go.mod":           "module example.com/m\n\ngo 1.25\n\nrequire (\n\texample.com/in v0.0.0\n\texample.com/out v0.0.0\n)\n\nreplace example.com/out => ../out\n\nreplace example.com/in => ./in\n",
		"m/a.go":             "package m\n",
		"m/sub/b.go":         "package sub\n",
		"m/in/go.mod":        "module example.com/in\n",
		"m/.git/config":      "[core]\n",
		"m/testdata/x":       "x",
		"out/go.mod":         "module example.com/out\n",
		"m/.golangci.yml":    "a: b\n",
		"m/node_modules/x.y": "x",
	} {
		at := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"m/inner": "testdata/x", "m/outer": "../out/go.mod", "m/whole": filepath.Join(top, "m", "testdata", "x"), "m/folder": "../out", "m/nowhere": "gone",
	} {
		if err := os.Symlink(target, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	tr, err := openTree(t.Context(), filepath.Join(top, "m", "sub"))
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	if tr.path != "example.com/m" || tr.mod != filepath.Join(top, "m") || filepath.Base(tr.copyOf(tr.old)) != "m" {
		t.Errorf("module %s in %s, copied to %s", tr.path, tr.mod, tr.copyOf(tr.old))
	}
	text, err := os.ReadFile(tr.at(tr.now, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range mod.Replace {
		if want := map[string]string{"example.com/out": filepath.Join(top, "out"), "example.com/in": "./in"}[r.Old.Path]; r.New.Path != want {
			t.Errorf("%s is replaced by %s; want %s", r.Old.Path, r.New.Path, want)
		}
	}
	for name, there := range map[string]bool{".git/config": false, "node_modules/x.y": false, ".golangci.yml": true, "testdata/x": true, "inner": true, "outer": true} {
		if _, err := os.Stat(tr.at(tr.old, name)); (err == nil) != there {
			t.Errorf("%s: %v; want it there: %v", name, err, there)
		}
	}
	if at, err := os.Readlink(tr.at(tr.old, "inner")); err != nil || at != filepath.FromSlash("testdata/x") {
		t.Errorf("a link inside leads to %s, %v", at, err)
	}

	// Nothing that is written to a copy gets out of it, whatever a link leads to.
	for _, name := range []string{"outer", "whole"} {
		if err := os.WriteFile(tr.at(tr.now, name), []byte("of the copy"), 0o600); err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(filepath.Join(top, "m", name)); err != nil || string(got) == "of the copy" {
			t.Errorf("what was written to the copy of %s is %q for the user, %v", name, got, err)
		}
	}
	for _, name := range []string{"inner", "outer", "whole", "folder/go.mod"} {
		if _, err := tr.read(name); err == nil || !strings.Contains(err.Error(), "is a symbolic link, or in a linked folder") {
			t.Errorf("reading %s to patch it: %v", name, err)
		}
	}

	// A patch is tried, and becomes part of what was kept.
	y := &trial{file: "a.go", was: []byte("package m\n"), text: []byte("package m // new\n")}
	if err := tr.put(y.file, y.text); err != nil {
		t.Fatal(err)
	}
	if got, err := tr.read("a.go"); err != nil || string(got) != "package m\n" {
		t.Errorf("while it is tried, a.go is %q, %v", got, err)
	}
	if err := tr.take(y); err != nil {
		t.Fatal(err)
	}
	if got, err := tr.read("a.go"); err != nil || string(got) != "package m // new\n" {
		t.Errorf("when it is kept, a.go is %q, %v", got, err)
	}
	if err := tr.restore(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(tr.at(tr.now, "a.go")); err != nil || string(got) != "package m\n" {
		t.Errorf("as it was in the beginning, a.go is %q, %v", got, err)
	}
	if got, err := os.ReadFile(filepath.Join(top, "m", "a.go")); err != nil || string(got) != "package m\n" {
		t.Errorf("the file of the user is %q, %v", got, err)
	}
	if got := tr.asUser("vet: " + tr.at(tr.now, "a.go") + ":1: x"); got != "vet: a.go:1: x" {
		t.Errorf("a name as the user knows it: %q", got)
	}
	if _, err := openTree(t.Context(), top); err == nil || !strings.Contains(err.Error(), "no go.mod") {
		t.Errorf("outside of a module: %v", err)
	}
}

// What needs something outside of the module builds in the copies: one that has all in its folder vendor, though go.mod leads out
// of it, and one in a workspace.
func TestTreeBuilds(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		testrun.Missing(t, "there is no go command")
	}
	t.Run("vendored", func(t *testing.T) {
		builds(t, map[string]string{
			"m/go.mod":                        "module example.com/m\n\ngo 1.25\n\nrequire example.com/out v0.0.0\n\nreplace example.com/out => ../out\n",
			"m/a.go":                          "package m\n\nimport _ \"example.com/out\"\n",
			"m/vendor/modules.txt":            "# example.com/out v0.0.0 => ../out\n## explicit; go 1.25\nexample.com/out\n# example.com/out => ../out\n",
			"m/vendor/example.com/out/out.go": "package out\n",
			"out/go.mod":                      "module example.com/out\n\ngo 1.25\n",
			"out/out.go":                      "package out\n",
		})
	})
	t.Run("workspace", func(t *testing.T) {
		builds(t, map[string]string{
			"m/go.work":   "go 1.25\n\nuse .\n\nuse (\n\t../out // beside it\n\t./in\n)\n\nreplace example.com/other => ../other\n",
			"m/go.mod":    "module example.com/m\n\ngo 1.25\n\nrequire example.com/other v0.0.0\n",
			"m/a.go":      "package m\n\nimport (\n\t_ \"example.com/in\"\n\t_ \"example.com/other\"\n\t_ \"example.com/out\"\n)\n",
			"m/in/go.mod": "module example.com/in\n\ngo 1.25\n", "m/in/in.go": "package in\n",
			"out/go.mod": "module example.com/out\n\ngo 1.25\n", "out/out.go": "package out\n",
			"other/go.mod": "module example.com/other\n\ngo 1.25\n", "other/other.go": "package other\n",
		})
	})
}

func builds(t *testing.T, files map[string]string) {
	t.Helper()
	top := t.TempDir()
	for name, text := range files {
		at := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tr, err := openTree(t.Context(), filepath.Join(top, "m"))
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	if _, err := (gocmd.Command{Dir: tr.copyOf(tr.now)}).Run(t.Context(), "build", "./..."); err != nil {
		t.Error(err)
	}
}
