package calls

import (
	"math"
	"math/bits"

	"github.com/hone-perf/hone/internal/profile"
)

// Glance returns a tree of the calls that weigh at least a share of the whole, and of some thinner ones. It takes half of the time of Find. No
// more calls can be opened in it, because it keeps no samples. A part of the samples tells which calls are wide: by chance, one that is
// barely wide enough may have no calls below it.
func (t *Tree) Glance(share float64) *Tree {
	x := *t
	// Most of the time goes to reaching stacks in memory, so each is read once: samples are not put at the root first.
	sum := x.weigh()
	x.Nodes = []Call{{Frame: anyFrame, Opened: true, met: met{Called: true}}}
	some, picked := x.some()
	least := leastSampled(leastOf(sum, share), picked, some)
	some.growFrom(least, nil)
	x.outline(some, least)
	slots := newCallIndex(x.Nodes)
	var walkers []*walker
	inParts(len(x.Values), func() func(from, to int) {
		w := newWalker(&x, slots)
		w.lost = make([]Sum, len(x.Nodes))
		walkers = append(walkers, w)
		return func(from, to int) {
			for i := from; i < to; i++ {
				if e := (Entry{Sample: uint32(i)}); x.counts(e.Sample) {
					x.begin(&e, &w.stack)
					w.walkOn(&e)
				}
			}
		}
	})
	x.Sums = make([]Sum, len(x.Nodes))
	for _, w := range walkers {
		w.tell()
		for at := range w.lost {
			x.Sums[at].add(&w.lost[at])
		}
	}
	for i := range x.Nodes {
		c := &x.Nodes[i]
		if x.Sums[i].add(&c.Flat); !c.Opened {
			c.Flat = Sum{} // closed calls do not know which entries end there
		}
	}
	x.passUp()
	return &x
}

// walkAll moves all entries from the root down their stacks, as far as the tree has calls for them. It returns the entries that need calls which
// the tree does not have yet. With enough, it uses one core, and stops with done false when enough returns true.
func (t *Tree) walkAll(enough func() bool) (lost []opening, done bool) {
	slots := newCallIndex(t.Nodes)
	rest := make([]uint32, len(t.Entries))
	var walkers []*walker
	worker := func() func(from, to int) {
		w := newWalker(t, slots)
		walkers = append(walkers, w)
		return func(from, to int) {
			for i := from; i < to; i++ {
				rest[i] = w.walk(&t.Entries[i])
			}
		}
	}
	if enough == nil {
		inParts(len(rest), worker)
	} else {
		const some = 1 << 12
		work := worker()
		for i := 0; i < len(rest); i += some {
			if enough() {
				return nil, false
			}
			work(i, min(i+some, len(rest)))
		}
	}
	for _, w := range walkers {
		w.tell()
	}
	return t.sortBy(rest, max(1, len(walkers))), true
}

// sortBy sorts the entries by the call that they have reached. rest has twice the number of that call for each entry, plus
// one if the entry needs a call that the tree does not have yet. Those entries come last in their call, and sortBy returns them.
func (t *Tree) sortBy(rest []uint32, cores int) (lost []opening) {
	places := make([][]uint32, cores) // by part of the entries: how many rest somewhere, and then the place of the next one
	inRanges(len(rest), cores, func(part, from, to int) {
		n := make([]uint32, 2*len(t.Nodes))
		for _, at := range rest[from:to] {
			n[at]++
		}
		places[part] = n
	})
	next := uint32(0)
	place := func(at uint32) (from, end uint32) {
		from = next
		for _, n := range places {
			n[at], next = next, next+n[at]
		}
		return from, next
	}
	for calls := []uint32{RootCall}; len(calls) > 0; {
		call := calls[len(calls)-1]
		calls = calls[:len(calls)-1]
		c := &t.Nodes[call]
		c.First, c.End = place(2 * call)
		if from, end := place(2*call + 1); end > from {
			lost = append(lost, opening{call, from, end})
		}
		for to := c.child; to != 0; to = t.Nodes[to].next {
			calls = append(calls, to)
		}
	}
	sorted := make([]Entry, len(rest))
	inRanges(len(rest), cores, func(part, from, to int) {
		n := places[part]
		for i := from; i < to; i++ {
			at := rest[i]
			sorted[n[at]] = t.Entries[i]
			n[at]++
		}
	})
	t.Entries = sorted
	return lost
}

