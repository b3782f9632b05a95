package view

import (
	"slices"

	"github.com/hone-perf/hone/internal/profile"
)

// selection returns the tree of some of the samples of t: from says which of t each sample of m is. All samples are where
// they are in t, so that none has to go there from the root again.
func (t *callTree) selection(m measure, from []uint32) *callTree {
	out := newCallTree(m, t.table, t.collapse)
	out.inverted = t.inverted
	out.nodes, out.slots = slices.Clone(t.nodes), slices.Clone(t.slots)
	out.strands, out.rest = make([]strand, len(from)), make([]uint32, len(from))
	for i := range out.nodes {
		c := &out.nodes[i]
		c.waiting, c.flat = 0, sum{}
	}
	for i, j := range from {
		at := t.rest[j]
		out.rest[i] = at
		if at == nowhere {
			continue
		}
		s := &out.strands[i]
		s.left, s.line = t.strands[j].left, t.strands[j].line
		if c := &out.nodes[at]; c.opened {
			out.add(&c.flat, uint32(i))
		} else {
			out.wait(at, uint32(i))
		}
	}
	out.meetAgain()
	out.addUp()
	return out
}

// meetAgain finds out for calls that are inlined in some places only, whether the samples that were selected met
// them in others, too. Nearly always one of the first samples shows it.
func (t *callTree) meetAgain() {
	open := make([]bool, len(t.nodes)) // questions
	left := 0
	for i := range t.nodes {
		if c := &t.nodes[i]; c.called && c.inlined {
			c.met = met{}
			open[i] = true
			left++
		}
	}
	below := make([]bool, len(t.nodes)) // a question or below one
	var path []uint32
	ask := 0 // the sample before which to look which questions are left
	for i, at := range t.rest {
		if left == 0 {
			return
		}
		if i == ask {
			for c := range t.nodes[1:] {
				below[c+1] = open[c+1] || below[t.nodes[c+1].parent]
			}
			ask = 2*i + 1<<10
		}
		if at == nowhere || !below[at] {
			continue
		}
		path = path[:0]
		for c := at; c != rootCall; c = t.nodes[c].parent {
			path = append(path, c)
		}
		stack := t.p.StackAt(i)
		s := &strand{left: uint32(stack.Len())}
		t.skip(s, stack)
		above := uint32(rootCall)
		for _, c := range slices.Backward(path) {
			inline := t.nextFrame(above, s, stack)
			if open[c] {
				if t.nodes[c].add(inline); t.nodes[c].called {
					open[c] = false
					left--
				}
			}
			above = c
		}
	}
}

// nextFrame takes the frame below a call off s and says whether it is inlined.
func (t *callTree) nextFrame(above uint32, s *strand, stack profile.Stack) (inline bool) {
	for s.left > 0 {
		frame, inline := t.take(s, stack)
		if !t.collapse || frame != t.nodes[above].frame {
			return inline
		}
	}
	return false
}
