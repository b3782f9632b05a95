package calls

import (
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync"

	"github.com/hone-perf/hone/internal/profile"
)

// A bundle is entries that go the same way for a while: their next locations are the same. One of them goes ahead for all, so that most
// stacks are read once for several calls.
type bundle struct {
	Entry             // one of them, as far as it has come
	start      uint32 // locations that it had left at first
	run        uint8  // locations that all of them have next from there
	more       bool   // they go on after those, each its own way
	first, end uint32 // the entries, as they were at first
	weight     int64
}

// entries returns how many there are.
func (b *bundle) entries() uint32 { return b.end - b.first }

// stop returns how many locations the entry that goes ahead has left where the others may go another way.
func (b *bundle) stop() uint32 {
	if !b.more {
		return 0
	}
	return b.start - uint32(b.run)
}

// A task is bundles at a call that is to be opened.
type task struct {
	call    uint32
	bundles []bundle
	from    []Entry // that the bundles are of
	to      *room
}

// A room is where entries are put once it is known where they rest.
type room struct{ next uint32 }

func (r *room) take(n uint32) (first, end uint32) {
	r.next += n
	return r.next - n, r.next
}

// OpenCalls opens calls, and those below them that weigh at least open, the last ones first, until enough, if there is one, says so.
func (t *Tree) OpenCalls(calls []uint32, open int64, enough func() bool) {
	if len(calls) == 0 {
		return
	}
	todo := make([]task, len(calls))
	for i, at := range calls {
		c := &t.Nodes[at]
		from := slices.Clone(t.Entries[c.First:c.End])
		todo[i] = task{at, []bundle{{more: true, end: uint32(len(from))}}, from, &room{c.First}}
	}
	t.openAll(todo, open, enough)
	t.addUp()
}

// openAll takes entries on to the calls below, and further where those weigh at least open. It does as much at a time
// as there are cores. When enough, which may be nil, says so, what is not done yet stays as it is: that is not waited
// for, and takes one core, since whoever may be painting needs another one.
func (t *Tree) openAll(todo []task, open int64, enough func() bool) {
	var n int
	for i := range todo {
		n += len(todo[i].from)
	}
	workers := min(runtime.GOMAXPROCS(0), n/worthwhile+1)
	if enough != nil {
		workers = 1
	}
	o := &opening{t: t, open: open, enough: enough, todo: todo, workers: workers}
	o.changed.L = &o.mu
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(o.work)
	}
	o.work()
	wg.Wait()
	for i := range o.todo {
		// It is not opened any more, so its entries wait there.
		x := &o.todo[i]
		c := &t.Nodes[x.call]
		c.First, c.End = x.to.take(entriesOf(x.bundles))
		c.Flat = t.rest(x, x.bundles, c.First)
	}
}

const worthwhile = 1 << 13 // entries, for a worker

func entriesOf(bundles []bundle) (n uint32) {
	for i := range bundles {
		n += bundles[i].entries()
	}
	return n
}

// rest puts the entries of bundles where they stay, and returns what they come to.
func (t *Tree) rest(x *task, bundles []bundle, first uint32) (flat Sum) {
	to := t.Entries[first:]
	for i := range bundles {
		b := &bundles[i]
		taken := b.start - b.Left
		if b.more {
			taken = min(taken, uint32(b.run)) // a location without frames may follow, but not in all of them
		}
		n := copy(to, x.from[b.first:b.end])
		for j := range to[:n] {
			t.Add(&flat, to[j].Sample)
		}
		if taken > 0 || b.line > 0 {
			for j := range to[:n] {
				t.advance(&to[j], taken, b.line)
			}
		}
		to = to[n:]
	}
	return flat
}

// advance takes locations off an entry.
func (t *Tree) advance(e *Entry, taken, line uint32) {
	if e.Left, e.line = e.Left-taken, line; line == 0 && t.Table.gaps {
		t.skip(&e.strand, t.Profile.StackAt(int(e.Sample)))
	}
}

// An opening is calls that are being opened, by several workers.
type opening struct {
	t       *Tree
	open    int64 // what calls weigh that are opened
	enough  func() bool
	workers int

	mu      sync.Mutex
	changed sync.Cond
	working int
	waiting int // for something to do
	todo    []task
}

