package view

import (
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/report"
)

// A measure picks the values that a view adds up.
type measure struct {
	p    *profile.Profile
	k    int  // sample type
	mean bool // divide by the first sample type
}

// byContext returns, for each context, the sum over the samples that end there.
func (m measure) byContext() []int64 {
	own := make([]int64, m.p.NumContexts())
	for i, v := range m.p.Values(m.k) {
		own[m.p.Context(i)] += v
	}
	return own
}

// sample returns the weight of sample i, and whether it counts at all.
func (m measure) sample(i int) (w weight, live bool) {
	w.v = m.p.Values(m.k)[i]
	if m.mean {
		w.div = m.p.Values(0)[i]
	}
	return w, w.v != 0 || w.div != 0
}

// total returns the sum of the magnitudes of all values. If some samples are marked as the base of a difference, it
// is the sum over those.
func (m measure) total() int64 {
	values := m.p.Values(m.k)
	base := make([]bool, len(m.p.LabelSets()))
	for i, s := range m.p.LabelSets() {
		base[i] = s.Has(BaseLabel, "true")
	}
	var sum, div, baseSum, baseDiv int64
	for i, v := range values {
		if v < 0 {
			v = -v
		}
		var d int64
		if m.mean {
			d = m.p.Values(0)[i]
		}
		sum += v
		div += d
		if base[m.p.Label(i)] {
			baseSum += v
			baseDiv += d
		}
	}
	if baseSum > 0 {
		sum, div = baseSum, baseDiv
	}
	if div != 0 {
		return sum / div
	}
	return sum
}

// BaseLabel marks the samples of the base in a profile that is a difference.
const BaseLabel = "pprof::base"

// A node is a frame in a graph under construction.
type node struct {
	*report.Frame
	id     int32 // in the frame table, or of the node of a tree
	parent int   // node above in a tree, or -1

	flat, flatDiv, cum, cumDiv int64
	in, out                    []*edge
	tags                       tagMap            // by text
	numbers                    map[string]tagMap // by the text labels beside them, then by text

	name string // printable, once needed
}

func (n *node) flatValue() int64 { return per(n.flat, n.flatDiv) }
func (n *node) cumValue() int64  { return per(n.cum, n.cumDiv) }

func per(v, div int64) int64 {
	if div == 0 {
		return v
	}
	return v / div
}

func (n *node) printable() string {
	if n.name == "" {
		n.name = n.Frame.String()
	}
	return n.name
}

// An edge is the calls from one node to another.
type edge struct {
	from, to    *node
	weight, div int64
	inline      bool
	residual    bool // some calls went through frames that are not in the graph
	gone        bool
}

func (e *edge) value() int64 { return per(e.weight, e.div) }

// A graph is frames with their costs and calls.
type graph struct {
	nodes []*node // those listed
	all   []*node // by frame; nil for those left out
}

// A weight is a sum of samples.
type weight struct{ v, div int64 }

// A builder makes graphs of one profile with more and more frames left out.
type builder struct {
	measure
	table        *frameTable
	dropNegative bool

	flat, cum       []weight // by frame
	inlined, called []bool   // by frame, whether it was met inlined into another, and whether it was met called
}

// costs adds up what each frame costs, by itself and with what it calls.
func (b *builder) costs() {
	n := len(b.table.frames)
	b.flat, b.cum = make([]weight, n), make([]weight, n)
	b.inlined, b.called = make([]bool, n), make([]bool, n)
	flat, sums := b.column(b.p.Values(b.k))
	for f, t := range sums {
		b.flat[f].v, b.cum[f].v = flat[f], t.cum
		b.inlined[f], b.called[f] = t.inlined, t.called
	}
	if b.mean {
		flat, sums := b.column(b.p.Values(0))
		for f, t := range sums {
			b.flat[f].div, b.cum[f].div = flat[f], t.cum
		}
	}
}

// A tally is what is added up for every frame of a stack. It is small, and in one place in memory, since reaching
// for it is what adding up costs.
type tally struct {
	cum             int64
	seen            uint32 // 1 + the sample in which the frame was last met
	inlined, called bool
}

// column adds up one column of values by frame.
func (b *builder) column(values []int64) (flat []int64, sums []tally) {
	t := b.table
	flat, sums = make([]int64, len(t.frames)), make([]tally, len(t.frames))
	var stack []uint32
	for i, v := range values {
		if v == 0 {
			continue
		}
		stack = b.p.Stack(i, stack[:0])
		now := uint32(i) + 1
		leaf := int32(-1)
		for _, l := range stack {
			if f := t.only[l]; f >= 0 {
				s := &sums[f]
				// A recursive function is on the stack several times but the time passed once.
				if s.seen != now {
					s.seen = now
					s.cum += v
				}
				s.called = true
				if leaf < 0 {
					leaf = f
				}
				continue
			}
			frames := t.of(l)
			for j, f := range frames {
				s := &sums[f]
				if s.seen != now {
					s.seen = now
					s.cum += v
				}
				if j > 0 {
					s.inlined = true
				} else {
					s.called = true
				}
			}
			if leaf < 0 && len(frames) > 0 {
				leaf = frames[len(frames)-1]
			}
		}
		if leaf >= 0 {
			flat[leaf] += v
		}
	}
	return flat, sums
}

