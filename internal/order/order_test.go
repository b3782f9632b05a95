package order

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFirst compares First with a sort.
func TestFirst(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 9, 100, 3000} {
		list := rng.Perm(n)
		for _, of := range []int{-1, 0, 1, 2, 9, 50, 2000, 4000} {
			want := make([]int, n)
			for i := range want {
				want[i] = i
			}
			if of >= 0 && of < n {
				want = want[:of]
			}
			if got := First(slices.Clone(list), of, cmp.Compare[int]); !slices.Equal(got, want) {
				t.Errorf("the first %d of %d are %v", of, n, got)
			}
		}
	}
}

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
