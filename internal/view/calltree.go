package view

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/hone-perf/hone/internal/profile"
)

// A callTree is the calling-context tree of a profile in terms of frames, as far as somebody looked.
//
// Samples are put in from the root. They go down through the calls that are open and wait at the first one that is
// not; a call opens when what waits there weighs enough to be looked at. So each stack is read once, from start to
// end, while it is in the cache, and calls thinner than a pixel, which are nearly all, are never made.
// Sorting the samples level by level instead reads each stack once a level: that took ten times as long.
type callTree struct {
	p        *profile.Profile
	table    *frameTable
	values   []int64 // of each sample
	before   []int64 // of each sample on the other side of a diff, or nil
	collapse bool    // a frame that calls itself is one
	inverted bool    // callees above their callers

	nodes   []call
	slots   []callChild // open addressing: calls by the call above and the frame
	strands []strand    // by sample
	open    int64       // calls that weigh as much are open
	opening []uint32    // calls to open

	texts []string // by frame, once needed
}

// A call is a frame below another one, or at the root. Calls are known by their number in the tree.
type call struct {
	frame       int32
	child, next uint32 // the first call below and the next one beside; 0 is none
	waiting     uint32 // 1 + the first sample that waits here
	opened      bool
	inline      bool // in all places

	cum, weight int64 // sum of the values of the samples, and of their magnitudes on both sides
	before      int64 // sum of their values before
	width       int64 // sum of the larger magnitude of both sides
	flat        int64 // sum of those that end here, once the call is open
	flatBefore  int64
}

// The root is the empty stack, which calls all outermost frames.
const rootCall = 0

type callChild struct {
	parent uint32
	frame  int32
	call   uint32 // 0 is a free slot
}

// A strand is what is left of the stack of a sample from some frame on.
type strand struct {
	next uint32 // 1 + the sample that waits behind this one
	left uint32 // locations; 0 is the end
	line uint32 // lines of the next location that have been passed
}

func newCallTree(m measure, table *frameTable, collapse bool) *callTree {
	return &callTree{p: m.p, table: table, values: m.p.Values(m.k), collapse: collapse}
}

// grow puts all samples into the tree and opens the calls that weigh at least open.
func (t *callTree) grow(open int64) {
	t.open = max(1, open)
	if t.nodes != nil {
		t.reopen(rootCall)
		return
	}
	t.nodes = append(t.nodes, call{frame: -1, opened: true})
	t.slots = make([]callChild, 1<<10)
	t.strands = make([]strand, len(t.values))
	for i, v := range t.values {
		if v == 0 && (t.before == nil || t.before[i] == 0) {
			continue
		}
		stack := t.p.StackAt(i)
		t.strands[i] = strand{left: uint32(stack.Len())}
		t.skip(&t.strands[i], stack)
		t.put(uint32(i), stack)
	}
}

// put takes a sample from the root to where it waits or ends.
func (t *callTree) put(sample uint32, stack profile.Stack) {
	for at := uint32(rootCall); ; {
		c := &t.nodes[at]
		t.add(c, sample)
		if !c.opened {
			t.strands[sample].next = c.waiting
			c.waiting = sample + 1
			if c.weight >= t.open {
				t.openAll(at)
			}
			return
		}
		if at = t.step(at, sample, stack); at == rootCall {
			return
		}
	}
}

// openAll opens a call, and those below it that weigh enough.
func (t *callTree) openAll(at uint32) {
	t.opening = append(t.opening[:0], at)
	for len(t.opening) > 0 {
		at := t.opening[len(t.opening)-1]
		t.opening = t.opening[:len(t.opening)-1]
		waiting := t.nodes[at].waiting
		t.nodes[at].waiting, t.nodes[at].opened = 0, true
		for waiting != 0 {
			sample := waiting - 1
			s := &t.strands[sample]
			waiting, s.next = s.next, 0
			to := t.step(at, sample, t.p.StackAt(int(sample)))
			if to == rootCall {
				continue
			}
			c := &t.nodes[to]
			t.add(c, sample)
			s.next = c.waiting
			c.waiting = sample + 1
		}
		for to := t.nodes[at].child; to != 0; to = t.nodes[to].next {
			if t.nodes[to].weight >= t.open {
				t.opening = append(t.opening, to)
			}
		}
	}
}

