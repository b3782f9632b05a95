package view

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/report"
)

// A measure picks the values that a view adds up.
type measure struct {
	p     *profile.Profile
	k     int  // sample type
	mean  bool // divide by the first sample type
	wraps bool // see query.Query
}

// sample returns the weight of sample i, and whether it counts at all.
func (m measure) sample(i int) (w weight, live bool) {
	w.v = m.p.Values(m.k)[i]
	if m.mean {
		w.div = m.p.Values(0)[i]
	}
	return w, w.v != 0 || w.div != 0
}

// total returns the sum of the magnitudes of all values, or the nearest there is. If some samples are marked as the base of a
// difference, it is the sum over those.
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
		sum = m.within(sum + m.within(v))
		div += d
		if base[m.p.Label(i)] {
			baseSum = m.within(baseSum + m.within(v))
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

// within returns a sum of magnitudes, or the nearest there is when it overflowed.
func (m measure) within(sum int64) int64 {
	if sum < 0 && !m.wraps {
		return math.MaxInt64
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
	all   []*node // by frame, as far as they were asked for
	kept  []bool  // by frame, whether it is part of the graph; nil when all are
	costs *builder
	abs   magnitude
}

// keeps reports whether a frame is part of g.
func (g *graph) keeps(f int32) bool { return g.kept == nil || g.kept[f] }

// node returns the node of a frame that is part of g.
func (g *graph) node(f int32) *node {
	if g.all[f] == nil {
		g.all[f] = new(g.costs.node(f))
	}
	return g.all[f]
}

// A weight is a sum of samples.
type weight struct{ v, div int64 }

// A builder makes graphs of one profile with more and more frames left out.
type builder struct {
	measure
	table        *frameTable
	dropNegative bool

	// By frame.
	flat []int64
	cum  []tally
	divs struct { // what they are divided by, for means
		flat []int64
		cum  []tally
	}
}

// costs adds up what each frame costs, by itself and with what it calls.
func (b *builder) costs() {
	b.flat, b.cum = b.column(b.p.Values(b.k))
	if b.mean {
		b.divs.flat, b.divs.cum = b.column(b.p.Values(0))
	}
}

// listed reports whether a frame costs anything that is to be shown.
func (b *builder) listed(f int) bool {
	flat, cum := b.flat[f], b.cum[f].sum
	return (flat != 0 || cum != 0) && !(b.dropNegative && negative(flat, cum))
}

// node returns a frame with its costs.
func (b *builder) node(f int32) node {
	n := node{Frame: &b.table.frames[f], id: f, parent: -1, flat: b.flat[f], cum: b.cum[f].sum}
	if b.mean {
		n.flatDiv, n.cumDiv = b.divs.flat[f], b.divs.cum[f].sum
	}
	return n
}

// graph returns the graph of the frames in kept, or of all when kept is nil, without its edges. The nodes in its list are those
// that cost something and for which list, if there is one, is true.
func (b *builder) graph(kept, list []bool) *graph {
	g := &graph{all: make([]*node, len(b.table.frames)), kept: kept, costs: b, abs: b.magnitude()}
	listed := func(f int) bool { return g.keeps(int32(f)) && (list == nil || list[f]) && b.listed(f) }
	n := 0
	for f := range g.all {
		if listed(f) {
			n++
		}
	}
	nodes := make([]node, 0, n)
	g.nodes = make([]*node, 0, n)
	for f := range g.all {
		if listed(f) {
			nodes = append(nodes, b.node(int32(f)))
			g.all[f] = &nodes[len(nodes)-1]
			g.nodes = append(g.nodes, g.all[f])
		}
	}
	return g
}

// A callFilter says which calls to add: those to and those from certain frames. The zero callFilter is all.
type callFilter struct{ to, from []bool }

// edges adds the calls between the nodes of g that pass the filter.
func (b *builder) edges(g *graph, filter callFilter) {
	x := newCallFinder(g, b.p, b.table, filter)
	if !x.any && x.from == nil {
		return
	}
	var stack []uint32
	asked, met := 0, 0
	for i := range b.p.NumSamples() {
		w, live := b.sample(i)
		if !live {
			continue
		}
		// To ask takes a fifth of what it saves, which is in vain where nearly all stacks have some.
		if asked < 256 || 4*met < 3*asked {
			if asked++; !b.p.HasAny(i, x.some) {
				continue
			}
			met++
		}
		stack = b.p.Stack(i, stack[:0])
		x.stack(stack, w, uint32(i)+1)
	}
	x.link()
}

// A callFinder adds up calls. It knows beforehand which locations matter, since for most questions few do.
type callFinder struct {
	g      *graph
	table  *frameTable
	places []callPlace // by location
	target []bool      // by frame, whether calls to it count
	any    bool        // whether there is a target
	from   []bool      // by frame, whether calls from it count, too
	calls  callTable
	last   []lastCall // by location

	targets []bool               // by location, whether calls to or from one of its frames count
	some    *profile.LocationSet // those
}

// A callPlace is what there is to know about a location.
type callPlace struct {
	last int32 // innermost frame that is kept; noneKept, or noFrames
	gap  bool  // frames that are not kept follow it
}

// A lastCall is the last call to the outermost frame of a location; mostly the next one is the same.
type lastCall struct {
	above int32
	call  int32 // number; 0 is none yet
}

const (
	noneKept = -1
	noFrames = -2
)

func newCallFinder(g *graph, p *profile.Profile, t *frameTable, filter callFilter) *callFinder {
	x := &callFinder{g: g, table: t, from: filter.from, target: make([]bool, len(g.all)), calls: newCallTable()}
	for f := range g.all {
		if g.keeps(int32(f)) && (filter.to == nil || filter.to[f]) {
			x.any, x.target[f] = true, true
		}
	}
	if !x.any && x.from == nil {
		return x
	}
	x.places = make([]callPlace, len(t.only))
	x.last = make([]lastCall, len(x.places))
	x.targets = make([]bool, len(x.places))
	for l := range x.places {
		place := callPlace{last: noFrames}
		for _, f := range t.of(uint32(l)) {
			x.targets[l] = x.targets[l] || x.target[f] || x.from != nil && x.from[f]
			if g.keeps(f) {
				place.last, place.gap = f, false
			} else if place.gap = true; place.last == noFrames {
				place.last = noneKept
			}
		}
		x.places[l] = place
	}
	x.some = p.LocationSet(x.targets)
	return x
}

// stack adds the calls on a stack, which is of sample number now.
func (x *callFinder) stack(stack []uint32, w weight, now uint32) {
	if x.from != nil {
		x.bothWays(stack, w, now)
		return
	}
	for at := len(stack) - 1; at >= 0; at-- {
		if !x.targets[stack[at]] {
			continue
		}
		above, gap := x.above(stack[at+1:])
		for j, f := range x.table.of(stack[at]) {
			if !x.g.keeps(f) {
				gap = true
				continue
			}
			if above >= 0 && above != f && x.target[f] {
				x.calls.add(x.number(stack[at], j, above, f), w, now, j == 0, gap)
			}
			above, gap = f, false
		}
	}
}

// above returns the nearest kept frame of what is above a location, and whether others follow it.
func (x *callFinder) above(stack []uint32) (f int32, gap bool) {
	for _, l := range stack {
		p := &x.places[l]
		if gap = gap || p.gap; p.last >= 0 {
			return p.last, gap
		}
	}
	return noneKept, gap
}

// bothWays is stack for when calls from frames count, too.
func (x *callFinder) bothWays(stack []uint32, w weight, now uint32) {
	above, gap := int32(-1), false // the nearest kept frame above, and whether others follow it
	source := false                // whether calls from it count
	for at := len(stack) - 1; at >= 0; at-- {
		p := &x.places[stack[at]]
		if !x.targets[stack[at]] && (!source || p.last < 0) {
			if p.last >= 0 {
				above, gap = p.last, p.gap
			} else {
				gap = gap || p.gap
			}
			continue
		}
		for j, f := range x.table.of(stack[at]) {
			if !x.g.keeps(f) {
				gap = true
				continue
			}
			if above >= 0 && above != f && (source || x.target[f]) {
				x.calls.add(x.number(stack[at], j, above, f), w, now, j == 0, gap)
			}
			above, gap = f, false
			source = x.from[f]
		}
	}
}

// number returns the number of the call from frame above to frame f, which is number j of a location.
func (x *callFinder) number(location uint32, j int, above, f int32) int32 {
	if j > 0 {
		return x.calls.find(above, f)
	}
	last := &x.last[location]
	if last.call == 0 || last.above != above {
		*last = lastCall{above, x.calls.find(above, f)}
	}
	return last.call
}

// link gives the nodes of the graph the calls that were found, in the order in which they were.
func (x *callFinder) link() {
	edges := make([]edge, len(x.calls.sums))
	for _, s := range x.calls.slots {
		if s.number == 0 {
			continue
		}
		c := &x.calls.sums[s.number-1]
		edges[s.number-1] = edge{
			from: x.g.node(s.from), to: x.g.node(s.to),
			weight: c.v, div: c.div, inline: !c.called, residual: c.residual,
		}
	}
	for i := range edges {
		e := &edges[i]
		e.from.out = append(e.from.out, e)
		e.to.in = append(e.to.in, e)
	}
}

// Hashes of calls start from numbers that are new in every process, so that no input can make them collide.
var callSeed, callFactor = rand.Uint64(), rand.Uint64() | 1

// A callTable is a hash table of calls. There is one lookup for nearly each frame of each sample, which a Go map makes
// three times as expensive.
type callTable struct {
	slots []callSlot // open addressing
	sums  []callSum  // by number
}

type callSlot struct {
	from, to int32
	number   int32 // in the order in which calls were found, from 1; 0 is a free slot
}

type callSum struct {
	weight
	seen             uint32 // 1 + the sample in which the call was last met
	called, residual bool   // whether the call was ever met as one that is not inlined, or with frames left out
}

func newCallTable() callTable { return callTable{slots: make([]callSlot, 1<<10)} }

// add adds a sample to call number n.
func (t *callTable) add(n int32, w weight, now uint32, called, gap bool) {
	c := &t.sums[n-1]
	if c.seen == now {
		return
	}
	c.seen = now
	c.v += w.v
	c.div += w.div
	c.called = c.called || called
	c.residual = c.residual || gap
}

// find returns the number of the call from one frame to another.
func (t *callTable) find(from, to int32) int32 {
	c := t.slot(from, to)
	if c.number == 0 {
		if 2*len(t.sums) >= len(t.slots) {
			t.grow()
			c = t.slot(from, to)
		}
		t.sums = append(t.sums, callSum{})
		*c = callSlot{from, to, int32(len(t.sums))}
	}
	return c.number
}

// slot returns where the call is, or where it should be.
func (t *callTable) slot(from, to int32) *callSlot {
	hi, lo := bits.Mul64((uint64(uint32(from))<<32|uint64(uint32(to)))^callSeed, callFactor)
	for i := hi ^ lo; ; i++ {
		c := &t.slots[i&uint64(len(t.slots)-1)]
		if c.number == 0 || c.from == from && c.to == to {
			return c
		}
	}
}

func (t *callTable) grow() {
	old := t.slots
	t.slots = make([]callSlot, 2*len(old))
	for _, c := range old {
		if c.number != 0 {
			*t.slot(c.from, c.to) = c
		}
	}
}

func negative(flat, cum int64) bool { return flat < 0 || flat == 0 && cum < 0 }
