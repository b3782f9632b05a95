package requests

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/hone-perf/hone/internal/exectrace"
)

// TestTimes holds that what is kept of requests for their times is enough to say what all of them would.
func TestTimes(t *testing.T) {
	some := []Request{{To: 1}, {To: 2, Open: true}, {To: 3, Begun: true}}
	if got := TimesOf(some); !slices.Equal(got.Took, []int64{1}) || got.Slowest != some[2] {
		t.Errorf("the times of %+v are %+v", some, got)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 60; n++ {
		f := &Finder{found: &Found{}, trace: &exectrace.Trace{}}
		short := &Finder{found: &Found{}}
		short.OnlyTimes()
		for i := range n {
			from := r.Int64N(10)
			s := &serving{Request: Request{From: from, To: from + 1 + r.Int64N(5), Goroutine: int64(i), Begun: n%4 == 0 || r.IntN(3) == 0}}
			f.done(s)
			short.done(s)
		}
		want, got := TimesOf(f.Found(0).Requests), short.Times()
		slices.Sort(want.Took)
		slices.Sort(got.Took)
		for _, list := range [][]Brief{want.List, got.List} {
			slices.SortFunc(list, func(a, b Brief) int { return compareEnds(&a, &b) })
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%d requests: %+v, want %+v", n, got, want)
		}
	}
}
