package view

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hone-perf/hone/internal/profile"
)

// selection returns the tree of some of the samples of t, or nil if t does not have them all. They are where they are in t, so that none has to go there from the root again.
func (t *callTree) selection(picked profile.SampleSet) *callTree {
	if t.picked != nil && !picked.In(t.picked) {
		return nil
	}
	out := *t
	out.picked, out.nodes, out.sums = picked, slices.Clone(t.nodes), nil
	out.texts = nil // t goes on filling its own, and whoever asks t and out at the same time waits at different locks
	if 2*picked.Len() < len(t.values) {
		out.entries = make([]entry, out.close(t))
	} else {
		// So many are left that the room of those that are not is cheaper than a look at all of them to count.
		out.entries = make([]entry, len(t.entries))
	}
	t.inTurn(func(at int) {
		c, was := &out.nodes[at], &t.nodes[at]
		c.flat = sum{}
		// Without branches, and then the values by themselves: those are all over the memory, and nothing should keep the
		// processor from asking for many at a time.
		to := out.entries[c.first:c.end]
		if len(to) == 0 {
			return
		}
		k := 0
		for _, e := range t.entries[was.first:was.end] {
			to[min(k, len(to)-1)] = e
			if k += int(picked.Bit(e.sample)); k == len(to) {
				break
			}
		}
		c.end = c.first + uint32(k)
		for i := range to[:k] {
			out.add(&c.flat, to[i].sample)
		}
	})
	out.meetAgain()
	out.addUp()
	return &out
}

// close gives the calls of a tree of some samples of whole just the room they need, and returns how much that is.
func (t *callTree) close(whole *callTree) uint32 {
	whole.inTurn(func(at int) {
		c := &t.nodes[at]
		n := uint32(0)
		for _, e := range whole.entries[c.first:c.end] {
			n += t.picked.Bit(e.sample)
		}
		c.end = n // for now
	})
	var n uint32
	for i := range t.nodes {
		c := &t.nodes[i]
		c.first, c.end = n, n+c.end
		n = c.end
	}
	return n
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
