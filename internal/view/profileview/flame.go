package profileview

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// What a flame shows unless told otherwise. Less than half a thousandth of a picture is less than a pixel, and
// programs that read a flame get into trouble when it is nested too deeply.
const (
	minFlameShare = 0.0005
	maxFlameCalls = 10_000
	maxFlameDepth = 2_000
)

// Flame shows the cost of each call in its context: the frames below a frame are its callees there. With a base, it also
// shows the costs in the base.
func Flame(in []*recording.Recording, q query.Query) (report.Report, error) {
	f, err := NewFlames(in, q)
	if err != nil {
		return nil, err
	}
	return f.Flame(q)
}

// Flames answers several queries about one calling-context tree, such as when a user zooms in. It is safe for concurrent
// use.
type Flames struct {
	head       report.Head
	before     *report.Head
	callers    bool // the tree is of what calls one function
	normalized bool
	whole      int64
	scaled     func(int64) int64 // values of the base

	source *profile.Profile // of the samples in the tree, which may have the cycles of its calls once
	asked  string           // the query, but for its steps and what does not matter for the tree

	asking  atomic.Int32 // how many wait for mu
	mu      sync.Mutex
	tree    *calls.Tree
	deep    float64     // the least share of the whole that Deepen has opened all calls of; 0 is none
	glance  *calls.Tree // of wide calls, before the tree is grown; or nil
	share   float64     // of the whole, of the thinnest calls of glance
	origins []report.Origin
	named   []profile.Function
	where   func(function string) report.FlamePlace // they are
}

// NewFlames returns the tree that q asks for. Root, Limit and Min don't matter yet. When all that the steps do is
// to select samples, and known has the tree of more of them, that takes little time.
func NewFlames(in []*recording.Recording, q query.Query, known ...*Flames) (*Flames, error) {
	f := &Flames{asked: TreeKey(q)}
	var before []int64
	ratio := 1.0
	all := q
	all.Collapse = false // which takes time, and a known tree has it done
	a, s, err := askSides(in, all)
	if err != nil {
		return nil, err
	}
	if s != nil {
		f.before, f.normalized, f.scaled = &s.headBefore, s.normalized, s.scaled
		before, ratio = s.p.Values(s.before), s.ratio
	}
	if f.head = a.head; before == nil && !a.Mean {
		for _, k := range known {
			if k.asked == f.asked {
				f.tree = k.selection(a.Measure)
			}
			if f.tree != nil {
				f.origins, f.source = k.origins, k.source
				break
			}
		}
	}
	f.named, f.where = a.named, nil
	for _, k := range known {
		if len(k.named) > 0 && len(k.named) == len(f.named) && &k.named[0] == &f.named[0] {
			f.where = k.where
		}
	}
	if f.where == nil {
		f.where = whereOf(f.named)
	}
	if f.tree == nil {
		f.source = a.Profile
		if a.Profile, err = collapsed(a.Profile, q); err != nil {
			return nil, err
		}
		t, err := a.callTree("flame")
		if err != nil {
			return nil, err
		}
		t.Before, t.Ratio = before, ratio
		t.Inverted = q.Invert
		f.tree, f.origins = t, a.origins(t.Table)
	}
	if p := in[0].Profile; len(in) == 1 {
		f.whole = calls.Measure{Profile: p, Type: a.Type}.Total()
	} else {
		f.whole = a.head.Total
	}
	return f, nil
}

// TreeKey returns a key that is the same for queries whose trees differ at most in their samples.
func TreeKey(q query.Query) string {
	q.Steps, q.Root, q.Depth, q.Limit, q.Min, q.Gone = nil, "", 0, 0, 0, false
	return q.URL()
}

// selection returns the tree of those samples of f that m has, or nil if m has others.
func (f *Flames) selection(m calls.Measure) *calls.Tree {
	f.lock()
	defer f.mu.Unlock()
	if f.tree.Nodes == nil || f.tree.Before != nil {
		return nil
	}
	samples := m.Profile.SelectedFrom(f.source)
	if samples == nil {
		return nil
	}
	return f.tree.Selection(samples)
}

// Open opens all calls with at least a share of the total, so that the first answer is fast.
func (f *Flames) Open(share float64) {
	f.lock()
	defer f.mu.Unlock()
	f.tree.Find("", share) // the root is always there
}

