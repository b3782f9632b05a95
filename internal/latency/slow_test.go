package latency

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestAddSlow holds that the slowest answers are kept, the slowest first.
func TestAddSlow(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var all []time.Duration
	var list []Answer
	for i := range 200 {
		a := Answer{At: time.Duration(i), Took: time.Duration(r.IntN(100))}
		all = append(all, a.Took)
		list = AddSlow(list, a)
		want := slices.Sorted(slices.Values(all))
		slices.Reverse(want)
		want = want[:min(len(want), MaxSlowest)]
		var got []time.Duration
		for _, a := range list {
			got = append(got, a.Took)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("after %v: %v, want %v", all, got, want)
		}
	}
}