// work does what is to be done until nothing is left, or until there is enough.
func (o *opening) work() {
	s := newSplitter(o.t)
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		for len(o.todo) == 0 && o.working > 0 {
			o.waiting++
			o.changed.Wait()
			o.waiting--
		}
		if len(o.todo) == 0 || o.enough != nil && o.enough() {
			return
		}
		x := o.todo[len(o.todo)-1]
		o.todo = o.todo[:len(o.todo)-1]
		o.working++
		o.mu.Unlock()
		o.do(s, x)
		o.mu.Lock()
		o.working--
		o.changed.Broadcast()
	}
}

// A branching is bundles at a call, those of a splitter from one number to another.
type branching struct {
	call     uint32
	from, to int
}

// do opens a call and those below it. Large ones it leaves to whoever has time.
func (o *opening) do(s *splitter, x task) {
	t := o.t
	s.task = &x
	s.bundles = append(s.bundles[:0], x.bundles...)
	todo := append(s.todo[:0], branching{x.call, 0, len(s.bundles)})
	for first := true; len(todo) > 0; first = false {
		if !first && o.enough != nil && o.enough() {
			o.mu.Lock()
			for _, b := range todo {
				o.todo = append(o.todo, task{b.call, slices.Clone(s.bundles[b.from:b.to]), x.from, x.to})
			}
			o.mu.Unlock()
			break
		}
		b := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		o.mu.Lock()
		above := t.Nodes[b.call].Frame
		o.mu.Unlock()
		s.split(b.from, b.to, above, o.workers)
		o.mu.Lock()
		todo = o.hang(s, todo, b)
		o.mu.Unlock()
		for i := range s.resting {
			r := &s.resting[i]
			r.flat = t.rest(&x, s.bundles[r.from:r.to], r.first)
		}
		o.mu.Lock()
		for i := range s.resting {
			r := &s.resting[i]
			t.Nodes[r.call].Flat = r.flat
		}
		o.mu.Unlock()
	}
	s.todo = todo
}

// hang makes calls of what was split, and adds those that weigh enough to what is to be done.
func (o *opening) hang(s *splitter, todo []branching, b branching) []branching {
	t, x := o.t, s.task
	s.resting = s.resting[:0]
	c := &t.Nodes[b.call]
	c.Opened = true
	c.First, c.End = x.to.take(s.ended.entries)
	from := b.from
	to := from + s.ended.n
	s.resting = append(s.resting, resting{call: b.call, from: from, to: to, first: c.First})
	for i := range s.below {
		below := &s.below[i]
		from, to = to, to+below.n
		at := uint32(len(t.Nodes))
		t.Nodes = append(t.Nodes, Call{Frame: below.frame, Parent: b.call, next: t.Nodes[b.call].child, met: below.met})
		t.Nodes[b.call].child = at
		switch {
		case below.weight < o.open:
			c := &t.Nodes[at]
			c.First, c.End = x.to.take(below.entries)
			s.resting = append(s.resting, resting{call: at, from: from, to: to, first: c.First})
		case o.waiting > len(o.todo) && below.entries > worthwhile:
			o.todo = append(o.todo, task{at, slices.Clone(s.bundles[from:to]), x.from, x.to})
			o.changed.Signal()
		default:
			todo = append(todo, branching{at, from, to})
		}
	}
	return todo
}

// A splitter sorts bundles by the calls below the one where they are.
type splitter struct {
	t       *Tree
	task    *task
	of      []uint32 // 1 + the place in below, by frame
	below   []branch
	ended   branch
	bundles []bundle
	at      []uint32 // 1 + the place in below of each bundle, or 0 where it ended; then where it goes
	todo    []branching
	resting []resting
	grouper
}

// A resting is bundles whose entries rest at a call, and where those of the call begin.
type resting struct {
	call     uint32
	from, to int
	first    uint32
	flat     Sum
}

// A branch is the bundles that go on to the same frame.
type branch struct {
	frame   int32
	n       int
	entries uint32
	met
	weight int64
}

