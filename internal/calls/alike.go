package calls

import (
	"math"

	"github.com/hone-perf/hone/internal/profile"
)

const (
	shortStrand = 8       // locations of a strand that is compared with others
	manyStrands = 1 << 12 // different short strands; with more of them, few are alike
)

// A strandKey is the locations of a short strand: 1 + the index of each, from the frame on.
type strandKey [shortStrand]uint32

// An alike has the strands from a frame on, with those of the same locations put together. Many stacks go the same few ways from
// a function that allocates to the leaf, however different the ways to it are. So the tree of its callees is made of a thousand
// strands in place of half a million.
type alike struct {
	starts  []start // whose samples are the indexes of what follows
	samples []uint32
	values  []int64
}

// A strandGroup finds alike strands among the samples of one part.
type strandGroup struct {
	inverted bool
	known    map[strandKey]uint32
	starts   []start // the first of each
	values   []int64
	n        int  // short strands
	failed   bool // there are too many different ones, or values that do not add up
}

func newStrandGroups() [2]*strandGroup {
	return [2]*strandGroup{{known: make(map[strandKey]uint32)}, {known: make(map[strandKey]uint32), inverted: true}}
}

// short reports whether the strand from a start on is compared with others.
func (s *start) short(inverted bool) bool {
	return s.strand(inverted).Left <= shortStrand
}

// add adds the strand of a start if it is short.
func (g *strandGroup) add(s start, stack *profile.Stack, value int64) {
	if g.failed || !s.short(g.inverted) {
		return
	}
	var key strandKey
	from, to := 0, int(s.at)+1
	if g.inverted {
		from, to = int(s.at), int(s.depth)
	}
	for i := from; i < to; i++ {
		key[i-from] = stack.At(i) + 1
	}
	g.n++
	g.put(key, s, value)
}

func (g *strandGroup) put(key strandKey, s start, value int64) {
	k, ok := g.known[key]
	switch {
	case !ok && len(g.starts) == manyStrands || value < 0:
		g.failed = true
	case !ok:
		g.known[key] = uint32(len(g.starts))
		g.starts, g.values = append(g.starts, s), append(g.values, value)
	case g.values[k] > math.MaxInt64-value:
		g.failed = true
	default:
		g.values[k] += value
	}
}

// join adds what was found in another part.
func (g *strandGroup) join(other *strandGroup) {
	if g.failed = g.failed || other.failed; g.failed {
		return
	}
	g.n += other.n
	for key, k := range other.known {
		if g.put(key, other.starts[k], other.values[k]); g.failed {
			return
		}
	}
}

// alike returns the strands of all samples with a frame, or nil if less than half of them are like others.
func (g *strandGroup) alike(all []start, values []int64) *alike {
	n := len(all) - g.n + len(g.starts)
	if g.failed || 2*n > len(all) {
		return nil
	}
	out := &alike{starts: make([]start, 0, n), samples: make([]uint32, 0, n), values: make([]int64, 0, n)}
	add := func(s start, value int64) {
		out.samples, out.values = append(out.samples, s.sample), append(out.values, value)
		s.sample = uint32(len(out.starts))
		out.starts = append(out.starts, s)
	}
	for i := range g.starts {
		add(g.starts[i], g.values[i])
	}
	for i := range all {
		if !all[i].short(g.inverted) {
			add(all[i], values[all[i].sample])
		}
	}
	return out
}
