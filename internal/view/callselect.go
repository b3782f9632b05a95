package view

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// A bitset is a set of small numbers.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) add(i uint32)      { b[i/64] |= 1 << (i % 64) }
func (b bitset) has(i uint32) bool { return b.bit(i) != 0 }

// bit is 1 if i is in the set, else 0.
func (b bitset) bit(i uint32) uint32 { return uint32(b[i/64] >> (i % 64) & 1) }

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
	t.inTurn(func(at int) {
		c := &out.nodes[at]
		n := uint32(0)
		for _, e := range t.entries[c.first:c.end] {
			n += picked.bit(e.sample)
		}
		c.end = n // for now
	})
	var n uint32
	for i := range out.nodes {
		c := &out.nodes[i]
		c.first, c.end, c.flat = n, n+c.end, sum{}
		n = c.end
	}
	out.entries = make([]entry, n)
	t.inTurn(func(at int) {
		c := &out.nodes[at]
		to := out.entries[c.first:c.end]
		if len(to) == 0 {
			return
		}
		was := &t.nodes[at]
		// Without branches, and then the values by themselves: those are all over the memory, and nothing should keep the
		// processor from asking for many at a time.
		k := 0
		for _, e := range t.entries[was.first:was.end] {
			to[min(k, len(to)-1)] = e
			if k += int(picked.bit(e.sample)); k == len(to) {
				break
			}
		}
		for i := range to {
			out.add(&c.flat, to[i].sample)
		}
	})
	out.meetAgain()
	out.addUp()
	return &out
}

// inTurn does something for each call at which entries rest, as many at a time as there are processors.
func (t *callTree) inTurn(do func(at int)) {
	const worthwhile = 1 << 13 // entries, for a worker
	var parts [][2]int
	first, entries := 0, uint32(0)
	for at := range t.nodes {
		c := &t.nodes[at]
		if entries += c.end - c.first; entries >= worthwhile || at == len(t.nodes)-1 {
			parts = append(parts, [2]int{first, at + 1})
			first, entries = at+1, 0
		}
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(parts)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(parts)); i = next.Add(1) - 1 {
				for at := parts[i][0]; at < parts[i][1]; at++ {
					do(at)
				}
			}
		})
	}
	wg.Wait()
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
