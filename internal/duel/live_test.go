package duel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/testrun"
)

const heldTest = `package held

import "testing"

const (
	blocks = 64
	size   = 64 << 10
)

var sum byte

func BenchmarkHolds(b *testing.B) {
	kept := make([]byte, 1<<20) // from before
	for b.Loop() {
		var list [][]byte
		for range blocks {
			block := make([]byte, size)
			if each {
				list = list[:0]
			}
			list = append(list, block)
		}
		for range 20 {
			for _, block := range list {
				for i := range block {
					sum += block[i]
				}
			}
		}
	}
	sum += kept[0]
}
`

// What is in use at a time is known, whatever is allocated, and without what was there before.
func TestLive(t *testing.T) {
	testrun.Nightly(t, "watches heaps of benchmarks; compare of TestScript has --live")
	var all [2]Side
	for i, each := range []string{"false", "true"} {
		dir := filepath.Join(t.TempDir(), each)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			"go.mod": "module example.com/held\n\ngo 1.24\n", "held.go": "package held\n\nconst each = " + each + "\n", "held_test.go": heldTest,
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		all[i] = Side{DuelSide: recording.DuelSide{Name: each}, Dir: dir}
	}
	d, err := Run(t.Context(), Options{
		Old: all[0], New: all[1], Budget: time.Nanosecond, Live: true, NoWhy: true, AsIs: true, Noise: &Noise{Spread: 0.02, Of: 7},
		Say: func(text string) {
			if strings.Contains(text, "against itself") {
				t.Error("how much noise there is was known, and is looked for:", text)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if d.Spread != 0.02 || d.SpreadOf != 7 || d.Within < 0.01 {
		t.Errorf("a spread of %v of %d pairs, within %v; want what was known", d.Spread, d.SpreadOf, d.Within)
	}
	if len(d.Benchmarks) != 1 || len(d.Benchmarks[0].Live) != lives {
		t.Fatalf("%+v; notes: %s", d.Benchmarks, strings.Join(d.Notes, "; "))
	}
	for _, p := range d.Benchmarks[0].Live {
		old, now := p.Old[recording.LiveHeap], p.New[recording.LiveHeap]
		if old < 4<<20 || old > 5<<20 || now < 64<<10 || now > 1<<20 {
			t.Errorf("%.0f bytes are in use where 4 MiB are held, and %.0f where 64 KiB are", old, now)
		}
	}
}
