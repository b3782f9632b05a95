package order

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestStable compares Stable with the sort of package slices, over lists with many equal values.
func TestStable(t *testing.T) {
	type pair struct{ key, place int }
	byKey := func(a, b pair) int { return cmp.Compare(a.key, b.key) }
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		list := make([]pair, n)
		for i := range list {
			list[i] = pair{rng.IntN(1 + n/3), i}
		}
		want := slices.Clone(list)
		slices.SortStableFunc(want, byKey)
		if Stable(list, byKey); !slices.Equal(list, want) {
			t.Fatalf("Stable makes %v of %d values, want %v", list, n, want)
		}
	}
}
