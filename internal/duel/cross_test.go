package duel

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/hone-perf/hone/internal/gocmd"
)

// The clock compiles wherever hone runs.
func TestClockElsewhere(t *testing.T) {
	if testing.Short() {
		t.Skip("builds for other systems")
	}
	about, err := gocmd.Command{}.About(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	work, overlay := t.TempDir(), gocmd.Overlay{}
	if ok, err := addClock(about.GOROOT, work, overlay); !ok || err != nil {
		t.Fatal(ok, err)
	}
	file := filepath.Join(work, "overlay.json")
	if err := overlay.Write(file); err != nil {
		t.Fatal(err)
	}
	for _, goos := range []string{"darwin", "windows"} {
		c := gocmd.Command{Env: append(os.Environ(), "GOOS="+goos, "GOARCH=arm64", "CGO_ENABLED=0")}
		if _, err := c.Run(context.Background(), "build", "-overlay="+file, "testing"); err != nil {
			t.Errorf("%s: %v", goos, err)
		}
	}
}
