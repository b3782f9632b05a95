package duel

import (
	"errors"
	"testing"
	"time"
)

// TestLimit holds that the limit ends what would go on until all is decided, and that nothing is made up of it.
func TestLimit(t *testing.T) {
	old, new := sides(t)
	_, err := Run(t.Context(), Options{Old: old, New: new, Bench: "Work$", Budget: time.Hour, Limit: time.Nanosecond, NoWhy: true, Seed: 1})
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