// A callIndex finds calls by the call above and the frame. It is a table with open addressing, and has all that is
// needed to go on in one place.
type callIndex []callChild

type callChild struct {
	parent uint32
	frame  int32
	call   uint32 // 0 is a free slot
	opened bool
}

func newCallIndex(nodes []Call) callIndex {
	n := uint(len(nodes))
	x := make(callIndex, 1<<bits.Len(n+n/2)) // a third is free at least; a larger one is less in the cache
	for at := 1; at < len(nodes); at++ {
		c := &nodes[at]
		*x.slot(c.Parent, c.Frame) = callChild{c.Parent, c.Frame, uint32(at), c.Opened}
	}
	return x
}

func (x callIndex) slot(at uint32, frame int32) *callChild {
	hi, lo := bits.Mul64((uint64(at)<<32|uint64(uint32(frame)))^callSeed, callFactor)
	for i := hi ^ lo; ; i++ {
		s := &x[i&uint64(len(x)-1)]
		if s.call == 0 || s.parent == at && s.frame == frame {
			return s
		}
	}
}

// A walker takes entries down through the open calls of a tree, which it does not change, so that there can be several.
type walker struct {
	t     *Tree
	stack profile.Stack // of the entry that it takes
	index callIndex
	roots []rootWay // by root of stacks
	paths []shortcut
	met   []met   // by call, what the entries met
	flat  []Sum   // by call, of the entries that wait or end there
	value []int64 // the same in a quarter of the memory, if the tree is positive
	lost  []Sum   // by call, of the entries that have to go on from there; nil if they do
}

// A shortcut is several steps at once: where a run of locations leads from a call, or where on its way a strand rests. Without them, three
// quarters of the time would go to taking every sample through the same outermost frames.
type shortcut struct {
	run           profile.Run
	from, to      uint32
	n             uint8 // locations in the run: bytes of narrow and wide ones may be the same
	taken, line   uint8 // locations of the run, and lines of the next one
	opened, there bool  // as step says
}

// leads tells whether a shortcut is the one for a run from a call.
func (s *shortcut) leads(from uint32, run profile.Run, n int) bool {
	return s.from == from && s.run == run && int(s.n) == n && s.to != 0
}

const numShortcuts = 1 << 14 // 512 kB, to stay in the cache; a new one takes the place of an old one

func newWalker(t *Tree, index callIndex) *walker {
	n := len(t.Nodes)
	w := &walker{t: t, index: index, paths: make([]shortcut, numShortcuts), met: make([]met, n)}
	if t.positive {
		w.value = make([]int64, n)
	} else {
		w.flat = make([]Sum, n)
	}
	if !t.Inverted && !t.partial {
		w.roots = make([]rootWay, t.Profile.NumRoots())
	}
	return w
}

// A rootWay is where the outermost locations of a stack lead, which are those of its root: to a call from which it goes
// on, or to where it rests.
type rootWay struct {
	to            uint32
	taken, line   uint32 // locations, and lines of the next one
	known         bool
	opened, there bool // as step says
}

// walk takes an entry from the root to the last call on its way that is there. It returns twice the call, and one more
// if the call is open and the entry has to go on from there.
func (w *walker) walk(e *Entry) uint32 {
	w.t.readStack(e.Sample, &w.stack)
	return w.walkOn(e)
}

