package calls

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/unit"
)

// A Tree is the calling-context tree of a profile in terms of frames, as far as somebody looked.
//
// Samples are put in from the root. They go down through the calls that are open and wait at the first one that is
// not; a call opens when what waits there weighs enough to be looked at. So each stack is read about once, from start
// to end, while it is in the cache, and calls thinner than a pixel, which are nearly all, are never made.
// Sorting all samples level by level instead reads each stack once a level: that took three times as long and more.
type Tree struct {
	Profile  *profile.Profile
	Table    *FrameTable
	picked   profile.SampleSet // the samples that may be in the tree; nil is all
	Values   []int64           // of each sample
	Before   []int64           // of each sample on the other side of a diff, or nil
	Ratio    float64           // by which before is scaled
	Collapse bool              // a frame that calls itself is one
	Inverted bool              // callees above their callers
	positive bool              // each sample weighs its value, and there are no values before
	partial  bool              // stacks begin at starts; else at their outermost frames
	starts   []start
	samples  []uint32 // by number in the tree, where several samples are one there; nil where each is itself

	Nodes   []Call
	Sums    []Sum   // by call, once the tree has grown
	Entries []Entry // the samples that count, by the call where they rest

	Texts []string // by frame, once needed
}

// A Call is a frame below another one, or at the root. Calls are known by their number in the tree; those below come
// after those above.
type Call struct {
	Frame       int32
	Parent      uint32
	child, next uint32 // the first call below and the next one beside; 0 is none
	First, End  uint32 // the entries that wait here or, once it is open, those that end here
	Opened      bool
	met
	Flat Sum // of the same
}

// A met says how a call was met.
type met struct{ Called, Inlined bool }

func (m *met) add(inlined bool) {
	if inlined {
		m.Inlined = true
	} else {
		m.Called = true
	}
}

// Inline reports whether a call is inlined in all places.
func (c *Call) Inline() bool { return !c.Called }

// A Sum is what samples come to.
type Sum struct {
	Value, Weight int64 // of their values, and of the magnitudes of those on both sides
	Before        int64 // of their values before
	Width         int64 // of the larger magnitude of both sides
}

func (s *Sum) add(o *Sum) {
	s.Value += o.Value
	s.Before += o.Before
	s.weigh(o.Weight, o.Width)
}

// weigh adds magnitudes. What is too heavy stays so.
func (s *Sum) weigh(weight, width int64) {
	if s.Weight += weight; s.Weight < 0 {
		s.Weight = math.MaxInt64
	}
	if s.Width += width; s.Width < 0 {
		s.Width = math.MaxInt64
	}
}

// anyFrame is no frame.
const anyFrame = -1

// The root is the empty stack, which calls all outermost frames.
const RootCall = 0

// An Entry is a sample in the tree and what is left of its stack below the call where it rests.
type Entry struct {
	Sample uint32
	strand
}

// A strand is what is left of the stack of a sample from some frame on.
type strand struct {
	Left uint32 // locations; 0 is the end
	line uint32 // lines of the next location that have been passed
}

func NewTree(m Measure, table *FrameTable, collapse bool) *Tree {
	return &Tree{Profile: m.Profile, Table: table, Values: m.Profile.Values(m.Type), Collapse: collapse, Ratio: 1}
}

// grow puts all samples into the tree and opens the calls that weigh at least a share of the whole. When enough, which may be nil, says so
// before that is done, there is no tree, and grow returns false. With enough it takes one core.
func (t *Tree) grow(share float64, enough func() bool) bool {
	sum := t.enter()
	if !t.growFrom(leastOf(sum, share), enough) {
		t.Nodes = nil
		return false
	}
	t.addUp()
	return true
}

// enter puts all samples that count at the root, and returns what they come to.
func (t *Tree) enter() Sum {
	sum := t.enterAll()
	t.positive = t.Before == nil && sum.Value == sum.Weight && sum.Weight < math.MaxInt64
	return sum
}