// Glance finds the calls with at least a share of the total, so that answers about wide calls do not wait for the others.
func (f *Flames) Glance(share float64) {
	f.lock()
	defer f.mu.Unlock()
	if f.tree.Nodes == nil && (f.glance == nil || f.share > share) {
		f.glance, f.share = f.tree.Glance(share), share
	}
}

// manyCalls is how many calls there may be that nobody has asked for yet. A call takes some 100 bytes.
const manyCalls = 1 << 18

// Deepen opens the calls that weigh at least a share of the whole, the heaviest first: whoever zooms in or filters will want
// them. It ends early when enough says so, when somebody asks for something, and when there are many. It reports whether all
// that weigh so much are open.
func (f *Flames) Deepen(share float64, enough func() bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.tree
	if t.Nodes == nil {
		return false
	}
	if f.deep > 0 && share >= f.deep {
		return true
	}
	open := max(1, int64(float64(t.Sums[calls.RootCall].Weight)*share))
	closed := t.Closed(calls.RootCall, open)
	slices.SortFunc(closed, func(a, b uint32) int { return cmp.Compare(t.Sums[a].Weight, t.Sums[b].Weight) })
	left := false
	t.OpenCalls(closed, open, func() bool {
		left = left || len(t.Nodes) > manyCalls || f.asking.Load() > 0 || enough()
		return left
	})
	if !left {
		f.deep = share
	}
	return !left
}

// lock waits for the tree. What is done to it ahead ends at once.
func (f *Flames) lock() {
	f.asking.Add(1)
	f.mu.Lock()
	f.asking.Add(-1)
}

// Flame shows the part of the tree that q asks for. It takes the heaviest call first, wherever it is, so that a limit
// leaves the most important part. What is left out stays in the cum of its callers. Shares are of the root that is
// shown.
func (f *Flames) Flame(q query.Query) (*report.Flame, error) {
	f.lock()
	defer f.mu.Unlock()
	limits := (&question{query: q}).trim(maxFlameCalls, minFlameShare, 0)
	if f.glance != nil && f.tree.Nodes == nil && q.Root == "" && q.Depth == 0 && limits.Min >= f.share {
		return f.cut(f.glance, q, limits)
	}
	f.glance = nil
	return f.cut(f.tree, q, limits)
}

// cut returns the part of a tree that q asks for within limits, while f is locked.
func (f *Flames) cut(t *calls.Tree, q query.Query, limits calls.Trim) (*report.Flame, error) {
	out := &report.Flame{
		Head: f.head, Whole: f.whole, Before: f.before, Normalized: f.normalized, Inverted: t.Inverted,
	}
	open := limits.Min
	if q.Depth > 0 {
		open = 1 // the levels below are opened one by one
	}
	root := uint32(calls.RootCall)
	if t != f.glance {
		var err error
		if root, err = t.Find(q.Root, open); err != nil {
			return nil, err
		}
	}
	out.Below = int64(float64(t.Sums[root].Weight) * limits.Min)
	for at := root; at != calls.RootCall; at = t.Nodes[at].Parent {
		out.Path = append(out.Path, *f.node(t, at, q.Gone))
	}
	slices.Reverse(out.Path)
	out.FlameTree = report.FlameTree{Root: f.node(t, root, q.Gone), Where: f.where}
	most := maxFlameDepth
	if q.Depth > 0 {
		most = min(q.Depth, most)
		f.openLevels(root, most, limits.Nodes)
	}
	var queue flameQueue
	deep, seq := 0, 0
	leave := func(parent *report.FlameNode, at uint32) {
		parent.Left.Add(f.origins[t.Nodes[at].Frame], f.width(t, at, q.Gone))
	}
	add := func(at uint32, to *report.FlameNode, depth int) {
		below := t.Calls(at)
		to.Calls = len(below)
		for _, b := range below {
			switch {
			case depth == q.Depth && q.Depth > 0:
				leave(to, b)
			case t.Sums[b].Weight < out.Below:
				out.Dropped++
				leave(to, b)
			case depth == maxFlameDepth:
				deep++
				leave(to, b)
			default:
				queue.push(pending{call: b, weight: t.Sums[b].Weight, parent: to, depth: depth + 1, seq: seq})
				seq++
			}
		}
	}
	add(root, out.Root, 0)
	for len(queue) > 0 && (limits.Nodes == 0 || out.Shown < limits.Nodes) {
		next := queue.pop()
		n := f.node(t, next.call, q.Gone)
		next.parent.Children = append(next.parent.Children, n)
		out.Shown++
		add(next.call, n, next.depth)
	}
	out.Of = out.Shown + len(queue)
	for _, p := range queue {
		leave(p.parent, p.call)
	}
	out.Accounted = out.Root.Cum // of which what is left out is a part
	if deep > 0 {
		out.Notes = slices.Clip(out.Notes)
		out.Notes.Add("stacks are cut below ", maxFlameDepth, " frames, where they make ", deep, " more calls; ", hint.Option{Name: "show-from"}, " starts them further down")
	}
	return out, nil
}

