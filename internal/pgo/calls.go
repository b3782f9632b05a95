package pgo

import (
	"cmp"
	"slices"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
)

// A Site is a call as the compiler names it: of one function on a line of another, counted from where that begins.
type Site struct {
	Caller, Callee string
	Offset         int64
}

// A Call is a site and how much the samples count for it.
type Call struct {
	Site
	Weight int64
}

// A node is a place as the compiler tells it from others.
type node struct {
	address uint64
	name    string
	start   int64
	line    int64
}

// Calls returns what the compiler makes of a profile, the heaviest first, in its order. It does as cmd/internal/pgo and internal/profile
// of Go: an edge counts once for a sample, and only edges within and between its two innermost locations do.
func Calls(p *profile.Profile) []Call {
	weight := weightColumn(p)
	if weight == nil {
		return nil
	}
	sums := map[Site]int64{}
	seen := map[[2]node]bool{}
	var stack []uint32
	for i, v := range weight {
		if v == 0 {
			continue
		}
		clear(seen)
		stack = p.Stack(i, stack[:0])
		var parent *node
		for _, at := range slices.Backward(stack[:min(len(stack), 2)]) {
			for _, n := range slices.Backward(nodes(p, &p.Locations[at])) {
				if parent != nil && n != *parent && !seen[[2]node{n, *parent}] {
					seen[[2]node{n, *parent}] = true
					sums[Site{parent.name, n.name, parent.line - parent.start}] += v
				}
				parent = &n
			}
		}
	}
	out := make([]Call, 0, len(sums))
	for s, w := range sums {
		out = append(out, Call{s, w})
	}
	order.Stable(out, func(a, b Call) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Callee, b.Callee), cmp.Compare(a.Offset, b.Offset))
	})
	return out
}

// weightColumn returns the values that the compiler reads: the first of the two types that it knows.
func weightColumn(p *profile.Profile) []int64 {
	for k, t := range p.SampleTypes {
		if t == (profile.ValueType{Type: "samples", Unit: "count"}) || t == (profile.ValueType{Type: "cpu", Unit: "nanoseconds"}) {
			return p.Values(k)
		}
	}
	return nil
}

func nodes(p *profile.Profile, l *profile.Location) []node {
	if len(l.Lines) == 0 {
		return []node{{address: l.Address}}
	}
	out := make([]node, len(l.Lines))
	for i, line := range l.Lines {
		f := &p.Functions[line.Function]
		out[i] = node{l.Address, f.Name, f.StartLine, line.Line}
	}
	return out
}

func weightOf(calls []Call) int64 {
	var sum int64
	for _, c := range calls {
		sum += c.Weight
	}
	return sum
}

// hotShare is the share of all calls, the heaviest first, that the compiler takes for hot: it inlines larger functions there.
const hotShare = 99

// hot returns how many of the calls, which are in order, the compiler takes for hot.
func hot(calls []Call) int {
	total, cum := float64(weightOf(calls)), 0.0
	for i, c := range calls {
		if cum += float64(c.Weight); cum/total*100 > hotShare {
			return i + 1
		}
	}
	return len(calls)
}
