package calls

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/hone-perf/hone/internal/profile"
)

// wholeCalls finds all calls of stacks between the frames that a graph keeps, where a callFinder looks for some. What a location
// comes to is found out beforehand: the frames that are kept, by number, and whether others are between them. The outermost locations
// of a stack, which it shares with many others, are gone through once for all of them.
type wholeCalls struct {
	b      *Builder
	lists  locationLists
	frames []int32 // that are kept, by number
	other  uint16  // stands for frames that are not

	spread *profile.Spread
	slots  []wholeCall // by from*len(frames)+to if dense, else a hash table with open addressing
	dense  bool
	divs   []int64  // by slot, for means
	order  []uint32 // calls, as they were found

	roots []rootCalls
	known []uint32 // calls in roots
	buf   []uint32
}

// A wholeCall is a call with what it weighs so far, in one place, since reaching for it is what adding up costs.
type wholeCall struct {
	key  uint32 // of the call; 0 is a free slot. With wasCalled and wasResidual
	seen uint32 // 1 + the sample in which it was last met
	v    int64
}

const (
	frameBits   = 15
	wasCalled   = 1 << 30
	wasResidual = 1 << 31
	callMask    = wasCalled - 1
)

// keyOf returns what stands for a call between two frames, by their numbers. It is not 0.
func keyOf(from, to int32) uint32 { return uint32(from)<<frameBits | uint32(to) + 1 }

// inlinedHere marks the number of a frame that is inlined at its location.
const inlinedHere = 1 << frameBits

// mostDense is how many frames may have a place for each pair of them, which takes a megabyte.
const mostDense = 1 << 8

// A rootCalls is what there is to know about a root.
type rootCalls struct {
	Weight          // of all stacks with it
	first, n uint32 // its calls, in wholeCalls.known
	mask     uint64 // of their keys, modulo 64
	end      way
	met      bool
}

// A way is how far a stack was gone through.
type way struct {
	above int32 // innermost frame that is kept, by number; noneKept
	gap   bool  // others follow it
}

// newWholeCalls returns nil if there are too many frames.
func newWholeCalls(b *Builder, g *Graph) *wholeCalls {
	x := &wholeCalls{b: b}
	number := make([]int32, len(b.Table.Frames))
	for f := range number {
		if number[f] = noneKept; g.keeps(int32(f)) {
			number[f] = int32(len(x.frames))
			x.frames = append(x.frames, int32(f))
		}
	}
	if len(x.frames) >= inlinedHere-1 {
		return nil
	}
	x.other = uint16(len(x.frames))
	x.lists.start = make([]uint32, 1, len(b.Table.only)+1)
	for l := range b.Table.only {
		gap := false
		for j, f := range b.Table.Of(uint32(l)) {
			switch n := number[f]; {
			case n >= 0 && b.Table.Inlines(j):
				x.lists.add(n | inlinedHere)
				gap = false
			case n >= 0:
				x.lists.add(n)
			case !gap:
				x.lists.add(int32(x.other))
				gap = true
			}
		}
		x.lists.end()
	}
	return x.another()
}

// another returns a wholeCalls that does the same with other samples.
func (x *wholeCalls) another() *wholeCalls {
	out := &wholeCalls{
		b: x.b, lists: x.lists, frames: x.frames, other: x.other,
		spread: x.b.Profile.NewSpread(profile.MaxSpread, x.lists.of),
		roots:  make([]rootCalls, x.b.Profile.NumRoots()),
	}
	if k := len(x.frames); k <= mostDense {
		out.dense, out.slots = true, make([]wholeCall, k*k)
	} else {
		out.slots = make([]wholeCall, 1<<12)
	}
	if x.b.Mean {
		out.divs = make([]int64, len(out.slots))
	}
	return out
}

// found returns the calls, in the order in which they were found.
func (x *wholeCalls) found() *callTable {
	t := newCallTable()
	for _, key := range x.order {
		at := x.slot(key)
		c := &x.slots[at]
		from, to := (key-1)>>frameBits, (key-1)&(1<<frameBits-1)
		sum := &t.sums[t.find(x.frames[from], x.frames[to])-1]
		if sum.V = c.v; x.divs != nil {
			sum.Div = x.divs[at]
		}
		sum.called, sum.residual = c.key&wasCalled != 0, c.key&wasResidual != 0
	}
	return &t
}

// find adds the calls of samples.
func (x *wholeCalls) find(from, to int) {
	x.walk(from, to)
	x.settle()
}

