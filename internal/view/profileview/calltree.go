package profileview

import (
	"cmp"
	"math"
	"slices"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// CallTree lists calls below the calls that they were made from.
func CallTree(in []*recording.Recording, q query.Query) (report.Report, error) {
	f, err := NewFlames(in, q)
	if err != nil {
		return nil, err
	}
	return f.CallTree(q)
}

// CallTree lists the part of the tree that q selects. If q has a number of levels, it lists every call on these levels, however low its
// cost: this is for users who expand a call.
func (f *Flames) CallTree(q query.Query) (*report.CallTree, error) {
	f.lock()
	defer f.mu.Unlock()
	limits := (&question{query: q}).trim(maxFlameCalls, minShare, 0)
	if q.Depth > 0 && q.Min == 0 {
		limits.Min = 0
	}
	flame, err := f.cut(f.tree, q, limits)
	if err != nil {
		return nil, err
	}
	out := &report.CallTree{
		Head: flame.Head, Trimming: flame.Trimming, Whole: flame.Whole, Before: flame.Before, Normalized: flame.Normalized,
		Inverted: flame.Inverted, Tree: flame.FlameTree,
	}
	out.List()
	return out, nil
}

// openLevels opens the calls that are at most so many levels below one, and of each level at most so many, the heaviest: all that can be
// shown of it.
func (f *Flames) openLevels(root uint32, depth, most int) {
	t := f.tree
	level := []uint32{root}
	for range depth + 1 {
		closed := slices.DeleteFunc(slices.Clone(level), func(at uint32) bool { return t.Nodes[at].Opened })
		t.OpenCalls(closed, math.MaxInt64, nil)
		var next []uint32
		for _, at := range level {
			next = append(next, t.Calls(at)...)
		}
		if most > 0 && len(next) > most {
			slices.SortStableFunc(next, func(a, b uint32) int { return cmp.Compare(t.Sums[b].Weight, t.Sums[a].Weight) })
			next = next[:most]
		}
		level = next
	}
}
