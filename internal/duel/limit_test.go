package duel

import (
	"errors"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/recording"
)

// TestLimit holds that the limit ends what would go on until all is decided, and that nothing is made up of it.
func TestLimit(t *testing.T) {
	old, new := sides(t)
	_, err := Run(t.Context(), Options{Old: old, New: new, Bench: "Work$", Budget: time.Hour, Limit: time.Nanosecond, NoWhy: true, AsIs: true, Seed: 1})
	if !errors.Is(err, ErrNoTime) {
		t.Errorf("with no time at all: %v", err)
	}
}

// Where time is limited, benchmarks get about the same of it, and not the same number of runs.
func TestInTurn(t *testing.T) {
	ran := func(took time.Duration) *row {
		r := new(row)
		r.Took = took
		return r
	}
	long, short, shorter := ran(3*time.Second), ran(150*time.Millisecond), ran(0)
	if got := inTurn([]*row{long, short, shorter}); len(got) != 2 || got[0] != short || got[1] != shorter {
		t.Errorf("%v", got)
	}
	if got := inTurn([]*row{long}); len(got) != 1 {
		t.Errorf("the last one left is not run: %v", got)
	}
}

// Somebody who knows enough when each benchmark ran once ends all of it then.
func TestEnough(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two programs")
	}
	old, new := sides(t)
	asked := 0
	d, err := Run(t.Context(), Options{Old: old, New: new, Bench: "Stopped$|Work$", Budget: time.Hour, NoWhy: true, AsIs: true, Seed: 1, Enough: func(d *recording.Duel) bool {
		asked++
		for _, b := range d.Benchmarks {
			if len(b.Pairs) != 1 || b.Stop != "" {
				t.Errorf("%s: asked when there were %d pairs, stopped %q", b.Name, len(b.Pairs), b.Stop)
			}
		}
		return len(d.Benchmarks) == 2
	}})
	if err != nil || asked != 1 {
		t.Fatalf("asked %d times; %v", asked, err)
	}
	for _, b := range d.Benchmarks {
		if len(b.Pairs) != 1 || b.Stop != "time" {
			t.Errorf("%s: %d pairs, stopped %q; want one pair", b.Name, len(b.Pairs), b.Stop)
		}
	}
}
