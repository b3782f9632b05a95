package render

import (
	"errors"
	"testing"

	"github.com/hone-perf/hone/internal/report"
)

// TestEndless writes stacks that have no end until nobody takes them anymore: they are made one at a time.
func TestEndless(t *testing.T) {
	made := 0
	r := &report.Folded{FoldedHead: report.FoldedHead{Head: head()}, Each: func(yield func(*report.FoldedStack) bool) {
		for s := (&report.FoldedStack{Frames: []string{"main.main", "main.work"}, Value: 1}); yield(s); {
			made++
		}
	}}
	for _, format := range []string{"text", "csv", "json"} {
		made = 0
		full := &fullWriter{room: 1 << 20}
		if err := Write(full, format, r, Options{}); !errors.Is(err, errFull) {
			t.Errorf("%s: error %v, want %v", format, err, errFull)
		}
		if full.room > 0 || made < 20_000 || made > 100_000 {
			t.Errorf("%s: %d stacks were made, and there is room for %d more bytes", format, made, full.room)
		}
	}
}

var errFull = errors.New("no room left")

// A fullWriter takes some bytes and no more.
type fullWriter struct{ room int }

func (w *fullWriter) Write(b []byte) (int, error) {
	if w.room -= len(b); w.room <= 0 {
		return 0, errFull
	}
	return len(b), nil
}
