package view

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"slices"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// What a flame shows unless told otherwise. Less than half a thousandth of a picture is less than a pixel, and
// programs that read a flame get into trouble when it is nested too deeply.
const (
	minFlameShare = 0.0005
	maxFlameCalls = 10_000
	maxFlameDepth = 2_000
)

// Flame shows what each call costs in its context: the frames below a frame are those that it calls there.
//
// It takes the heaviest call first, wherever it is, so that a limit leaves the most important part. What is left out
// stays in the cum of its callers.
func Flame(in []*recording.Recording, q query.Query) (report.Report, error) {
	a, err := ask(in, q)
	if err != nil {
		return nil, err
	}
	t, err := a.callTree("flame")
	if err != nil {
		return nil, err
	}
	limits := a.trim(maxFlameCalls, minFlameShare, 0)
	out := &report.Flame{Head: a.head}
	out.Below = abs(int64(float64(a.head.Total) * limits.min))

	root := t.root()
	out.Root = &report.FlameNode{Cum: root.cum}
	queue := &flameQueue{}
	deep := 0
	add := func(c *call, to *report.FlameNode, depth int) {
		below := t.expand(c)
		to.Flat = c.flat
		out.Accounted += c.flat
		t.sortByWeight(below)
		for i := range below {
			switch {
			case below[i].weight < out.Below:
				out.Dropped++
			case depth == maxFlameDepth:
				deep++
			default:
				heap.Push(queue, &pending{call: &below[i], parent: to, depth: depth + 1, seq: queue.seq})
				queue.seq++
			}
		}
	}
	add(root, out.Root, 0)
	for queue.Len() > 0 && (limits.nodes == 0 || out.Shown < limits.nodes) {
		next := heap.Pop(queue).(*pending)
		n := &report.FlameNode{Frame: t.table.frames[next.frame], Inline: next.inline, Cum: next.cum}
		next.parent.Children = append(next.parent.Children, n)
		out.Shown++
		add(next.call, n, next.depth)
	}
	out.Of = out.Shown + queue.Len()
	if deep > 0 {
		out.Notes = append(slices.Clip(out.Notes), fmt.Sprintf(
			"stacks are cut below %d frames, where they make %d more calls; show-from starts them further down", maxFlameDepth, deep))
	}
	return out, nil
}

// A pending call waits for being put below its parent.
type pending struct {
	*call
	parent *report.FlameNode
	depth  int
	seq    int // in the order of their coming
}

// A flameQueue gives out the heaviest call first.
type flameQueue struct {
	list []*pending
	seq  int
}

func (q *flameQueue) Len() int { return len(q.list) }
func (q *flameQueue) Less(i, j int) bool {
	a, b := q.list[i], q.list[j]
	if a.weight != b.weight {
		return a.weight > b.weight
	}
	return a.seq < b.seq
}
func (q *flameQueue) Swap(i, j int) { q.list[i], q.list[j] = q.list[j], q.list[i] }
func (q *flameQueue) Push(x any)    { q.list = append(q.list, x.(*pending)) }
func (q *flameQueue) Pop() any {
	last := q.list[len(q.list)-1]
	q.list = q.list[:len(q.list)-1]
	return last
}

// callTree returns the tree of calls that the query asks for.
func (a *question) callTree(view string) (*callTree, error) {
	if a.mean {
		return nil, errors.New(view + ": means of calls do not add up to that of their caller; leave mean out")
	}
	d, err := detailOf(a.query)
	if err != nil {
		return nil, err
	}
	table := newFrameTable(a.p, d, pathTrimmer(a.query.TrimPath, a.query.SourcePath))
	return newCallTree(a.measure, table, isCoarse(a.query.By)), nil
}

// isCoarse reports whether frames stand for so much that calls within one say nothing.
func isCoarse(by string) bool { return by == "file" || by == "package" || by == "module" }

// A callTree is the calling-context tree of a profile in terms of frames. Contexts that differ in what the frames do
// not tell are one in it. It is made call by call as it is looked at, so parts that nobody looks at cost nothing.
type callTree struct {
	p        *profile.Profile
	table    *frameTable
	collapse bool // a frame that calls itself is one

	own    []int64  // what the samples that end at each context sum up to
	sum    []int64  // own with all that is below
	weight []int64  // the same for the magnitudes of own
	end    []uint32 // of each context: the first context after it that is not below it

	texts []string // by frame, once needed

	// Scratch of expand.
	slot   []int32 // by frame: 1 + its place among the calls that are being collected
	spots  []spot
	to     []int32 // the call that each spot belongs to
	counts []int32 // of spots by call
}

