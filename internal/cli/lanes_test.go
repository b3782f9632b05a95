package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/view/traceview"
)

// TestNarrowLanes holds that hone lanes fits a terminal, and that all of its strips have the same length there.
func TestNarrowLanes(t *testing.T) {
	dir := t.TempDir()
	trace, err := os.ReadFile("../../testdata/trace/shop.trace")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, recording.TraceFile), trace, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := recording.WriteManifest(dir, &recording.Manifest{Format: recording.Format, How: recording.Built}); err != nil {
		t.Fatal(err)
	}
	rec, err := recording.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	r, err := traceview.Lanes([]*recording.Recording{rec}, query.Query{})
	if err != nil {
		t.Fatal(err)
	}
	var plain bytes.Buffer // for a terminal that shows no more than ASCII
	if err := render.Terminal(&plain, r, render.Options{Width: 80, ASCII: true}); err != nil {
		t.Fatal(err)
	}
	if i := strings.IndexFunc(plain.String(), func(c rune) bool { return c >= utf8.RuneSelf }); i >= 0 {
		t.Errorf("not ASCII: %s", plain.String()[i:])
	}
	for _, columns := range []int{60, 80, 100} {
		var out bytes.Buffer
		if err := render.Terminal(&out, r, render.Options{Width: columns}); err != nil {
			t.Fatal(err)
		}
		picture, _, _ := strings.Cut(out.String(), "note: █")
		long := 0
		for line := range strings.Lines(picture) {
			from, to := strings.IndexByte(line, '|'), strings.LastIndexByte(line, '|')
			if from < 0 {
				continue
			}
			if n := utf8.RuneCountInString(line) - 1; n > columns {
				t.Errorf("%d columns of %d: %s", n, columns, line)
			}
			n := utf8.RuneCountInString(line[from:to])
			if long == 0 {
				long = n
			}
			if n != long || from == to {
				t.Errorf("in %d columns, strips have %d and %d places: %s", columns, long, n, line)
			}
		}
		if long < columns/3 {
			t.Errorf("in %d columns, strips have %d places", columns, long)
		}
	}
}
