package fix

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/testrun"
)

// Copies link to what git ignores and nobody builds; what is built, embedded, small or tracked is copied.
func TestIgnoredIsLinked(t *testing.T) {
	for _, name := range []string{"go", "git"} {
		if _, err := exec.LookPath(name); err != nil {
			testrun.Missing(t, "there is no %s command", name)
		}
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("x", smallBytes+1)
	for name, text := range map[string]string{
		"go.mod":            "module example.com/m\n\ngo 1.22\n",
		"m.go":              "package m\n\nimport \"embed\"\n\n//go:embed web/dist/*.js all:shown\nvar Web embed.FS\n",
		".gitignore":        "/data/\n/tmp/\n/gen/\n/web/dist/\n/shown/\n/core\n",
		"data/a.bin":        large,
		"data/b/c.bin":      "c",
		"tmp/note":          "small",
		"gen/gen.go":        "package gen\n",
		"gen/gen.bin":       large,
		"web/dist/app.js":   large,
		"shown/page":        large,
		"core":              large,
		"testdata/tracked":  large,
		"node_modules/x.js": large,
	} {
		at := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "-C", root, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	tr, err := openTree(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	for name, want := range map[string]bool{
		"data": true, "core": true,
		"tmp": false, "tmp/note": false, "gen": false, "gen/gen.bin": false, "web/dist": false, "web/dist/app.js": false, "shown": false,
		"shown/page": false, "testdata/tracked": false,
	} {
		st, err := os.Lstat(filepath.Join(tr.now, filepath.FromSlash(name)))
		if err != nil {
			t.Errorf("%s is not in the copy: %v", name, err)
		} else if got := st.Mode()&os.ModeSymlink != 0; got != want {
			t.Errorf("%s is a link: %v, want %v", name, got, want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(tr.now, "data", "b", "c.bin")); err != nil || !bytes.Equal(text, []byte("c")) {
		t.Errorf("what is behind the link reads as %q, %v", text, err)
	}
}