// graph returns the graph of the frames in kept, or of all when kept is nil, without its edges.
func (b *builder) graph(kept []bool) *graph {
	g := &graph{all: make([]*node, len(b.table.frames))}
	n := len(b.table.frames)
	if kept != nil {
		n = 0
		for _, k := range kept {
			if k {
				n++
			}
		}
	}
	nodes := make([]node, 0, n)
	for i := range b.table.frames {
		if kept != nil && !kept[i] {
			continue
		}
		nodes = append(nodes, node{
			Frame: &b.table.frames[i], id: int32(i), parent: -1,
			flat: b.flat[i].v, flatDiv: b.flat[i].div, cum: b.cum[i].v, cumDiv: b.cum[i].div,
		})
		n := &nodes[len(nodes)-1]
		g.all[i] = n
		if n.cum == 0 && n.flat == 0 || b.dropNegative && n.negative() {
			continue
		}
		g.nodes = append(g.nodes, n)
	}
	return g
}

// A callFilter says which calls to add: those to and those from certain frames. The zero callFilter is all.
type callFilter struct{ to, from []bool }

// edges adds the calls between the nodes of g that pass the filter.
func (b *builder) edges(g *graph, filter callFilter) {
	x := newCallFinder(g, b.table, filter)
	if x.targets == 0 && x.from == nil {
		return
	}
	var stack []uint32
	for i := range b.p.NumSamples() {
		w, live := b.sample(i)
		if !live {
			continue
		}
		stack = b.p.Stack(i, stack[:0])
		source := false // whether the calls of the nearest kept frame above count
		for at := len(stack) - 1; at >= 0; at-- {
			p := &x.places[stack[at]]
			if p.target || source && p.last >= 0 {
				x.call(stack, at, w, uint32(i)+1)
			}
			if x.from != nil && p.last >= 0 {
				source = x.from[p.last]
			}
		}
	}
}

// A callFinder adds up calls. It knows beforehand which locations matter, since for most questions few do.
type callFinder struct {
	g       *graph
	table   *frameTable
	places  []callPlace // by location
	target  []int32     // by frame: 1 + number among the targets, or 0
	targets int
	from    []bool // by frame, whether calls from it count, too

	// The calls, by number among the kept frames of the caller and number of the target.
	number []int32
	matrix []int32 // 1 + index in calls; nil when it would be too large
	sparse map[uint64]int32
	calls  []*foundCall
}

// A callPlace is what there is to know about a location.
type callPlace struct {
	last   int32 // innermost frame that is kept; noneKept, or noFrames
	gap    bool  // frames that are not kept follow it
	target bool  // calls to or from one of its frames count
}

const (
	noneKept = -1
	noFrames = -2
)

type foundCall struct {
	edge
	seen uint32 // 1 + the sample in which the call was last met
}

func newCallFinder(g *graph, t *frameTable, filter callFilter) *callFinder {
	x := &callFinder{
		g: g, table: t, from: filter.from,
		number: make([]int32, len(g.all)), target: make([]int32, len(g.all)),
	}
	kept := 0
	for f, n := range g.all {
		if n == nil {
			continue
		}
		x.number[f] = int32(kept)
		kept++
		if filter.to == nil || filter.to[f] {
			x.targets++
			x.target[f] = int32(x.targets)
		}
	}
	const maxMatrix = 1 << 22
	if filter.from == nil && kept*x.targets <= maxMatrix {
		x.matrix = make([]int32, kept*x.targets)
	} else {
		x.sparse = make(map[uint64]int32)
	}
	x.places = make([]callPlace, len(t.start)-1)
	for l := range x.places {
		p := callPlace{last: noFrames}
		for _, f := range t.of(uint32(l)) {
			p.target = p.target || x.target[f] != 0 || x.from != nil && x.from[f]
			if g.all[f] != nil {
				p.last, p.gap = f, false
			} else if p.gap = true; p.last == noFrames {
				p.last = noneKept
			}
		}
		x.places[l] = p
	}
	return x
}

// call adds the calls to the frames of stack[at], which is one of sample number now.
func (x *callFinder) call(stack []uint32, at int, w weight, now uint32) {
	above, gap := int32(-1), false // the nearest kept frame above, and whether others follow it
	for _, l := range stack[at+1:] {
		p := &x.places[l]
		gap = gap || p.gap
		if p.last >= 0 {
			above = p.last
			break
		}
	}
	for j, f := range x.table.of(stack[at]) {
		if x.g.all[f] == nil {
			gap = true
			continue
		}
		if above >= 0 && above != f && (x.target[f] != 0 || x.from != nil && x.from[above]) {
			e := x.find(above, f)
			if e.seen != now {
				e.seen = now
				e.weight += w.v
				e.div += w.div
				e.inline = e.inline && j > 0
				e.residual = e.residual || gap
			}
		}
		above, gap = f, false
	}
}

// find returns the call from one frame to another.
func (x *callFinder) find(from, to int32) *foundCall {
	if x.matrix != nil {
		i := &x.matrix[int(x.number[from])*x.targets+int(x.target[to])-1]
		if *i == 0 {
			*i = x.add(from, to)
		}
		return x.calls[*i-1]
	}
	key := uint64(from)<<32 | uint64(to)
	i, ok := x.sparse[key]
	if !ok {
		i = x.add(from, to)
		x.sparse[key] = i
	}
	return x.calls[i-1]
}

// add makes a new call and returns 1 + its index.
func (x *callFinder) add(from, to int32) int32 {
	e := &foundCall{edge: edge{from: x.g.all[from], to: x.g.all[to], inline: true}}
	e.from.out = append(e.from.out, &e.edge)
	e.to.in = append(e.to.in, &e.edge)
	x.calls = append(x.calls, e)
	return int32(len(x.calls))
}

func (n *node) negative() bool { return n.flat < 0 || n.flat == 0 && n.cum < 0 }