// node returns a call as it is reported, without those below.
func (f *Flames) node(t *calls.Tree, at uint32, gone bool) *report.FlameNode {
	c, s := &t.Nodes[at], &t.Sums[at]
	flat := c.Flat
	if t.Inverted { // the samples that end here are those of the function at the other end of the stack
		flat = calls.Sum{}
		if at != calls.RootCall && c.Parent == calls.RootCall && !f.callers {
			flat = *s
		}
	}
	n := &report.FlameNode{Inline: c.Inline(), Flat: flat.Value, Cum: s.Value}
	if at != calls.RootCall {
		n.Frame, n.Number, n.Origin = t.Table.Frames[c.Frame], c.Frame+1, f.origins[c.Frame]
	}
	if t.Before != nil {
		n.Before = &report.Cost2{Flat: f.scaled(flat.Before), Cum: f.scaled(s.Before)}
		if gone {
			n.Width = s.Width
		}
	} else if s.Weight != unit.Abs(s.Value) {
		n.Width = s.Weight // samples that cancel each other out are still there to be seen
	}
	return n
}

// width returns how wide a call is painted.
func (f *Flames) width(t *calls.Tree, at uint32, gone bool) int64 {
	switch s := &t.Sums[at]; {
	case t.Before == nil:
		return s.Weight
	case gone:
		return s.Width
	default:
		return unit.Abs(s.Value)
	}
}

// A pending call is not yet below its parent.
type pending struct {
	call   uint32
	weight int64
	parent *report.FlameNode
	depth  int
	seq    int // in the order of their coming
}

// before reports whether a call has precedence over another one.
func (p *pending) before(other *pending) bool {
	if p.weight != other.weight {
		return p.weight > other.weight
	}
	return p.seq < other.seq
}

// A flameQueue gives out the heaviest call first. It is a heap; that of the standard library takes twice as long, and this
// is done for each box of a picture.
type flameQueue []pending

func (q *flameQueue) push(p pending) {
	h := append(*q, p)
	i := len(h) - 1
	for i > 0 && p.before(&h[(i-1)/2]) {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = p
	*q = h
}

func (q *flameQueue) pop() pending {
	h := *q
	first, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	*q = h
	for i := 0; len(h) > 0; {
		to := 2*i + 1
		if to+1 < len(h) && h[to+1].before(&h[to]) {
			to++
		}
		if to >= len(h) || last.before(&h[to]) {
			h[i] = last
			break
		}
		h[i] = h[to]
		i = to
	}
	return first
}

// callTree returns the tree of calls that the query asks for.
func (a *question) callTree(view string) (*calls.Tree, error) {
	table, err := a.table()
	if err != nil {
		return nil, err
	}
	return a.callTreeOf(view, table)
}

// callTreeOf returns the tree of the calls of frames.
func (a *question) callTreeOf(view string, table *calls.FrameTable) (*calls.Tree, error) {
	if a.Mean {
		return nil, errors.New(view + ": means of calls do not add up to the mean of their caller; drop mean")
	}
	return calls.NewTree(a.Measure, table, calls.IsCoarse(a.query.By)), nil
}

// table returns the frames of what was asked about, as fine as that was asked.
func (a *question) table() (*calls.FrameTable, error) {
	d, err := calls.DetailOf(a.query)
	if err != nil {
		return nil, err
	}
	return calls.NewFrameTable(a.Profile, d, calls.PathTrimmer(a.query)), nil
}