// A call is a frame below another one, or at the root.
type call struct {
	frame       int32
	inline      bool // in all places
	cum, weight int64
	flat        int64 // once the call is expanded
	at          []spot
}

// A spot is a place in a stack that has a frame: that of a line, counted from the outermost, of a location in the
// run of a context.
type spot struct {
	context   uint32
	run, line int32
}

func newCallTree(m measure, table *frameTable, collapse bool) *callTree {
	t := &callTree{p: m.p, table: table, collapse: collapse, slot: make([]int32, len(table.frames))}
	t.own = m.byContext()
	t.sum = slices.Clone(t.own)
	t.weight = t.sum
	signed := slices.ContainsFunc(t.own, func(v int64) bool { return v < 0 })
	if signed {
		// Samples that cancel each other out are still there to be seen.
		t.weight = make([]int64, len(t.own))
		for c, v := range t.own {
			t.weight[c] = abs(v)
		}
	}
	t.end = make([]uint32, len(t.own))
	t.end[profile.Root] = uint32(len(t.own))
	for c := uint32(len(t.own)) - 1; c > profile.Root; c-- {
		parent := m.p.Parent(c)
		t.end[c] = max(t.end[c], c+1)
		t.end[parent] = max(t.end[parent], t.end[c])
		t.sum[parent] += t.sum[c]
		if signed {
			t.weight[parent] += t.weight[c]
		}
	}
	return t
}

// root returns the empty stack, which calls all outermost frames.
func (t *callTree) root() *call {
	return &call{frame: -1, cum: t.sum[profile.Root], weight: t.weight[profile.Root], at: []spot{{context: profile.Root}}}
}

// expand returns the calls that c makes and finds out what c costs by itself. A call can be expanded once.
func (t *callTree) expand(c *call) []call {
	var calls []call
	t.spots, t.to, t.counts = t.spots[:0], t.to[:0], t.counts[:0]
	meet := func(s spot) {
		f := t.frame(s)
		if t.collapse && f == c.frame {
			c.at = append(c.at, s)
			return
		}
		k := t.slot[f] - 1
		if k < 0 {
			k = int32(len(calls))
			t.slot[f] = k + 1
			calls = append(calls, call{frame: f, inline: true})
			t.counts = append(t.counts, 0)
		}
		to := &calls[k]
		to.cum += t.sum[s.context]
		to.weight += t.weight[s.context]
		to.inline = to.inline && s.line > 0
		t.spots, t.to = append(t.spots, s), append(t.to, k)
		t.counts[k]++
	}
	for i := 0; i < len(c.at); i++ { // grows when frames collapse
		t.after(c, c.at[i], meet)
	}
	c.at = nil

	// All spots get their place in one piece of memory.
	room := make([]spot, len(t.spots))
	for k := range calls {
		n := t.counts[k]
		calls[k].at, room = room[:0:n], room[n:]
		t.slot[calls[k].frame] = 0
	}
	for i, k := range t.to {
		calls[k].at = append(calls[k].at, t.spots[i])
	}
	return calls
}

// after calls meet for what comes right after s on the stacks through it, and adds what ends there to c.
func (t *callTree) after(c *call, s spot, meet func(spot)) {
	if s.context != profile.Root {
		run := t.p.Run(s.context)
		if int(s.line)+1 < len(t.table.of(run[s.run])) {
			meet(spot{s.context, s.run, s.line + 1})
			return
		}
		if next := t.visible(run, s.run+1); next >= 0 {
			meet(spot{s.context, next, 0})
			return
		}
	}
	c.flat += t.own[s.context]
	for d := s.context + 1; d < t.end[s.context]; {
		if t.weight[d] == 0 {
			d = t.end[d]
			continue
		}
		if first := t.visible(t.p.Run(d), 0); first >= 0 {
			meet(spot{d, first, 0})
			d = t.end[d]
			continue
		}
		c.flat += t.own[d] // nothing of d can be seen, so its samples end here too
		d++
	}
}

// visible returns the first place in run, from place i on, that has frames, or -1.
func (t *callTree) visible(run []uint32, i int32) int32 {
	for ; int(i) < len(run); i++ {
		if len(t.table.of(run[i])) > 0 {
			return i
		}
	}
	return -1
}

func (t *callTree) frame(s spot) int32 { return t.table.of(t.p.Run(s.context)[s.run])[s.line] }

// sortByWeight sorts calls heaviest first.
func (t *callTree) sortByWeight(calls []call) {
	slices.SortFunc(calls, func(a, b call) int {
		if c := cmp.Compare(b.weight, a.weight); c != 0 {
			return c
		}
		return cmp.Or(
			cmp.Compare(t.text(a.frame), t.text(b.frame)),
			cmp.Compare(a.frame, b.frame),
		)
	})
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
