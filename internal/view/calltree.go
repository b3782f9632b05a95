package view

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/profile"
)

// A callTree is the calling-context tree of a profile in terms of frames, as far as somebody looked.
//
// Samples are put in from the root. They go down through the calls that are open and wait at the first one that is
// not; a call opens when what waits there weighs enough to be looked at. So each stack is read once, from start to
// end, while it is in the cache, and calls thinner than a pixel, which are nearly all, are never made.
// Sorting the samples level by level instead reads each stack once a level: that took three times as long and more.
type callTree struct {
	p        *profile.Profile
	table    *frameTable
	values   []int64 // of each sample
	before   []int64 // of each sample on the other side of a diff, or nil
	ratio    float64 // by which before is scaled
	collapse bool    // a frame that calls itself is one
	inverted bool    // callees above their callers
	from     int32   // stacks begin with the outermost of this frame; anyFrame is that of the stack

	nodes   []call
	sums    []sum       // by call, once the tree has grown
	slots   []callChild // open addressing: calls by the call above and the frame
	strands []strand    // by sample
	rest    []uint32    // the call where each sample waits or ended, or nowhere
	open    int64       // calls that weigh as much are open
	opening []uint32    // calls to open

	texts []string // by frame, once needed
}

// A call is a frame below another one, or at the root. Calls are known by their number in the tree; those below come
// after those above.
type call struct {
	frame       int32
	parent      uint32
	child, next uint32 // the first call below and the next one beside; 0 is none
	waiting     uint32 // 1 + the first sample that waits here
	opened      bool
	met
	flat sum // of the samples that end here, or wait
}

// A met says how a call was met.
type met struct{ called, inlined bool }

func (m *met) add(inlined bool) {
	if inlined {
		m.inlined = true
	} else {
		m.called = true
	}
}

// inline reports whether a call is inlined in all places.
func (c *call) inline() bool { return !c.called }

// A sum is what samples come to.
type sum struct {
	value, weight int64 // of their values, and of the magnitudes of those on both sides
	before        int64 // of their values before
	width         int64 // of the larger magnitude of both sides
}

func (s *sum) add(o *sum) {
	s.value += o.value
	s.weight += o.weight
	s.before += o.before
	s.width += o.width
}

// anyFrame is no frame.
const anyFrame = -1

// The root is the empty stack, which calls all outermost frames.
const rootCall = 0

// nowhere is no call: the sample does not count.
const nowhere = math.MaxUint32

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
	return &callTree{p: m.p, table: table, values: m.p.Values(m.k), collapse: collapse, from: anyFrame, ratio: 1}
}

// grow puts all samples into the tree and opens the calls that weigh at least open.
func (t *callTree) grow(open int64) {
	t.nodes = append(t.nodes, call{frame: -1, opened: true, met: met{called: true}})
	t.slots = make([]callChild, 1<<10)
	t.strands = make([]strand, len(t.values))
	t.rest = make([]uint32, len(t.values))
	// A few samples tell which calls will open. The others then go through those as many at a time as there are
	// processors, and what is left to do for them is little.
	const part = 32
	t.open = max(1, open/part)
	w := newWalker(t)
	for i := 0; i < len(t.values); i += part {
		if w.start(uint32(i)) {
			w.walk(uint32(i))
			t.put(t.rest[i], uint32(i))
		}
	}
	w.tell()
	t.walkAll(part)
	t.open = max(1, open)
	for i, at := range t.rest {
		if i%part != 0 && at != nowhere {
			t.put(at, uint32(i))
		}
	}
	t.addUp()
}

// put takes a sample from a call to where it waits or ends.
func (t *callTree) put(at, sample uint32) {
	for ended := false; !ended; {
		c := &t.nodes[at]
		if !c.opened {
			t.wait(at, sample)
			if c.flat.weight >= t.open {
				t.openAll(at)
			}
			return
		}
		at, ended = t.step(at, sample, t.p.StackAt(int(sample)))
	}
}

// wait leaves a sample at a call that is not open.
func (t *callTree) wait(at, sample uint32) {
	c := &t.nodes[at]
	t.add(&c.flat, sample)
	t.rest[sample] = at
	t.strands[sample].next = c.waiting
	c.waiting = sample + 1
}

// openAll opens a call, and those below it that weigh enough.
func (t *callTree) openAll(at uint32) {
	t.opening = append(t.opening[:0], at)
	for len(t.opening) > 0 {
		at := t.opening[len(t.opening)-1]
		t.opening = t.opening[:len(t.opening)-1]
		c := &t.nodes[at]
		waiting := c.waiting
		c.waiting, c.opened, c.flat = 0, true, sum{}
		for waiting != 0 {
			sample := waiting - 1
			s := &t.strands[sample]
			waiting, s.next = s.next, 0
			if to, ended := t.step(at, sample, t.p.StackAt(int(sample))); !ended {
				t.wait(to, sample)
			}
		}
		for to := t.nodes[at].child; to != 0; to = t.nodes[to].next {
			if t.nodes[to].flat.weight >= t.open {
				t.opening = append(t.opening, to)
			}
		}
	}
}

