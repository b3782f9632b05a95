package calls

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
)

// TestStrandsAlike compares trees of callers and callees in which alike strands are put together with those of all samples.
func TestStrandsAlike(t *testing.T) {
	p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: 2000, Functions: 60}))
	if err != nil {
		t.Fatal(err)
	}
	table := NewFrameTable(p, Detail{Function: true}, nil)
	fewer := [2]int{}
	for frame := 0; frame < len(table.Frames); frame += 1 + len(table.Frames)/24 {
		for _, collapse := range []bool{false, true} {
			starts := NewTree(Measure{Profile: p}, table, collapse).StartsOf(int32(frame))
			apart := &Starts{samples: starts.samples}
			for side, way := range []*alike{starts.callees, starts.callers} {
				if way != nil {
					fewer[side]++
				}
				grown := func(s *Starts) string {
					x := NewTree(Measure{Profile: p}, table, collapse)
					x.Inverted = side == 1
					x.StartAt(s)
					if _, err := x.Find("", 0.001); err != nil {
						t.Fatal(err)
					}
					var b strings.Builder
					x.print(&b, RootCall, 0)
					return b.String()
				}
				if got, want := grown(starts), grown(apart); got != want {
					t.Fatalf("%s, collapse %t, side %d:\n%s\nwant\n%s", table.Frames[frame].Name, collapse, side, got, want)
				}
			}
		}
	}
	if fewer[0] == 0 || fewer[1] == 0 {
		t.Errorf("strands are put together %d times", fewer)
	}
}

func (t *Tree) print(b *strings.Builder, at uint32, depth int) {
	c, s := &t.Nodes[at], &t.Sums[at]
	fmt.Fprintf(b, "%*s%d %v %+v %+v\n", depth, "", c.Frame, c.Inline(), c.Flat, *s)
	for _, to := range t.Calls(at) {
		t.print(b, to, depth+1)
	}
}

func TestStrandsThatDoNotAddUp(t *testing.T) {
	s := []start{{sample: 0, depth: 1}, {sample: 1, depth: 1}, {sample: 2, depth: 1}}
	for _, tt := range []struct {
		values []int64
		want   []int64 // nil where samples stay apart
	}{
		{[]int64{1, 2, 3}, []int64{6}},
		{[]int64{1, -2, 3}, nil},
		{[]int64{math.MaxInt64, 1, 1}, nil},
	} {
		for _, parts := range []int{1, 3} {
			groups := make([]*strandGroup, parts)
			for i := range groups {
				groups[i] = newStrandGroups()[0]
			}
			for i := range s {
				g := groups[i%parts]
				g.n++
				g.put(strandKey{7}, s[i], tt.values[i])
			}
			for _, g := range groups[1:] {
				groups[0].join(g)
			}
			var got []int64
			if x := groups[0].alike(s, tt.values); x != nil {
				got = x.values
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%v in %d parts come to %v, want %v", tt.values, parts, got, tt.want)
			}
		}
	}
}