// reopen opens the calls below at that now weigh enough.
func (t *callTree) reopen(at uint32) {
	todo := []uint32{at}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		c := &t.nodes[at]
		switch {
		case c.opened:
			for to := c.child; to != 0; to = t.nodes[to].next {
				todo = append(todo, to)
			}
		case c.weight >= t.open:
			t.openAll(at)
		}
	}
}

// step takes a sample from a call that is open to the one below, or, if the sample ends, adds it up and returns the
// root.
func (t *callTree) step(at, sample uint32, stack profile.Stack) uint32 {
	s := &t.strands[sample]
	for s.left > 0 {
		frame, inline := t.take(s, stack)
		if t.collapse && frame == t.nodes[at].frame {
			continue
		}
		to := t.below(at, frame)
		c := &t.nodes[to]
		c.inline = c.inline && inline
		return to
	}
	c := &t.nodes[at]
	c.flat += t.values[sample]
	if t.before != nil {
		c.flatBefore += t.before[sample]
	}
	return rootCall
}

// add adds a sample to what a call costs.
func (t *callTree) add(c *call, sample uint32) {
	v := t.values[sample]
	c.cum += v
	c.weight += abs(v)
	if t.before != nil {
		b := t.before[sample]
		c.before += b
		c.width += max(abs(v), abs(b))
		c.weight += abs(b)
	}
}

// below returns the call of a frame below another call.
func (t *callTree) below(at uint32, frame int32) uint32 {
	if first := t.nodes[at].child; first != 0 && t.nodes[first].frame == frame {
		return first
	}
	s := t.slot(at, frame)
	if s.call == 0 {
		if 2*len(t.nodes) >= len(t.slots) {
			t.rehash()
			s = t.slot(at, frame)
		}
		n := uint32(len(t.nodes))
		*s = callChild{at, frame, n}
		t.nodes = append(t.nodes, call{frame: frame, inline: true, next: t.nodes[at].child})
		t.nodes[at].child = n
	}
	return s.call
}

func (t *callTree) slot(at uint32, frame int32) *callChild {
	hi, lo := bits.Mul64((uint64(at)<<32|uint64(uint32(frame)))^callSeed, callFactor)
	for i := hi ^ lo; ; i++ {
		s := &t.slots[i&uint64(len(t.slots)-1)]
		if s.call == 0 || s.parent == at && s.frame == frame {
			return s
		}
	}
}

func (t *callTree) rehash() {
	old := t.slots
	t.slots = make([]callChild, 2*len(old))
	for _, s := range old {
		if s.call != 0 {
			*t.slot(s.parent, s.frame) = s
		}
	}
}

// frames returns the frames of the next location of s, outermost first.
func (t *callTree) frames(s *strand, stack profile.Stack) []int32 {
	if t.inverted {
		return t.table.of(stack.At(stack.Len() - int(s.left)))
	}
	return t.table.of(stack.At(int(s.left) - 1))
}

// skip passes locations that have no frames.
func (t *callTree) skip(s *strand, stack profile.Stack) {
	for s.left > 0 && len(t.frames(s, stack)) == 0 {
		s.left--
	}
}

// take takes the next frame off s and says whether it is inlined.
func (t *callTree) take(s *strand, stack profile.Stack) (frame int32, inline bool) {
	frames := t.frames(s, stack)
	i := int(s.line)
	if t.inverted {
		i = len(frames) - 1 - i
	}
	if s.line++; int(s.line) == len(frames) {
		s.line = 0
		s.left--
		t.skip(s, stack)
	}
	return frames[i], i > 0
}

// calls returns the calls below one that is open, heaviest first.
func (t *callTree) calls(at uint32) []uint32 {
	var out []uint32
	for to := t.nodes[at].child; to != 0; to = t.nodes[to].next {
		out = append(out, to)
	}
	slices.SortFunc(out, func(i, j uint32) int {
		a, b := &t.nodes[i], &t.nodes[j]
		if c := cmp.Compare(b.weight, a.weight); c != 0 {
			return c
		}
		return cmp.Or(
			cmp.Compare(t.text(a.frame), t.text(b.frame)),
			cmp.Compare(a.frame, b.frame),
		)
	})
	return out
}

// text returns what a frame reads as.
func (t *callTree) text(f int32) string {
	if t.texts == nil {
		t.texts = make([]string, len(t.table.frames))
	}
	if t.texts[f] == "" {
		t.texts[f] = t.table.frames[f].String()
	}
	return t.texts[f]
}
