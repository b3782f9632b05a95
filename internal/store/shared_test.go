package store

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestAreShared(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	// turns are n profiles of processes that take turns and count up from where they are.
	turns := func(n int, processes ...int64) (out []int64) {
		for i := range n {
			p := i % len(processes)
			processes[p] += rng.Int64N(20)
			out = append(out, processes[p])
		}
		return out
	}
	// lives are n profiles of a process that is restarted after so many.
	lives := func(n, length int) (out []int64) {
		at := int64(0)
		for i := range n {
			if i%length == 0 {
				at = 0
			}
			at += 900 + rng.Int64N(200)
			out = append(out, at)
		}
		return out
	}
	often := turns(60, 1000) // one process is sampled six times as often as another
	for i, v := range turns(10, 10) {
		often = slices.Insert(often, 7*i+3, v)
	}
	for name, test := range map[string]struct {
		totals []int64
		want   bool
	}{
		"nothing":             {nil, false},
		"one":                 {turns(1000, 10), false},
		"two":                 {turns(20, 1000, 10), true},
		"two alike":           {turns(24, 1000, 1200), true},
		"two for long":        {turns(2000, 1000, 10), true},
		"five":                {turns(60, 1000, 2000, 10, 4000, 500), true},
		"one often":           {often, true},
		"two, a few profiles": {turns(8, 1000, 10), false},
		"restarted once":      {append(turns(30, 1000), turns(30, 10)...), false},
		"restarted daily":     {lives(10_000, 1440), false},
		"restarted often":     {lives(1000, 10), false},
		"crashes":             {lives(1000, 5), false},
		"crashes at once":     {lives(1000, 2), false},
		"a few crashes":       {lives(20, 2), false},
	} {
		if got := AreShared(test.totals); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
