package gocmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/testrun"
)

// Without a home, the go command has no module cache. It then takes every file for one in it, of which none may be replaced.
func TestReplaceableWithoutModuleCache(t *testing.T) {
	cache, err := Command{}.Run(t.Context(), "env", "GOCACHE")
	if err != nil {
		t.Fatal(err)
	}
	c := Command{Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH"), "GOCACHE=" + strings.TrimSpace(string(cache)), "GOTOOLCHAIN=local", "GOENV=off"}}
	about, err := c.About(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if about.GOMODCACHE != "" {
		t.Fatalf("without a home there is a module cache: %s", about.GOMODCACHE)
	}
	c, about, err = c.Replaceable(about, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(about.GOROOT, "src", "errors", "errors.go")
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(overlay, fmt.Appendf(nil, `{"Replace": {%q: %[1]q}}`, file), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(t.Context(), "list", "-overlay", overlay, "errors"); err != nil {
		t.Error(err)
	}
}

// What the go command says about an installation that is linked to does not name the link.
func TestShown(t *testing.T) {
	root, work := filepath.Join(t.TempDir(), "mod", "go1.99.0"), t.TempDir()
	c, about, err := Command{Env: []string{}}.Replaceable(About{GOROOT: root, GOMODCACHE: filepath.Dir(root)}, work)
	if err != nil {
		testrun.Unable(t, "%v", err) // links need a right on Windows
	}
	if got, want := c.Shown("not in "+about.GOROOT+"/src"), "not in "+root+"/src"; got != want || about.GOROOT == root {
		t.Errorf("%q is shown, want %q", got, want)
	}
}
