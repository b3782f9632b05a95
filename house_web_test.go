package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/testrun"
)

// TestWebBundle checks that the bundle of the page is up to date: neither its sources nor its files have changed since it was made. Compiling
// the bundler takes a quarter of a minute, so only a nightly run makes the bundle again.
func TestWebBundle(t *testing.T) {
	t.Parallel()
	const again = "run: go -C tools/web run ."
	list, err := os.ReadFile("internal/web/ui/dist/sha256.txt")
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]bool)
	for line := range strings.Lines(string(list)) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		listed[name] = true
		b, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if now := sha256.Sum256(b); hex.EncodeToString(now[:]) != sum {
			t.Errorf("%s is not what it was when the page was bundled; %s", name, again)
		}
	}
	for _, dir := range []string{"internal/web/ui", "tools/web"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && d.Name() != "sha256.txt" && !listed[filepath.ToSlash(path)] {
				t.Errorf("%s is new since the page was bundled; %s", path, again)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Run("again", func(t *testing.T) {
		testrun.Nightly(t, "compiles the bundler, and bundles the page")
		goCommand(t, "-C", "tools/web", "run", ".", "-check")
	})
}
