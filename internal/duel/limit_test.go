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
