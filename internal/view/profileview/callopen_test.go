package profileview

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/testrun"
)

// TestFlamesOpenedAhead checks that pictures are the same whatever was opened before anybody asked, and while others ask.
func TestFlamesOpenedAhead(t *testing.T) {
	p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: testrun.Size(40_000, 6000), Functions: 300}))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []query.Query{{}, {Invert: true}, {Collapse: true, By: "line"}} {
		fresh := func() *Flames {
			f, err := NewFlames(recorded(p), q)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		want, ahead := fresh(), fresh()
		never := func() bool { return false }
		if ahead.Deepen(0.001, never) {
			t.Error("a tree that nobody asked for is deepened")
		}
		ahead.Open(0.01)
		before := len(ahead.tree.Nodes)
		var wg sync.WaitGroup
		wg.Go(func() {
			for !ahead.Deepen(0.0001, never) {
			}
		})
		sameFlames(t, q, want, ahead)
		wg.Wait()
		if after := len(ahead.tree.Nodes); after <= before {
			t.Errorf("%s: %d calls have become %d", q, before, after)
		}
		if open := ahead.tree.Closed(calls.RootCall, ahead.tree.Sums[calls.RootCall].Weight/10_000+1); len(open) > 0 {
			t.Errorf("%s: %d calls are still to be opened", q, len(open))
		}
		sameFlames(t, q, want, ahead)
	}
}

// TestCallTreeEntries checks that every sample that counts rests at one call, and is counted there.
func TestCallTreeEntries(t *testing.T) {
	p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: testrun.Size(40_000, 6000), Functions: 300}))
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewFlames(recorded(p), query.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for i, share := range []float64{0.1, 0.01, 0.003, 0.001, 0.0001} {
		if i%2 == 0 {
			f.Open(share)
		} else {
			// Some of it ahead, which ends early.
			var n atomic.Int32
			if f.Deepen(share, func() bool { return n.Add(1) > 5 }) {
				t.Errorf("opened to %g in 5 steps", share)
			}
		}
		tree := f.tree
		seen := make([]int, p.NumSamples())
		for at := range tree.Nodes {
			c := &tree.Nodes[at]
			var here calls.Sum
			for _, e := range tree.Entries[c.First:c.End] {
				seen[e.Sample]++
				tree.Add(&here, e.Sample)
				if c.Opened && e.Left > 0 {
					t.Fatalf("opened to %g: sample %d ended with %d locations left", share, e.Sample, e.Left)
				}
			}
			if here != c.Flat {
				t.Fatalf("opened to %g: call %d has %+v, the samples there come to %+v", share, at, c.Flat, here)
			}
		}
		for i, v := range tree.Values {
			if (seen[i] != 1) != (v == 0) {
				t.Fatalf("opened to %g: sample %d, which costs %d, is there %d times", share, i, v, seen[i])
			}
		}
	}
}
