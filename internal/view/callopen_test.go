package view

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
	"github.com/hone-perf/hone/internal/query"
)

// TestFlamesOpenedAhead checks that pictures are the same whatever was opened before anybody asked, and while others ask.
func TestFlamesOpenedAhead(t *testing.T) {
	p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: 40_000, Functions: 300}))
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
		before := len(ahead.tree.nodes)
		var wg sync.WaitGroup
		wg.Go(func() {
			for !ahead.Deepen(0.0001, never) {
			}
		})
		sameFlames(t, q, want, ahead)
		wg.Wait()
		if after := len(ahead.tree.nodes); after <= before {
			t.Errorf("%s: %d calls have become %d", q, before, after)
		}
		if open := ahead.tree.closed(rootCall, ahead.tree.sums[rootCall].weight/10_000+1); len(open) > 0 {
			t.Errorf("%s: %d calls are still to be opened", q, len(open))
		}
		sameFlames(t, q, want, ahead)
	}
}

// TestCallTreeEntries checks that every sample that counts rests at one call, and is counted there.
func TestCallTreeEntries(t *testing.T) {
	p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: 40_000, Functions: 300}))
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
		for at := range tree.nodes {
			c := &tree.nodes[at]
			var here sum
			for _, e := range tree.entries[c.first:c.end] {
				seen[e.sample]++
				tree.add(&here, e.sample)
				if c.opened && e.left > 0 {
					t.Fatalf("opened to %g: sample %d ended with %d locations left", share, e.sample, e.left)
				}
			}
			if here != c.flat {
				t.Fatalf("opened to %g: call %d has %+v, the samples there come to %+v", share, at, c.flat, here)
			}
		}
		for i, v := range tree.values {
			if (seen[i] != 1) != (v == 0) {
				t.Fatalf("opened to %g: sample %d, which costs %d, is there %d times", share, i, v, seen[i])
			}
		}
	}
}