// enterAll puts all samples that count at the root, and returns what they come to.
func (t *Tree) enterAll() (all Sum) {
	if t.partial {
		t.Entries = make([]Entry, len(t.starts))
		for i := range t.Entries {
			from := &t.starts[i]
			t.Entries[i] = Entry{from.sample, from.strand(t.Inverted)}
			t.Add(&all, from.sample)
		}
		return all
	}
	t.Entries = make([]Entry, len(t.Values))
	var mu sync.Mutex
	some := false // do not count
	inParts(len(t.Entries), func() func(from, to int) {
		var stack profile.Stack
		return func(from, to int) {
			var sum Sum
			none := false
			for i := from; i < to; i++ {
				e := &t.Entries[i]
				if e.Sample = uint32(i); !t.counts(e.Sample) {
					e.Sample, none = nobody, true
					continue
				}
				t.Add(&sum, e.Sample)
				t.begin(e, &stack)
			}
			mu.Lock()
			defer mu.Unlock()
			all.add(&sum)
			some = some || none
		}
	})
	if some {
		t.Entries = slices.DeleteFunc(t.Entries, func(e Entry) bool { return e.Sample == nobody })
	}
	return all
}

// begin reads the stack of an entry that stands at the root.
func (t *Tree) begin(e *Entry, stack *profile.Stack) {
	t.Profile.ReadStack(int(e.Sample), stack)
	e.strand = strand{Left: uint32(stack.Len())}
	t.skip(&e.strand, stack)
}

// weigh returns what all samples that count come to.
func (t *Tree) weigh() (all Sum) {
	for i := range t.Values {
		t.Add(&all, uint32(i)) // the others are 0
	}
	t.positive = t.Before == nil && all.Value == all.Weight && all.Weight < math.MaxInt64
	return all
}

// nobody is no sample.
const nobody = math.MaxUint32

// counts reports whether a sample costs anything.
func (t *Tree) counts(sample uint32) bool {
	return t.Values[sample] != 0 || t.Before != nil && t.Before[sample] != 0
}

// Find returns the call that path leads to, with all below it open that weighs at least a share of it.
func (t *Tree) Find(path string, share float64) (uint32, error) {
	if t.Nodes == nil {
		t.grow(share, nil)
	}
	at, ok := t.Follow(RootCall, path)
	if !ok {
		return 0, fmt.Errorf("no call %s", path)
	}
	open := leastOf(t.Sums[at], share)
	t.OpenCalls(t.Closed(at, open), open, nil)
	return at, nil
}

// FindAhead opens all calls that weigh at least a share of the whole before anybody asks, on one core. It returns false, and leaves no
// tree, when enough says so before it is done.
func (t *Tree) FindAhead(share float64, enough func() bool) bool {
	return t.Nodes != nil || t.grow(share, enough)
}

// leastOf returns what weighs a share of a sum.
func leastOf(s Sum, share float64) int64 { return max(1, int64(float64(s.Weight)*share)) }

// Closed returns the calls from one on down that weigh at least so much and are not open.
func (t *Tree) Closed(at uint32, weight int64) []uint32 {
	var found []uint32
	for todo := []uint32{at}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch {
		case t.Sums[at].Weight < weight:
		case !t.Nodes[at].Opened:
			found = append(found, at)
		default:
			for to := t.Nodes[at].child; to != 0; to = t.Nodes[to].next {
				todo = append(todo, to)
			}
		}
	}
	return found
}

// Follow returns the call that path leads to from another one. Names may hold semicolons, too, and calls beside each
// other may read the same, so that there can be several ways to try.
func (t *Tree) Follow(at uint32, path string) (uint32, bool) {
	if path == "" {
		return at, true
	}
	if !t.Nodes[at].Opened {
		t.OpenCalls([]uint32{at}, math.MaxInt64, nil)
	}
	var ways []uint32
	for _, b := range t.Calls(at) {
		if after, ok := strings.CutPrefix(path, t.Text(t.Nodes[b].Frame)); ok && (after == "" || after[0] == ';') {
			ways = append(ways, b)
		}
	}
	slices.SortStableFunc(ways, func(a, b uint32) int {
		return cmp.Compare(len(t.Text(t.Nodes[b].Frame)), len(t.Text(t.Nodes[a].Frame)))
	})
	for _, b := range ways {
		if to, ok := t.Follow(b, strings.TrimPrefix(path[len(t.Text(t.Nodes[b].Frame)):], ";")); ok {
			return to, true
		}
	}
	return 0, false
}