// walkOn is walk with the stack of the entry read.
func (w *walker) walkOn(e *Entry) uint32 {
	t := w.t
	s, stack := &e.strand, &w.stack
	at, opened, there := w.enter(s, stack)
	for there && opened {
		run, n := stack.Run(int(s.Left), t.Inverted)
		if n == 0 || s.line > 0 {
			at, opened, there = w.step(at, s, stack)
			continue
		}
		way := w.shortcut(at, run)
		if way.leads(at, run, n) {
			s.Left -= uint32(way.taken)
			s.line = uint32(way.line)
			if way.line == 0 {
				t.skip(s, stack)
			}
			at, opened, there = way.to, way.opened, way.there
			continue
		}
		from, left := at, s.Left
		for there && opened && (s.Left > left-uint32(n) || s.line > 0) {
			at, opened, there = w.step(at, s, stack)
		}
		end := left - uint32(n)
		if s.within(end) && (there || !t.Collapse) && s.line <= math.MaxUint8 {
			*way = shortcut{run, from, at, uint8(n), uint8(left - s.Left), uint8(s.line), opened, there}
		}
	}
	if !there && s.Left > 0 {
		if w.lost != nil {
			t.Add(&w.lost[at], e.Sample)
		}
		return 2*at + 1
	}
	if w.value != nil {
		w.value[at] += t.Values[e.Sample]
	} else {
		t.Add(&w.flat[at], e.Sample)
	}
	return 2 * at
}

// enter takes a strand as far as the root of its stack leads.
func (w *walker) enter(s *strand, stack *profile.Stack) (at uint32, opened, there bool) {
	at, opened, there = RootCall, true, true
	root, ok := stack.Root()
	if !ok || w.roots == nil {
		return at, opened, there
	}
	way, depth := &w.roots[root], uint32(stack.Len())
	if way.known {
		s.Left, s.line = depth-way.taken, way.line
		if way.line == 0 {
			w.t.skip(s, stack)
		}
		return way.to, way.opened, way.there
	}
	end := depth - profile.RootDepth
	for there && opened && (s.Left > end || s.line > 0) {
		at, opened, there = w.step(at, s, stack)
	}
	if s.within(end) && (there || !w.t.Collapse) {
		*way = rootWay{to: at, taken: depth - s.Left, line: s.line, known: true, opened: opened, there: there}
	}
	return at, opened, there
}

// within reports whether a strand got where it is without looking at what is beyond a location, the end of a run or of a root. there may still
// depend on that: who steps over recursive calls looks at the one after them.
func (s *strand) within(end uint32) bool { return s.Left > end || s.Left == end && s.line == 0 }

// step takes a strand from an open call to the one below. It stays where it is when it ends there, or when there is
// none yet.
func (w *walker) step(at uint32, s *strand, stack *profile.Stack) (to uint32, opened, there bool) {
	t := w.t
	if s.line == 0 && s.Left > 0 && !t.Collapse {
		// Nearly all locations have one frame.
		if frame := t.Table.only[t.location(s, stack)]; frame >= 0 {
			below := w.index.slot(at, frame)
			if below.call == 0 {
				return at, true, false
			}
			s.Left--
			t.skip(s, stack)
			w.met[below.call].Called = true
			return below.call, below.opened, true
		}
	}
	before := *s
	above := int32(anyFrame)
	if w.t.Collapse {
		above = w.t.Nodes[at].Frame
	}
	frame, inline, ok := w.t.next(above, s, stack)
	if !ok {
		return at, true, false
	}
	below := w.index.slot(at, frame)
	if below.call == 0 {
		*s = before
		return at, true, false
	}
	w.met[below.call].add(inline)
	return below.call, below.opened, true
}

func (w *walker) shortcut(from uint32, run profile.Run) *shortcut {
	hi, lo := bits.Mul64(run[0]^callSeed, callFactor)
	hi, lo = bits.Mul64(hi^lo^run[1]^uint64(from), callFactor)
	return &w.paths[(hi^lo)%numShortcuts]
}

// tell adds what the entries met and weigh to the tree.
func (w *walker) tell() {
	for at, m := range w.met {
		c := &w.t.Nodes[at]
		c.Called = c.Called || m.Called
		c.Inlined = c.Inlined || m.Inlined
		if w.value != nil {
			c.Flat.Value += w.value[at]
			c.Flat.Weight += w.value[at]
		} else {
			c.Flat.add(&w.flat[at])
		}
	}
}
