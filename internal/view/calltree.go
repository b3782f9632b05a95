package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/unit"
)

// A callTree is the calling-context tree of a profile in terms of frames, as far as somebody looked.
//
// Samples are put in from the root. They go down through the calls that are open and wait at the first one that is
// not; a call opens when what waits there weighs enough to be looked at. So each stack is read about once, from start
// to end, while it is in the cache, and calls thinner than a pixel, which are nearly all, are never made.
// Sorting all samples level by level instead reads each stack once a level: that took three times as long and more.
type callTree struct {
	p        *profile.Profile
	table    *frameTable
	picked   profile.SampleSet // the samples that may be in the tree; nil is all
	values   []int64           // of each sample
	before   []int64           // of each sample on the other side of a diff, or nil
	ratio    float64           // by which before is scaled
	collapse bool              // a frame that calls itself is one
	inverted bool              // callees above their callers
	from     int32             // stacks begin with the outermost of this frame; anyFrame is that of the stack

	nodes   []call
	sums    []sum   // by call, once the tree has grown
	entries []entry // the samples that count, by the call where they rest

	texts []string // by frame, once needed
}

// A call is a frame below another one, or at the root. Calls are known by their number in the tree; those below come
// after those above.
type call struct {
	frame       int32
	parent      uint32
	child, next uint32 // the first call below and the next one beside; 0 is none
	first, end  uint32 // the entries that wait here or, once it is open, those that end here
	opened      bool
	met
	flat sum // of the same
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
	s.before += o.before
	s.weigh(o.weight, o.width)
}

// weigh adds magnitudes. What is too heavy stays so.
func (s *sum) weigh(weight, width int64) {
	if s.weight += weight; s.weight < 0 {
		s.weight = math.MaxInt64
	}
	if s.width += width; s.width < 0 {
		s.width = math.MaxInt64
	}
}

// anyFrame is no frame.
const anyFrame = -1

// The root is the empty stack, which calls all outermost frames.
const rootCall = 0

// An entry is a sample in the tree and what is left of its stack below the call where it rests.
type entry struct {
	sample uint32
	strand
}

// A strand is what is left of the stack of a sample from some frame on.
type strand struct {
	left uint32 // locations; 0 is the end
	line uint32 // lines of the next location that have been passed
}

func newCallTree(m measure, table *frameTable, collapse bool) *callTree {
	return &callTree{p: m.p, table: table, values: m.p.Values(m.k), collapse: collapse, from: anyFrame, ratio: 1}
}

// grow puts all samples into the tree and opens the calls that weigh at least open.
func (t *callTree) grow(open int64) {
	t.nodes = []call{{frame: anyFrame, opened: true, met: met{called: true}}}
	t.enterAll()
	const many, part = 1 << 14, 32
	todo := []opening{{rootCall, 0, uint32(len(t.entries))}}
	if len(t.entries) > many {
		// Some of the samples tell which calls will open, and a little more. All of them then go through those as many
		// at a time as there are processors, and what is left to do for them is little.
		some := *t
		some.entries = nil
		for i := 0; i < len(t.entries); i += part {
			some.entries = append(some.entries, t.entries[i])
		}
		some.openAll([]opening{{rootCall, 0, uint32(len(some.entries))}}, max(1, open/part/2), nil)
		t.nodes = some.nodes
		for i := range t.nodes {
			c := &t.nodes[i]
			c.first, c.end, c.flat = 0, 0, sum{}
		}
		todo = t.walkAll()
		for at := range t.nodes {
			if c := &t.nodes[at]; !c.opened && c.flat.weight >= open {
				todo = append(todo, t.waiting(uint32(at)))
			}
		}
	}
	t.openAll(todo, open, nil)
	t.addUp()
}

// enterAll puts all samples that count at the root.
func (t *callTree) enterAll() {
	t.entries = make([]entry, len(t.values))
	inParts(len(t.entries), func() func(from, to int) {
		return func(from, to int) {
			for i := from; i < to; i++ {
				e := &t.entries[i]
				if e.sample = uint32(i); !t.enter(e) {
					e.sample = nobody
				}
			}
		}
	})
	t.entries = slices.DeleteFunc(t.entries, func(e entry) bool { return e.sample == nobody })
}

// nobody is no sample.
const nobody = math.MaxUint32

// enter puts a sample at the root and reports whether it counts.
func (t *callTree) enter(e *entry) bool {
	if t.values[e.sample] == 0 && (t.before == nil || t.before[e.sample] == 0) {
		return false
	}
	stack := t.p.StackAt(int(e.sample))
	e.left = uint32(stack.Len())
	t.skip(&e.strand, stack)
	return t.from == anyFrame || t.begin(&e.strand, stack)
}

// find returns the call that path leads to, with all below it open that weighs at least a share of it.
func (t *callTree) find(path string, share float64) (uint32, error) {
	if t.nodes == nil {
		var sum sum
		for i := range t.values {
			t.add(&sum, uint32(i)) // too much when stacks begin with a frame, but that is made up for below
		}
		t.grow(max(1, int64(float64(sum.weight)*share)))
	}
	at, ok := t.follow(rootCall, path)
	if !ok {
		return 0, fmt.Errorf("no call %s", path)
	}
	open := max(1, int64(float64(t.sums[at].weight)*share))
	t.openCalls(t.closed(at, open), open, nil)
	return at, nil
}

// closed returns the calls from one on down that weigh at least so much and are not open.
func (t *callTree) closed(at uint32, weight int64) []uint32 {
	var found []uint32
	for todo := []uint32{at}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch {
		case t.sums[at].weight < weight:
		case !t.nodes[at].opened:
			found = append(found, at)
		default:
			for to := t.nodes[at].child; to != 0; to = t.nodes[to].next {
				todo = append(todo, to)
			}
		}
	}
	return found
}

// follow returns the call that path leads to from another one. Names may hold semicolons, too, and calls beside each
// other may read the same, so that there can be several ways to try.
func (t *callTree) follow(at uint32, path string) (uint32, bool) {
	if path == "" {
		return at, true
	}
	if !t.nodes[at].opened {
		t.openCalls([]uint32{at}, math.MaxInt64, nil)
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

// add adds a sample to a sum.
func (t *callTree) add(s *sum, sample uint32) {
	v := t.values[sample]
	s.value += v
	if t.before == nil {
		s.weigh(unit.Abs(v), 0)
		return
	}
	b := t.before[sample]
	s.before += b
	if b != 0 && t.ratio != 1 {
		b = int64(math.Round(float64(b) * t.ratio))
	}
	s.weigh(addSat(unit.Abs(v), unit.Abs(b)), max(unit.Abs(v), unit.Abs(b)))
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

// begin goes to the outermost place of the frame that stacks are to begin with, and reports whether there is one.
func (t *callTree) begin(s *strand, stack profile.Stack) bool {
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

// next takes the frame below another one off s and says whether it is inlined, or ok is false at the end.
func (t *callTree) next(above int32, s *strand, stack profile.Stack) (frame int32, inline, ok bool) {
	for s.left > 0 {
		if frame, inline = t.take(s, stack); !t.collapse || frame != above {
			return frame, inline, true
		}
	}
	return 0, false, false
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
