package calls

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hone-perf/hone/internal/profile"
)

// Selection returns the tree of some of the samples of t, or nil if t does not have them all. They are where they are in t, so that none has to go there from the root again.
func (t *Tree) Selection(picked profile.SampleSet) *Tree {
	if t.picked != nil && !picked.In(t.picked) {
		return nil
	}
	out := *t
	out.picked, out.Nodes, out.Sums = picked, slices.Clone(t.Nodes), nil
	out.Texts = nil // t goes on filling its own, and whoever asks t and out at the same time waits at different locks
	if 2*picked.Len() < len(t.Values) {
		out.Entries = make([]Entry, out.close(t))
	} else {
		// So many are left that the room of those that are not is cheaper than a look at all of them to count.
		out.Entries = make([]Entry, len(t.Entries))
	}
	t.inTurn(func(at int) {
		c, was := &out.Nodes[at], &t.Nodes[at]
		c.Flat = Sum{}
		// Without branches, and then the values by themselves: those are all over the memory, and nothing should keep the
		// core from asking for many at a time.
		to := out.Entries[c.First:c.End]
		if len(to) == 0 {
			return
		}
		k := 0
		for _, e := range t.Entries[was.First:was.End] {
			to[min(k, len(to)-1)] = e
			if k += int(picked.Bit(e.Sample)); k == len(to) {
				break
			}
		}
		c.End = c.First + uint32(k)
		for i := range to[:k] {
			out.Add(&c.Flat, to[i].Sample)
		}
	})
	out.meetAgain()
	out.addUp()
	return &out
}

// close gives the calls of a tree of some samples of whole just the room they need, and returns how much that is.
func (t *Tree) close(whole *Tree) uint32 {
	whole.inTurn(func(at int) {
		c := &t.Nodes[at]
		n := uint32(0)
		for _, e := range whole.Entries[c.First:c.End] {
			n += t.picked.Bit(e.Sample)
		}
		c.End = n // for now
	})
	var n uint32
	for i := range t.Nodes {
		c := &t.Nodes[i]
		c.First, c.End = n, n+c.End
		n = c.End
	}
	return n
}

// inTurn does something for each call at which entries rest, as many at a time as there are cores.
func (t *Tree) inTurn(do func(at int)) {
	const worthwhile = 1 << 13 // entries, for a worker
	var parts [][2]int
	first, entries := 0, uint32(0)
	for at := range t.Nodes {
		c := &t.Nodes[at]
		if entries += c.End - c.First; entries >= worthwhile || at == len(t.Nodes)-1 {
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
func (t *Tree) meetAgain() {
	open := make([]bool, len(t.Nodes)) // questions
	for i := range t.Nodes {
		if c := &t.Nodes[i]; c.Called && c.Inlined {
			c.Called = false // what is left of these may still be inlined in some places only
			open[i] = true
		}
	}
	below := make([]uint32, len(t.Nodes)) // the last question on the way to each call, or the root
	var path []uint32
	for at := 1; at < len(t.Nodes); at++ {
		c := &t.Nodes[at]
		if below[at] = below[c.Parent]; open[at] {
			below[at] = uint32(at)
		}
		if below[at] == RootCall {
			continue
		}
		path = path[:0]
		for up := uint32(at); up != RootCall; up = t.Nodes[up].Parent {
			path = append(path, up)
		}
		for _, e := range t.Entries[c.First:c.End] {
			if !slices.ContainsFunc(path, func(up uint32) bool { return open[up] }) {
				break
			}
			t.meet(e.Sample, path, open)
		}
	}
}

// meet tells the calls on the path to where a sample rests how it met them.
func (t *Tree) meet(sample uint32, path []uint32, open []bool) {
	stack := t.Profile.StackAt(int(sample))
	s := &strand{Left: uint32(stack.Len())}
	t.skip(s, &stack)
	above := t.Nodes[RootCall].Frame
	for _, at := range slices.Backward(path) {
		frame, inline, _ := t.next(above, s, &stack)
		if open[at] && !inline {
			t.Nodes[at].Called, open[at] = true, false
		}
		above = frame
	}
}