// find returns the call that path leads to, with all below it open that weighs at least a share of it.
func (t *callTree) find(path string, share float64) (uint32, error) {
	if t.nodes == nil {
		var sum sum
		for i := range t.values {
			t.add(&sum, uint32(i)) // too much when stacks begin with a frame, but that is made up for below
		}
		t.grow(int64(float64(sum.weight) * share))
	}
	at, ok := t.follow(rootCall, path)
	if !ok {
		return 0, fmt.Errorf("no call %s", path)
	}
	t.open = max(1, int64(float64(t.sums[at].weight)*share))
	for todo := []uint32{at}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch c := &t.nodes[at]; {
		case !c.opened && c.flat.weight >= t.open:
			t.openAll(at)
		case c.opened:
			for to := c.child; to != 0; to = t.nodes[to].next {
				todo = append(todo, to)
			}
		}
	}
	t.addUp()
	return at, nil
}

// follow returns the call that path leads to from another one. Names may hold semicolons, too, and calls beside each
// other may read the same, so that there can be several ways to try.
func (t *callTree) follow(at uint32, path string) (uint32, bool) {
	if path == "" {
		return at, true
	}
	if !t.nodes[at].opened {
		t.open = math.MaxInt64
		t.openAll(at)
		t.addUp()
	}
	var ways []uint32
	for _, b := range t.calls(at) {
		if after, ok := strings.CutPrefix(path, t.text(t.nodes[b].frame)); ok && (after == "" || after[0] == ';') {
			ways = append(ways, b)
		}
	}
	slices.SortStableFunc(ways, func(a, b uint32) int {
		return cmp.Compare(len(t.text(t.nodes[b].frame)), len(t.text(t.nodes[a].frame)))
	})
	for _, b := range ways {
		if to, ok := t.follow(b, strings.TrimPrefix(path[len(t.text(t.nodes[b].frame)):], ";")); ok {
			return to, true
		}
	}
	return 0, false
}

// addUp adds up what each call costs with all that is below it.
func (t *callTree) addUp() {
	t.sums = slices.Grow(t.sums[:0], len(t.nodes))[:len(t.nodes)]
	for i := range t.nodes {
		t.sums[i] = t.nodes[i].flat
	}
	for i := len(t.nodes) - 1; i > rootCall; i-- {
		t.sums[t.nodes[i].parent].add(&t.sums[i])
	}
}

// step takes a sample from a call that is open to the one below. If the sample ends instead, it is added up.
func (t *callTree) step(at, sample uint32, stack profile.Stack) (to uint32, ended bool) {
	s := &t.strands[sample]
	for s.left > 0 {
		frame, inline := t.take(s, stack)
		if t.collapse && frame == t.nodes[at].frame {
			continue
		}
		to := t.below(at, frame)
		t.nodes[to].add(inline)
		return to, false
	}
	t.add(&t.nodes[at].flat, sample)
	t.rest[sample] = at
	return at, true
}

// add adds a sample to a sum.
func (t *callTree) add(s *sum, sample uint32) {
	v := t.values[sample]
	s.value += v
	s.weight += abs(v)
	if t.before != nil {
		b := t.before[sample]
		s.before += b
		if b != 0 && t.ratio != 1 {
			b = int64(math.Round(float64(b) * t.ratio))
		}
		s.width += max(abs(v), abs(b))
		s.weight += abs(b)
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
		t.nodes = append(t.nodes, call{frame: frame, parent: at, next: t.nodes[at].child})
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

// location returns the next location of s.
func (t *callTree) location(s *strand, stack profile.Stack) uint32 {
	if t.inverted {
		return stack.At(stack.Len() - int(s.left))
	}
	return stack.At(int(s.left) - 1)
}

// skip passes locations that have no frames.
func (t *callTree) skip(s *strand, stack profile.Stack) {
	for t.table.gaps && s.left > 0 && len(t.table.of(t.location(s, stack))) == 0 {
		s.left--
	}
}

// enter goes to the outermost place of the frame that stacks are to begin with, and reports whether there is one.
func (t *callTree) enter(s *strand, stack profile.Stack) bool {
	for i := stack.Len() - 1; i >= 0; i-- {
		l := stack.At(i)
		if only := t.table.only[l]; only >= 0 && only != t.from {
			continue
		}
		frames := t.table.of(l)
		line := slices.Index(frames, t.from)
		switch {
		case line < 0:
			continue
		case t.inverted:
			*s = strand{left: uint32(stack.Len() - i), line: uint32(len(frames) - 1 - line)}
		default:
			*s = strand{left: uint32(i + 1), line: uint32(line)}
		}
		return true
	}
	return false
}

// take takes the next frame off s and says whether it is inlined.
func (t *callTree) take(s *strand, stack profile.Stack) (frame int32, inline bool) {
	l := t.location(s, stack)
	if f := t.table.only[l]; f >= 0 {
		s.left--
		t.skip(s, stack)
		return f, false
	}
	frames := t.table.of(l)
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
		if t.sums[to].weight > 0 { // else it has no samples in this selection
			out = append(out, to)
		}
	}
	slices.SortFunc(out, func(i, j uint32) int {
		a, b := &t.nodes[i], &t.nodes[j]
		if c := cmp.Compare(t.sums[j].weight, t.sums[i].weight); c != 0 {
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