// addUp adds up what each call costs with all that is below it.
func (t *Tree) addUp() {
	t.Sums = slices.Grow(t.Sums[:0], len(t.Nodes))[:len(t.Nodes)]
	for i := range t.Nodes {
		t.Sums[i] = t.Nodes[i].Flat
	}
	t.passUp()
}

// passUp adds the sum of each call to those of its callers.
func (t *Tree) passUp() {
	for i := len(t.Nodes) - 1; i > RootCall; i-- {
		t.Sums[t.Nodes[i].Parent].add(&t.Sums[i])
	}
}

// readStack makes s the stack of a sample in the tree.
func (t *Tree) readStack(sample uint32, s *profile.Stack) {
	if t.samples != nil {
		sample = t.samples[sample]
	}
	t.Profile.ReadStack(int(sample), s)
}

// Add adds a sample to a sum.
func (t *Tree) Add(s *Sum, sample uint32) {
	v := t.Values[sample]
	s.Value += v
	if t.Before == nil {
		s.weigh(unit.Abs(v), 0)
		return
	}
	b := t.Before[sample]
	s.Before += b
	if b != 0 && t.Ratio != 1 {
		b = int64(math.Round(float64(b) * t.Ratio))
	}
	s.weigh(addSat(unit.Abs(v), unit.Abs(b)), max(unit.Abs(v), unit.Abs(b)))
}

// location returns the next location of s.
func (t *Tree) location(s *strand, stack *profile.Stack) uint32 {
	if t.Inverted {
		return stack.At(stack.Len() - int(s.Left))
	}
	return stack.At(int(s.Left) - 1)
}

// skip passes locations that have no frames.
func (t *Tree) skip(s *strand, stack *profile.Stack) {
	for t.Table.gaps && s.Left > 0 && len(t.Table.Of(t.location(s, stack))) == 0 {
		s.Left--
	}
}

// take takes the next frame off s and says whether it is inlined.
func (t *Tree) take(s *strand, stack *profile.Stack) (frame int32, inline bool) {
	l := t.location(s, stack)
	if f := t.Table.only[l]; f >= 0 {
		s.Left--
		t.skip(s, stack)
		return f, false
	}
	frames := t.Table.Of(l)
	i := int(s.line)
	if t.Inverted {
		i = len(frames) - 1 - i
	}
	if s.line++; int(s.line) == len(frames) {
		s.line = 0
		s.Left--
		t.skip(s, stack)
	}
	return frames[i], t.Table.Inlines(i)
}

// next takes the frame below another one off s and says whether it is inlined, or ok is false at the end.
func (t *Tree) next(above int32, s *strand, stack *profile.Stack) (frame int32, inline, ok bool) {
	for s.Left > 0 {
		if frame, inline = t.take(s, stack); !t.Collapse || frame != above {
			return frame, inline, true
		}
	}
	return 0, false, false
}

// Calls returns the calls below one that is open, heaviest first.
func (t *Tree) Calls(at uint32) []uint32 {
	var out []uint32
	for to := t.Nodes[at].child; to != 0; to = t.Nodes[to].next {
		if t.Sums[to].Weight > 0 { // else it has no samples in this selection
			out = append(out, to)
		}
	}
	slices.SortFunc(out, func(i, j uint32) int {
		a, b := &t.Nodes[i], &t.Nodes[j]
		if c := cmp.Compare(t.Sums[j].Weight, t.Sums[i].Weight); c != 0 {
			return c
		}
		return cmp.Or(
			cmp.Compare(t.Text(a.Frame), t.Text(b.Frame)),
			cmp.Compare(a.Frame, b.Frame),
		)
	})
	return out
}

// Text returns what a frame reads as.
func (t *Tree) Text(f int32) string {
	if t.Texts == nil {
		t.Texts = make([]string, len(t.Table.Frames))
	}
	if t.Texts[f] == "" {
		t.Texts[f] = t.Table.Frames[f].String()
	}
	return t.Texts[f]
}
