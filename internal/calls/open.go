package calls

import (
	"runtime"
	"sync"

	"github.com/hone-perf/hone/internal/profile"
)

// An opening is some entries at a call that are to go on to the calls below it.
type opening struct {
	call       uint32
	first, end uint32
}

// waiting returns the opening of all that waits at a call.
func (t *Tree) waiting(at uint32) opening {
	c := &t.Nodes[at]
	return opening{at, c.First, c.End}
}

// OpenCalls opens calls, and those below them that weigh at least open, the last ones first, until enough, if there is one, says so.
func (t *Tree) OpenCalls(calls []uint32, open int64, enough func() bool) {
	if len(calls) == 0 {
		return
	}
	todo := make([]opening, len(calls))
	for i, at := range calls {
		todo[i] = t.waiting(at)
	}
	t.openAll(todo, open, enough)
	t.addUp()
}

// walkedFrom is from how many entries on it pays to find out with some of them which calls will open. Tests do so with fewer.
var walkedFrom = 1 << 14

// growFrom opens the calls that weigh at least open, from the root on, with all entries there. Some of the entries tell which
// calls will open, and a little more; of those, some tell the same, until they are few. All of them then go through those
// calls, as many at a time as there are cores, and little is left to do for them. When enough, which may be nil, says so before that is done,
// it returns false, and the tree is of no use.
//
// Calls that are opened later do not gain from this: fewer entries wait there, and most of their stacks have been read lately.
func (t *Tree) growFrom(open int64, enough func() bool) bool {
	t.Nodes = []Call{{Frame: anyFrame, Opened: true, met: met{Called: true}}}
	if len(t.Entries) <= walkedFrom {
		return t.openAll([]opening{{RootCall, 0, uint32(len(t.Entries))}}, open, enough)
	}
	some, picked := t.sampled()
	least := leastSampled(open, picked, some)
	if !some.growFrom(least, enough) {
		return false
	}
	t.outline(some, least)
	left, done := t.walkAll(enough)
	if !done {
		return false
	}
	for at := 1; at < len(t.Nodes); at++ {
		if c := &t.Nodes[at]; !c.Opened && c.Flat.Weight >= open {
			left = append(left, t.waiting(uint32(at)))
		}
	}
	return t.openAll(left, open, enough)
}

const sampling = 32 // one of so many entries tells which calls will open

// sampled returns a tree of some of the entries, which has no calls yet, and what they come to.
func (t *Tree) sampled() (some *Tree, picked Sum) {
	x := *t
	x.Nodes, x.Sums = nil, nil
	x.Entries = make([]Entry, 0, len(t.Entries)/sampling+1)
	for at := 0; at < len(t.Entries); at += sampling {
		x.Entries = append(x.Entries, t.Entries[at])
		t.Add(&picked, t.Entries[at].Sample)
	}
	return &x, picked
}

// some does the same as sampled for a tree without entries: it takes the same samples.
func (t *Tree) some() (some *Tree, picked Sum) {
	x := *t
	x.Nodes, x.Sums = nil, nil
	x.Entries = make([]Entry, 0, len(t.Values)/sampling+1)
	var stack profile.Stack
	n := 0
	for i := range t.Values {
		e := Entry{Sample: uint32(i)}
		if !t.counts(e.Sample) {
			continue
		}
		if n%sampling == 0 {
			t.begin(&e, &stack)
			x.Entries = append(x.Entries, e)
			t.Add(&picked, e.Sample)
		}
		n++
	}
	return &x, picked
}

// leastSampled returns the weight that calls have at least in a tree of some samples where they are to be opened, if in the whole they have as much as open.
func leastSampled(open int64, all Sum, some *Tree) int64 {
	// What less than two of them weigh would be chance.
	return max(open/sampling/2, 2*(all.Weight/int64(max(1, len(some.Entries)))), 1)
}

// outline adds the calls of some, a tree of the same profile, to the root of t, without their entries. Those that weigh less than open are
// closed.
func (t *Tree) outline(some *Tree, open int64) {
	some.addUp()
	number := make([]uint32, len(some.Nodes)) // in t
	for at := 1; at < len(some.Nodes); at++ {
		c := some.Nodes[at]
		c.Parent = number[c.Parent]
		above := &t.Nodes[c.Parent]
		if !above.Opened {
			number[at] = c.Parent
			continue
		}
		number[at] = uint32(len(t.Nodes))
		c.next, above.child = above.child, number[at]
		c.Opened = c.Opened && some.Sums[at].Weight >= open
		c.First, c.End, c.Flat, c.child = 0, 0, Sum{}, 0
		t.Nodes = append(t.Nodes, c)
	}
}

