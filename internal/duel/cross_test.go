package duel

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/testrun"
)

// The clock compiles wherever hone runs.
func TestClockElsewhere(t *testing.T) {
	testrun.Nightly(t, "compiles testing for other systems")
	work, overlay := t.TempDir(), gocmd.Overlay{}
	about, err := gocmd.Command{}.About(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	tool, about, err := gocmd.Command{}.Replaceable(about, work)
	if err != nil {
		t.Fatal(err)
	}
	if ok, _, err := addClock(about.GOROOT, work, overlay); !ok || err != nil {
		t.Fatal(ok, err)
	}
	file := filepath.Join(work, "overlay.json")
	if err := overlay.Write(file); err != nil {
		t.Fatal(err)
	}
	for _, goos := range []string{"darwin", "windows"} {
		c := tool
		if c.Env == nil {
			c.Env = os.Environ()
		}
		c.Env = append(c.Env[:len(c.Env):len(c.Env)], "GOOS="+goos, "GOARCH=arm64", "CGO_ENABLED=0")
		if _, err := c.Run(context.Background(), "build", "-overlay="+file, "testing"); err != nil {
			t.Errorf("%s: %v", goos, err)
		}
	}
}