func newSplitter(t *Tree) *splitter {
	return &splitter{t: t, of: make([]uint32, len(t.Table.Frames)), grouper: grouper{t: t}}
}

// parted is the place of a bundle that was taken apart.
const parted = math.MaxUint32

// split takes bundles from a frame to those below, and puts first those that ended, then those of each branch.
func (s *splitter) split(from, to int, above int32, workers int) {
	t := s.t
	for i := range s.below {
		s.of[s.below[i].frame] = 0
	}
	s.below, s.ended, s.at = s.below[:0], branch{}, s.at[:0]
	s.bundles = s.bundles[:to]
	if workers > 1 {
		s.partAll(from, workers)
	}
	for i := from; i < len(s.bundles); i++ {
		if (i-from)%fetched == 0 {
			for j := range s.bundles[i:min(i+fetched, len(s.bundles))] {
				b := &s.bundles[i+j]
				s.sum += int64(t.Profile.Glance(b.Sample, b.Left))
			}
		}
		b := &s.bundles[i]
		branched := &s.ended
		frame, inline, ok := t.next(above, &b.strand, t.Profile.StackAt(int(b.Sample)), b.stop())
		switch {
		case ok:
			k := s.of[frame]
			if k == 0 {
				s.below = append(s.below, branch{frame: frame})
				k = uint32(len(s.below))
				s.of[frame] = k
			}
			s.at = append(s.at, k)
			branched = &s.below[k-1]
			branched.met.add(inline)
		case b.more:
			s.at = append(s.at, parted)
			s.bundles = s.part(s.bundles, s.task, *b)
			continue
		default:
			s.at = append(s.at, 0)
		}
		branched.n++
		branched.entries += b.entries()
		branched.weight = addSat(branched.weight, b.weight)
	}
	place := make([]uint32, 1+len(s.below))
	next := uint32(s.ended.n)
	for k := range s.below {
		place[k+1] = next
		next += uint32(s.below[k].n)
	}
	live := next
	for i, k := range s.at {
		to := &next
		if k != parted {
			to = &place[k]
		}
		s.at[i] = *to
		*to++
	}
	moved := s.bundles[from:]
	for i := range s.at {
		for to := s.at[i]; to != uint32(i); to = s.at[i] {
			moved[i], moved[to] = moved[to], moved[i]
			s.at[i], s.at[to] = s.at[to], to
		}
	}
	s.bundles = s.bundles[:from+int(live)]
}

// partAll takes apart bundles of many entries that have to be, as many at a time as there are cores.
func (s *splitter) partAll(from, workers int) {
	var due []bundle
	var n uint32
	for i := from; i < len(s.bundles); i++ {
		if b := &s.bundles[i]; b.more && b.Left <= b.stop() {
			due = append(due, *b)
			n += b.entries()
		}
	}
	if n < 4*worthwhile || len(due) < workers {
		return
	}
	s.bundles = append(s.bundles[:from], slices.DeleteFunc(s.bundles[from:], func(b bundle) bool { return b.more && b.Left <= b.stop() })...)
	parts := make([][]bundle, workers)
	inRanges(len(due), workers, func(i, from, to int) {
		g := grouper{t: s.t}
		for _, b := range due[from:to] {
			parts[i] = g.part(parts[i], s.task, b)
		}
	})
	for _, p := range parts {
		s.bundles = append(s.bundles, p...)
	}
}

// A grouper takes bundles apart.
type grouper struct {
	t      *Tree
	slots  []uint32 // 1 + the number of a group; a hash table with open addressing
	groups []group
	of     []uint32 // groups, by entry
	copied []Entry
	sum    int64 // of what was fetched, so that the compiler does not leave it out
}

// A group is entries whose next locations are the same.
type group struct {
	key    groupKey
	n      uint32
	weight int64
	some   Entry
}

type groupKey struct {
	run  profile.Run
	line uint32
}

