package prove

import (
	"go/types"
	"math"
	"math/rand/v2"
	"testing"
)

// TestUnsignedNumbers holds that negative numbers seldom become the largest ones of an unsigned type, and that they do at times.
func TestUnsignedNumbers(t *testing.T) {
	g := &gen{rng: rand.New(rand.NewPCG(1, 2)), dict: &dictionary{}, sized: true}
	large := 0
	for range 10_000 {
		if n := uint64(g.integer(types.Typ[types.Uint64])); n > math.MaxUint64-2000 {
			large++
		}
	}
	if large == 0 || large > 300 {
		t.Errorf("%d of 10000 numbers are near the largest", large)
	}
}
