package view

import (
	"slices"
)

// A bitset is a set of small numbers.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) add(i uint32)      { b[i/64] |= 1 << (i % 64) }
func (b bitset) has(i uint32) bool { return b[i/64]>>(i%64)&1 != 0 }

// selection returns the tree of some of the samples of t, by their numbers in the profile, or nil if t does not have
// them all. They are where they are in t, so that none has to go there from the root again.
func (t *callTree) selection(samples []uint32) *callTree {
	picked := newBitset(len(t.values))
	for _, i := range samples {
		if t.picked != nil && !t.picked.has(i) {
			return nil
		}
		picked.add(i)
	}
	out := *t
	out.picked, out.nodes, out.sums = picked, slices.Clone(t.nodes), nil
	out.entries = make([]entry, 0, len(samples))
	for i := range out.nodes {
		c := &out.nodes[i]
		waiting := t.entries[c.first:c.end]
		c.first, c.flat = uint32(len(out.entries)), sum{}
		for _, e := range waiting {
			if picked.has(e.sample) {
				out.entries = append(out.entries, e)
				out.add(&c.flat, e.sample)
			}
		}
		c.end = uint32(len(out.entries))
	}
	out.meetAgain()
	out.addUp()
	return &out
}

// meetAgain finds out for calls that are inlined in some places only, whether the samples that were selected met
// them in others, too. Nearly always one of the first samples shows it.
func (t *callTree) meetAgain() {
	open := make([]bool, len(t.nodes)) // questions
	for i := range t.nodes {
		if c := &t.nodes[i]; c.called && c.inlined {
			c.called = false // what is left of these may still be inlined in some places only
			open[i] = true
		}
	}
	below := make([]uint32, len(t.nodes)) // the last question on the way to each call, or the root
	var path []uint32
	for at := 1; at < len(t.nodes); at++ {
		c := &t.nodes[at]
		if below[at] = below[c.parent]; open[at] {
			below[at] = uint32(at)
		}
		if below[at] == rootCall {
			continue
		}
		path = path[:0]
		for up := uint32(at); up != rootCall; up = t.nodes[up].parent {
			path = append(path, up)
		}
		for _, e := range t.entries[c.first:c.end] {
			if !slices.ContainsFunc(path, func(up uint32) bool { return open[up] }) {
				break
			}
			t.meet(e.sample, path, open)
		}
	}
}

// meet tells the calls on the path to where a sample rests how it met them.
func (t *callTree) meet(sample uint32, path []uint32, open []bool) {
	stack := t.p.StackAt(int(sample))
	s := &strand{left: uint32(stack.Len())}
	t.skip(s, stack)
	above := t.nodes[rootCall].frame
	for _, at := range slices.Backward(path) {
		frame, inline, _ := t.next(above, s, stack)
		if open[at] && !inline {
			t.nodes[at].called, open[at] = true, false
		}
		above = frame
	}
}