// part appends bundles of the entries of one whose ways part.
func (g *grouper) part(out []bundle, x *task, b bundle) []bundle {
	entries := x.from[b.first:b.end]
	if b.run > 0 {
		for i := range entries {
			g.t.advance(&entries[i], uint32(b.run), 0)
		}
	}
	const few = 8
	if len(entries) < few {
		return g.single(out, entries, b.first)
	}
	most := profile.MaxRun
	if b.run > 0 {
		most = min(most, 2*int(b.run)) // more had been too many before
	}
	for !g.group(entries, most) {
		if most /= 2; most == 0 {
			return g.single(out, entries, b.first)
		}
	}
	var copied []Entry
	if b.run == 0 {
		copied = g.t.Entries[x.to.next+b.first:][:len(entries)] // nothing rests there yet
	} else {
		g.copied = slices.Grow(g.copied[:0], len(entries))[:len(entries)]
		copied = g.copied
	}
	copy(copied, entries)
	place := b.first
	for i := range g.groups {
		x := &g.groups[i]
		n := x.key.run.N
		out = append(out, bundle{
			Entry: x.some, start: x.some.Left, run: n, more: n > 0 && x.n > 1, first: place, end: place + x.n, weight: x.weight,
		})
		x.n, place = place-b.first, place+x.n
	}
	for i, k := range g.of {
		x := &g.groups[k]
		entries[x.n] = copied[i]
		x.n++
	}
	return out
}

// single appends a bundle for each entry.
func (g *grouper) single(out []bundle, entries []Entry, first uint32) []bundle {
	for i := range entries {
		e := entries[i]
		at := first + uint32(i)
		out = append(out, bundle{Entry: e, start: e.Left, first: at, end: at + 1, weight: g.t.weight(e.Sample)})
	}
	return out
}

// group sorts entries by their next locations, at most so many. It reports false if that makes too many groups.
func (g *grouper) group(entries []Entry, most int) bool {
	t := g.t
	limit := len(entries)/4 + 8
	if most > 1 {
		limit = min(limit, 1<<15) // to know sooner
	}
	g.groups, g.of = g.groups[:0], g.of[:0]
	if len(g.slots) < 64 {
		g.slots = make([]uint32, 64)
	}
	slots := g.slots[:64]
	clear(slots)
	for i := range entries {
		if i%fetched == 0 {
			g.fetch(entries[i:min(i+fetched, len(entries))])
		}
		e := entries[i]
		key := groupKey{t.Profile.StackAt(int(e.Sample)).Run(int(e.Left), most, t.Inverted), e.line}
		at := key.hash()
		for {
			k := slots[at&uint64(len(slots)-1)]
			if k == 0 {
				if len(g.groups) == limit {
					return false
				}
				g.groups = append(g.groups, group{key: key, some: e})
				k = uint32(len(g.groups))
				slots[at&uint64(len(slots)-1)] = k
				if 2*len(g.groups) > len(slots) {
					slots = g.grow()
				}
			}
			if x := &g.groups[k-1]; x.key == key {
				x.n++
				x.weight = addSat(x.weight, t.weight(e.Sample))
				g.of = append(g.of, k-1)
				break
			}
			at++
		}
	}
	return true
}

// fetched is how many entries are fetched at once.
const fetched = 32

// fetch has what is asked of entries brought into the cache. Each of it is somewhere else in memory, so nearly all of the time would
// go to waiting for one after the other.
func (g *grouper) fetch(entries []Entry) {
	t := g.t
	for i := range entries {
		e := &entries[i]
		g.sum += t.Values[e.Sample] + int64(t.Profile.Glance(e.Sample, e.Left))
	}
}

// grow makes the hash table larger.
func (g *grouper) grow() []uint32 {
	n := 64
	for n <= 4*len(g.groups) {
		n *= 2
	}
	if len(g.slots) < n {
		g.slots = make([]uint32, n)
	}
	slots := g.slots[:n]
	clear(slots)
	for i := range g.groups {
		at := g.groups[i].key.hash()
		for slots[at&uint64(n-1)] != 0 {
			at++
		}
		slots[at&uint64(n-1)] = uint32(i) + 1
	}
	return slots
}

func (k groupKey) hash() uint64 {
	hi, lo := bits.Mul64(k.run.Bits[0]^callSeed, callFactor)
	hi, lo = bits.Mul64(hi^lo^k.run.Bits[1]^uint64(k.line)<<32, callFactor)
	return hi ^ lo
}
