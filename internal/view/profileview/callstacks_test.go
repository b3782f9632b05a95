package profileview

import (
	"slices"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/testrun"
)

// TestFlamesOfStacks compares pictures of many samples with what their stacks come to when each is looked at on its own. Some locations
// have no frames there, and some have several.
func TestFlamesOfStacks(t *testing.T) {
	p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: testrun.Size(60_000, 6000), Functions: 300}))
	if err != nil {
		t.Fatal(err)
	}
	gaps := *p
	gaps.Locations = slices.Clone(p.Locations)
	for i := range gaps.Locations {
		if i%5 == 0 {
			gaps.Locations[i].Lines = nil
		}
	}
	for _, p := range []*profile.Profile{p, &gaps} {
		for _, q := range []query.Query{{}, {Invert: true}, {Collapse: true, By: "package"}, {Invert: true, By: "line"}} {
			q.Min, q.Limit = 0.0005, 1_000_000
			f, err := NewFlames(recorded(p), q)
			if err != nil {
				t.Fatal(err)
			}
			got, err := f.Flame(q)
			if err != nil {
				t.Fatal(err)
			}
			const depth = 20
			type step struct{ above, frame int32 }
			calls := make(map[step]int32) // by number, in order
			var want []int64              // by call
			var stack []uint32
			tree := f.tree
			for i, v := range tree.Values {
				stack = tree.Profile.Stack(i, stack[:0])
				var frames []int32
				for _, l := range slices.Backward(stack) {
					frames = append(frames, tree.Table.Of(l)...)
				}
				if q.Invert {
					slices.Reverse(frames)
				}
				if tree.Collapse {
					frames = slices.Compact(frames)
				}
				above := int32(-1)
				for _, f := range frames[:min(depth, len(frames))] {
					at, ok := calls[step{above, f}]
					if !ok {
						at = int32(len(want))
						calls[step{above, f}] = at
						want = append(want, 0)
					}
					want[at] += v
					above = at
				}
			}
			n := 0
			var check func(at *report.FlameNode, above int32, deep int)
			check = func(at *report.FlameNode, above int32, deep int) {
				if deep == depth {
					return
				}
				for _, c := range at.Children {
					to, ok := calls[step{above, c.Number - 1}]
					if n++; !ok || c.Cum != want[to] {
						t.Fatalf("%s: %s, %d calls down, costs %d, and its stacks something else", q, c.Frame.String(), deep, c.Cum)
					}
					check(c, to, deep+1)
				}
			}
			if check(got.Root, -1, 0); n < 20 {
				t.Errorf("%s: the picture has %d calls", q, n)
			}
		}
	}
}