// walk adds the calls of samples that are not in their roots.
func (x *wholeCalls) walk(from, to int) {
	for i := from; i < to; i++ {
		w, live := x.b.sample(i)
		if !live {
			continue
		}
		own, n := x.spread.Own(i)
		at := way{above: noneKept}
		var root *rootCalls
		if n >= 0 {
			if root = &x.roots[n]; !root.met {
				x.meet(n)
			}
			root.V += w.V
			root.Div += w.Div
			at = root.end
		}
		x.add(own, at, root, w, uint32(i)+1)
	}
}

// settle adds the calls in roots, for all samples that were walked.
func (x *wholeCalls) settle() {
	for i := range x.roots {
		r := &x.roots[i]
		for _, key := range x.known[r.first : r.first+r.n] {
			x.weigh(x.slot(key), r.Weight)
		}
	}
}

// add adds the calls of a stack below its root, whose numbers are two bytes each, from the innermost. A call that is in the root, too, counts
// there.
func (x *wholeCalls) add(own []byte, at way, root *rootCalls, w Weight, now uint32) {
	above, gap := at.above, at.gap
	for i := len(own) - 2; i >= 0; i -= 2 {
		step := binary.LittleEndian.Uint16(own[i:])
		if step == x.other {
			gap = true
			continue
		}
		f := int32(step &^ inlinedHere)
		if above >= 0 && above != f {
			key := keyOf(above, f)
			at := x.enter(key)
			if c := &x.slots[at]; c.seen != now && !x.in(root, key) {
				c.seen = now
				x.weigh(at, w)
				c.meet(step, gap)
			}
		}
		above, gap = f, false
	}
}

// weigh adds a weight to the call in a slot.
func (x *wholeCalls) weigh(at int, w Weight) {
	if x.slots[at].v += w.V; x.divs != nil {
		x.divs[at] += w.Div
	}
}

// meet notes how a call is met.
func (c *wholeCall) meet(step uint16, gap bool) {
	if step&inlinedHere == 0 {
		c.key |= wasCalled
	}
	if gap {
		c.key |= wasResidual
	}
}

// in reports whether a call is in a root.
func (x *wholeCalls) in(root *rootCalls, key uint32) bool {
	return root != nil && root.mask>>(key%64)&1 != 0 && slices.Contains(x.known[root.first:root.first+root.n], key)
}

// meet finds the calls in a root.
func (x *wholeCalls) meet(number int) {
	r := &x.roots[number]
	r.met, r.first, r.end = true, uint32(len(x.known)), way{above: noneKept}
	x.buf = x.b.Profile.AppendRoot(number, x.buf[:0])
	at := &r.end
	for _, l := range slices.Backward(x.buf) {
		for _, s := range x.lists.of(l) {
			step := uint16(s)
			if step == x.other {
				at.gap = true
				continue
			}
			f := int32(step &^ inlinedHere)
			if at.above >= 0 && at.above != f {
				if key := keyOf(at.above, f); !x.in(r, key) {
					x.known = append(x.known, key)
					r.n++
					r.mask |= 1 << (key % 64)
					slot := x.enter(key) // which may move them all
					x.slots[slot].meet(step, at.gap)
				}
			}
			*at = way{above: f}
		}
	}
}

// enter returns the slot of a call, which it takes if the call is new.
func (x *wholeCalls) enter(key uint32) int {
	at := x.slot(key)
	if x.slots[at].key != 0 {
		return at
	}
	if !x.dense && 2*len(x.order) >= len(x.slots) {
		x.grow()
		at = x.slot(key)
	}
	x.slots[at].key = key
	x.order = append(x.order, key)
	return at
}

// slot returns the slot of a call, or the one where it should be.
func (x *wholeCalls) slot(key uint32) int {
	if x.dense {
		return int((key-1)>>frameBits)*len(x.frames) + int((key-1)&(1<<frameBits-1))
	}
	hi, lo := bits.Mul64(uint64(key)^callSeed, callFactor)
	for i := hi ^ lo; ; i++ {
		at := int(i & uint64(len(x.slots)-1))
		if c := &x.slots[at]; c.key&callMask == key || c.key == 0 {
			return at
		}
	}
}

func (x *wholeCalls) grow() {
	slots, divs := x.slots, x.divs
	if x.slots = make([]wholeCall, 4*len(slots)); divs != nil {
		x.divs = make([]int64, len(x.slots))
	}
	for i, c := range slots {
		if c.key == 0 {
			continue
		}
		at := x.slot(c.key & callMask)
		if x.slots[at] = c; divs != nil {
			x.divs[at] = divs[i]
		}
	}
}

// locationLists are numbers for each location.
type locationLists struct {
	start []uint32
	at    []int32
}

func (t *locationLists) add(n int32) { t.at = append(t.at, n) }
func (t *locationLists) end()        { t.start = append(t.start, uint32(len(t.at))) }

func (t *locationLists) of(l uint32) []int32 { return t.at[t.start[l]:t.start[l+1]] }