// openAll takes entries on to the calls below, and further where those weigh at least open. It does as much at a time
// as there are cores. When enough, which may be nil, says so, what is not done yet stays as it is: that is not waited
// for, and takes one core, since whoever may be painting needs another one. It reports whether all is done.
func (t *Tree) openAll(todo []opening, open int64, enough func() bool) bool {
	var n uint32
	for _, o := range todo {
		n += o.end - o.first
	}
	const worthwhile = 1 << 13 // entries, for a worker
	var mu sync.Mutex
	changed := sync.NewCond(&mu)
	working := 0
	work := func() {
		s := newSplitter(t)
		mu.Lock()
		defer mu.Unlock()
		for {
			for len(todo) == 0 && working > 0 {
				changed.Wait()
			}
			if len(todo) == 0 || enough != nil && enough() {
				return
			}
			o := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			c := &t.Nodes[o.call]
			above := c.Frame
			if !c.Opened { // else the others have gone on before
				c.Opened, c.Flat, c.End = true, Sum{}, c.First
			}
			working++
			mu.Unlock()
			s.split(t.Entries[o.first:o.end], above)
			mu.Lock()
			working--
			todo = s.hang(todo, o, open)
			changed.Broadcast()
		}
	}
	workers := min(runtime.GOMAXPROCS(0), int(n/worthwhile)+1)
	if enough != nil {
		workers = 1
	}
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	return len(todo) == 0
}

// A splitter sorts entries by the calls below the one where they are.
type splitter struct {
	t     *Tree
	of    []uint32 // 1 + the place in below, by frame
	below []branch
	ended branch
	at    []uint32 // 1 + the place in below of each entry; 0 where it ended
	moved []Entry
	stack profile.Stack // of one entry
	read  byte          // of those that were fetched
}

// A branch is the entries that go on to the same frame.
type branch struct {
	frame int32
	n     uint32
	met
	flat Sum
}

func newSplitter(t *Tree) *splitter {
	return &splitter{t: t, of: make([]uint32, len(t.Table.Frames))}
}

// atOnce is how many entries are fetched at the same time.
const atOnce = 32

// fetch brings the stacks and values of at most so many entries into the cache. This takes half of the time of waiting for them one by
// one, because entries of a call come from all over the profile. What it returns means nothing, but has to be used.
func (t *Tree) fetch(entries []Entry) (read byte) {
	var samples [atOnce]uint32
	for i := range entries {
		e := entries[i].Sample
		read ^= byte(t.Values[e])
		if t.samples != nil {
			e = t.samples[e]
		}
		samples[i] = e
	}
	return read ^ t.Profile.Fetch(samples[:len(entries)])
}

// split takes entries from a frame to those below, and puts first those that ended, then those of each branch.
func (s *splitter) split(entries []Entry, above int32) {
	t := s.t
	for i := range s.below {
		s.of[s.below[i].frame] = 0
	}
	s.below, s.ended = s.below[:0], branch{}
	s.at = append(s.at[:0], make([]uint32, len(entries))...)
	for i := range entries {
		if i%atOnce == 0 {
			s.read ^= t.fetch(entries[i:min(i+atOnce, len(entries))])
		}
		e := &entries[i]
		b := &s.ended
		t.readStack(e.Sample, &s.stack)
		if frame, inline, ok := t.next(above, &e.strand, &s.stack); ok {
			k := s.of[frame]
			if k == 0 {
				s.below = append(s.below, branch{frame: frame})
				k = uint32(len(s.below))
				s.of[frame] = k
			}
			s.at[i] = k
			b = &s.below[k-1]
			b.met.add(inline)
		}
		b.n++
		t.Add(&b.flat, e.Sample)
	}
	if len(s.below) == 0 || len(s.below) == 1 && s.ended.n == 0 {
		return
	}
	to := make([]uint32, 1+len(s.below))
	to[0] = 0
	next := s.ended.n
	for k := range s.below {
		to[k+1] = next
		next += s.below[k].n
	}
	s.moved = append(s.moved[:0], entries...)
	for i, k := range s.at {
		entries[to[k]] = s.moved[i]
		to[k]++
	}
}

// hang makes calls of what was split, and adds those that weigh enough to what is to be done.
func (s *splitter) hang(todo []opening, o opening, open int64) []opening {
	t := s.t
	c := &t.Nodes[o.call]
	c.Flat.add(&s.ended.flat)
	if s.ended.n > 0 {
		c.First, c.End = o.first, o.first+s.ended.n
	}
	first := o.first + s.ended.n
	for i := range s.below {
		b := &s.below[i]
		at := uint32(len(t.Nodes))
		above := &t.Nodes[o.call]
		t.Nodes = append(t.Nodes, Call{
			Frame: b.frame, Parent: o.call, next: above.child, First: first, End: first + b.n, met: b.met, Flat: b.flat,
		})
		t.Nodes[o.call].child = at
		first += b.n
		if b.flat.Weight >= open {
			todo = append(todo, t.waiting(at))
		}
	}
	return todo
}
