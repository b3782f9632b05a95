package calls

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
)

// TestTreeOfManySamples compares trees that some of the samples, and some of those, were asked about first with trees of all samples,
// level by level. Some are grown in steps, and some only looked at, as pages do.
func TestTreeOfManySamples(t *testing.T) {
	p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: 40_000, Functions: 300}))
	if err != nil {
		t.Fatal(err)
	}
	functions, files := NewFrameTable(p, Detail{Function: true}, nil), NewFrameTable(p, Detail{file: true}, nil)
	plain := p.Values(0)
	signed, huge, before := make([]int64, len(plain)), make([]int64, len(plain)), make([]int64, len(plain))
	for i, v := range plain {
		signed[i], huge[i], before[len(plain)-1-i] = v, math.MaxInt64/1000, v
		if i%3 == 0 {
			signed[i] = -v
		}
		if i%7 == 0 {
			huge[i] = 0
		}
	}
	const share = 1.0 / 200
	grown := func(x *Tree, from int, shares ...float64) string {
		defer func(was int) { walkedFrom = was }(walkedFrom)
		walkedFrom = from
		for _, s := range append(shares, share) {
			if _, err := x.Find("", s); err != nil {
				t.Fatal(err)
			}
		}
		var b strings.Builder
		x.printOpen(&b, RootCall, leastOf(x.Sums[RootCall], share))
		return b.String()
	}
	for _, inverted := range []bool{false, true} {
		for what, by := range map[string]struct {
			table    *FrameTable
			collapse bool
			least    int // calls
		}{"functions": {functions, false, 100}, "functions collapsed": {functions, true, 100}, "files collapsed": {files, true, 20}} {
			for name, values := range map[string][2][]int64{"plain": {plain}, "signed": {signed}, "huge": {huge}, "diff": {plain, before}} {
				tree := func() *Tree {
					x := NewTree(Measure{Profile: p}, by.table, by.collapse)
					x.Inverted, x.Values, x.Before = inverted, values[0], values[1]
					return x
				}
				want := grown(tree(), math.MaxInt)
				n := strings.Count(want, "\n")
				if name != "huge" { // where sums reach the limit
					whole, glance := tree(), tree().Glance(1.0/120)
					whole.grow(1.0/60, nil)
					var all, wide strings.Builder
					whole.printWide(&all, RootCall, leastOf(whole.Sums[RootCall], 1.0/60))
					glance.printWide(&wide, RootCall, leastOf(whole.Sums[RootCall], 1.0/60))
					if all.String() != wide.String() || strings.Count(all.String(), "\n") < by.least/4 {
						t.Errorf("%s, inverted %t, %s, at a glance:\n%s\nwant\n%s", name, inverted, what, wide.String(), all.String())
					}
				}
				for way, got := range map[string]string{"at once": grown(tree(), 20), "in steps": grown(tree(), 20, 1.0/10, 1.0/40)} {
					if got != want || n < by.least {
						t.Errorf("%s, inverted %t, %s, %s: %d calls\n%s\nwant %d\n%s", name, inverted, what, way, strings.Count(got, "\n"), got, n, want)
					}
				}
			}
		}
	}
}

// TestRecursionAcrossRoots has stacks whose root, the outermost locations that many share, ends amid recursive calls. What comes after those is
// not the same for all, though collapsing has to look at it.
func TestRecursionAcrossRoots(t *testing.T) {
	defer func(was int) { walkedFrom = was }(walkedFrom)
	walkedFrom = 20
	var stacks strings.Builder
	for i := range profile.RootDepth - 2 {
		fmt.Fprintf(&stacks, "outer%d;", i)
	}
	outer := stacks.String() + "recursive;recursive;"
	stacks.Reset()
	for i := range 20_000 {
		if i > 500 && i < 1000 {
			fmt.Fprintf(&stacks, "%srare%d;leaf%d 1\n", outer, i, i)
		} else {
			fmt.Fprintf(&stacks, "%swide;leaf%d 1\n", outer, i)
		}
	}
	p, err := profile.ParseBytes([]byte(stacks.String()))
	if err != nil {
		t.Fatal(err)
	}
	x := NewTree(Measure{Profile: p}, NewFrameTable(p, Detail{Function: true}, nil), true)
	at, err := x.Find("", 1.0/100)
	for err == nil && x.Sums[at].Weight == x.Sums[RootCall].Weight {
		at = x.Calls(at)[0]
	}
	if name, n := x.Text(x.Nodes[at].Frame), x.Sums[at].Value; err != nil || name != "wide" || n != 19_501 {
		t.Errorf("the widest call below all is %s with %d samples (%v), want wide with 19501", name, n, err)
	}
}

// printOpen prints a call and those below it that weigh so much.
func (t *Tree) printOpen(b *strings.Builder, at uint32, open int64) {
	c := &t.Nodes[at]
	fmt.Fprintf(b, "%d %t %+v", c.Frame, c.Inline(), t.Sums[at])
	if t.Sums[at].Weight < open {
		b.WriteString("\n")
		return
	}
	fmt.Fprintf(b, " %+v %d\n", c.Flat, c.End-c.First)
	for _, to := range t.Calls(at) {
		t.printOpen(b, to, open)
	}
}

// printWide prints a call and those below it, as far as they weigh so much.
func (t *Tree) printWide(b *strings.Builder, at uint32, open int64) {
	c := &t.Nodes[at]
	fmt.Fprintf(b, "%d %t %+v %+v\n", c.Frame, c.Inline(), t.Sums[at], c.Flat)
	for _, to := range t.Calls(at) {
		if t.Sums[to].Weight >= open {
			t.printWide(b, to, open)
		}
	}
}
