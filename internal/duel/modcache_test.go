package duel

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/hint"
)

// The go command replaces no files in the module cache. Who compares versions there hears what to do.
func TestTestsInModuleCache(t *testing.T) {
	cache := t.TempDir()
	b := &builder{about: gocmd.About{GOMODCACHE: cache}}
	_, err := b.build(t.Context(), &pkg{Dir: filepath.Join(cache, "example.com", "m@v1.0.0")}, &pkg{}, 0)
	if err == nil || !strings.Contains(err.Error(), "is in the module cache") || hint.Next(err) == nil {
		t.Errorf("got %v, want an error with a next step", err)
	}
}
