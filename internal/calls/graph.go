package calls

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/report"
)

// A Measure picks the values that a view adds up.
type Measure struct {
	Profile *profile.Profile
	Type    int  // sample type
	Mean    bool // divide by the first sample type
	Wraps   bool // see query.Query
}

// sample returns the weight of sample i, and whether it counts at all.
func (m Measure) sample(i int) (w Weight, live bool) {
	w.V = m.Profile.Values(m.Type)[i]
	if m.Mean {
		w.Div = m.Profile.Values(0)[i]
	}
	return w, w.V != 0 || w.Div != 0
}

// Total returns the sum of the magnitudes of all values, or the nearest there is. If some samples are marked as the base of a
// difference, it is the sum over those.
func (m Measure) Total() int64 {
	values := m.Profile.Values(m.Type)
	base := make([]bool, len(m.Profile.LabelSets()))
	for i, s := range m.Profile.LabelSets() {
		base[i] = s.Has(BaseLabel, "true")
	}
	var sum, div, baseSum, baseDiv int64
	for i, v := range values {
		if v < 0 {
			v = -v
		}
		var d int64
		if m.Mean {
			d = m.Profile.Values(0)[i]
		}
		sum = m.within(sum + m.within(v))
		div += d
		if base[m.Profile.Label(i)] {
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
func (m Measure) within(sum int64) int64 {
	if sum < 0 && !m.Wraps {
		return math.MaxInt64
	}
	return sum
}

// BaseLabel marks the samples of the base in a profile that is a difference.
const BaseLabel = "pprof::base"

// A Node is a frame in a graph under construction.
type Node struct {
	*report.Frame
	ID     int32 // in the frame table, or of the node of a tree
	Parent int   // node above in a tree, or -1

	Flat, FlatDiv, Cum, CumDiv int64
	In, Out                    []*Edge
	Tags                       TagMap            // by text
	Numbers                    map[string]TagMap // by the text labels beside them, then by text

	name string // printable, once needed
}

func (n *Node) FlatValue() int64 { return Per(n.Flat, n.FlatDiv) }
func (n *Node) CumValue() int64  { return Per(n.Cum, n.CumDiv) }

func Per(v, div int64) int64 {
	if div == 0 {
		return v
	}
	return v / div
}

func (n *Node) Printable() string {
	if n.name == "" {
		n.name = n.Frame.String()
	}
	return n.name
}

// An Edge is the calls from one node to another.
type Edge struct {
	From, To    *Node
	Weight, div int64
	Inline      bool
	Residual    bool // some calls went through frames that are not in the graph
	gone        bool
}

func (e *Edge) Value() int64 { return Per(e.Weight, e.div) }

// A Graph is frames with their costs and calls.
type Graph struct {
	Nodes []*Node // those listed
	all   []*Node // by frame, as far as they were asked for
	kept  []bool  // by frame, whether it is part of the graph; nil when all are
	costs *Builder
	Abs   Magnitude
}

// keeps reports whether a frame is part of g.
func (g *Graph) keeps(f int32) bool { return g.kept == nil || g.kept[f] }

// node returns the node of a frame that is part of g.
func (g *Graph) node(f int32) *Node {
	if g.all[f] == nil {
		g.all[f] = new(g.costs.Node(f))
	}
	return g.all[f]
}

// A Weight is a sum of samples.
type Weight struct{ V, Div int64 }

// A Builder makes graphs of one profile with more and more frames left out.
type Builder struct {
	Measure
	DropNegative bool
	ByMean       bool // means are ranked as they are shown, and not by the sums that they are of, as pprof does
	*Costing

	Known *KnownCalls // nil until they are known; Trimmed finds them
}

// A Costing is the frames of a profile with what they cost, for all who ask about the same samples. Nobody changes it once it is added up.
type Costing struct {
	Table *FrameTable

	// By frame; nil until they are added up.
	Flat []int64
	Cum  []Tally
	divs struct { // what they are divided by, for means
		flat []int64
		cum  []Tally
	}
}

// NewBuilder returns a Builder that has nothing added up yet.
func NewBuilder(m Measure, t *FrameTable) *Builder {
	return &Builder{Measure: m, Costing: &Costing{Table: t}}
}

// Size returns about how many bytes c takes.
func (c *Costing) Size() int64 {
	const frame, tally = 200, 40
	return int64(len(c.Table.Frames))*(frame+2*tally) + 8*int64(len(c.Table.only)+len(c.Table.at))
}

// Costs adds up the self and total cost of each frame, unless it has done so before.
func (b *Builder) Costs() {
	if b.Flat != nil {
		return
	}
	if b.Mean {
		b.divs.flat, b.divs.cum = b.Column(b.Profile.Values(0))
	}
	b.Flat, b.Cum = b.Column(b.Profile.Values(b.Type))
}

// CostsAhead does the same before anybody asks, on one core, and gives up when enough says so. It reports whether all is added up.
func (b *Builder) CostsAhead(enough func() bool) bool {
	if b.Flat != nil || b.Mean || len(b.Table.Frames) > profile.MaxSpread {
		return b.Flat != nil
	}
	values := b.Profile.Values(b.Type)
	x := b.newColumn()
	const some = 1 << 12
	for i := 0; i < len(values); i += some {
		if enough() {
			return false
		}
		x.add(values, i, min(i+some, len(values)))
	}
	b.Flat, b.Cum = b.together([]*columnPart{x})
	return true
}

// Listed reports whether a frame costs anything that is to be shown.
func (b *Builder) Listed(f int) bool {
	flat, cum := b.Flat[f], b.Cum[f].Sum
	return (flat != 0 || cum != 0) && !(b.DropNegative && negative(flat, cum))
}

// Node returns a frame with its costs.
func (b *Builder) Node(f int32) Node {
	n := Node{Frame: &b.Table.Frames[f], ID: f, Parent: -1, Flat: b.Flat[f], Cum: b.Cum[f].Sum}
	if b.Mean {
		n.FlatDiv, n.CumDiv = b.divs.flat[f], b.divs.cum[f].Sum
	}
	return n
}

// Graph returns the graph of the frames in kept, or of all when kept is nil, without its edges. The nodes in its list are those
// that cost something and for which list, if there is one, is true.
func (b *Builder) Graph(kept, list []bool) *Graph {
	g := &Graph{all: make([]*Node, len(b.Table.Frames)), kept: kept, costs: b, Abs: b.Magnitude()}
	listed := func(f int) bool { return g.keeps(int32(f)) && (list == nil || list[f]) && b.Listed(f) }
	n := 0
	for f := range g.all {
		if listed(f) {
			n++
		}
	}
	nodes := make([]Node, 0, n)
	g.Nodes = make([]*Node, 0, n)
	for f := range g.all {
		if listed(f) {
			nodes = append(nodes, b.Node(int32(f)))
			g.all[f] = &nodes[len(nodes)-1]
			g.Nodes = append(g.Nodes, g.all[f])
		}
	}
	return g
}

// A CallFilter says which calls to add: those to and those from certain frames. The zero callFilter is all.
type CallFilter struct{ To, From []bool }

// Edges adds the calls between the nodes of g that pass the filter.
func (b *Builder) Edges(g *Graph, filter CallFilter) {
	if filter.To == nil && filter.From == nil {
		if x := newWholeCalls(b, g); x != nil {
			findAll(x, 0, b.Profile.NumSamples()).link(g)
			return
		}
	}
	if x := newCallFinder(b, g, filter); x.any || x.from != nil {
		findAll(x, 0, b.Profile.NumSamples()).link(g)
	}
}

// allEdges adds all calls between the frames that cost at least cutoff, which are those of g. They are found only once.
func (b *Builder) allEdges(g *Graph, cutoff int64) {
	if b.Known == nil || b.Known.cutoff != cutoff {
		x := newWholeCalls(b, g)
		if x == nil {
			b.Edges(g, CallFilter{})
			return
		}
		b.Known = &KnownCalls{cutoff, findAll(x, 0, b.Profile.NumSamples())}
	}
	b.Known.table.link(g)
}

// samplesAtOnce is how many samples are worth a core more. With 50 thousand, a second one took a tenth more CPU time, for memory of its
// own, and the graph was there 2 ms sooner, of 63.
const samplesAtOnce = 40_000

// A finder finds the calls of samples.
type finder[F any] interface {
	find(from, to int)
	another() F // that does the same with other samples
	found() *callTable
}

// findAll has a finder, which may know the samples before those already, find the calls of some samples, on as many cores as there are.
func findAll[F finder[F]](x F, from, to int) *callTable {
	parts := make([]F, max(1, min(runtime.GOMAXPROCS(0), (to-from)/samplesAtOnce)))
	parts[0] = x
	for i := range parts[1:] {
		parts[i+1] = x.another()
	}
	inRanges(to-from, len(parts), func(i, a, b int) { parts[i].find(from+a, from+b) })
	// What was found first in one part comes behind all that was found in those before it, so the order is that of the samples.
	all := x.found()
	for _, p := range parts[1:] {
		all.join(p.found())
	}
	return all
}

// A callFinder adds up calls. It knows beforehand which locations matter, since for most questions few do.
type callFinder struct {
	b      *Builder
	g      *Graph
	table  *FrameTable
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

func newCallFinder(b *Builder, g *Graph, filter CallFilter) *callFinder {
	t := b.Table
	x := &callFinder{b: b, g: g, table: t, from: filter.From, target: make([]bool, len(g.all)), calls: newCallTable()}
	for f := range g.all {
		if g.keeps(int32(f)) && (filter.To == nil || filter.To[f]) {
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
		for _, f := range t.Of(uint32(l)) {
			x.targets[l] = x.targets[l] || x.target[f] || x.from != nil && x.from[f]
			if g.keeps(f) {
				place.last, place.gap = f, false
			} else if place.gap = true; place.last == noFrames {
				place.last = noneKept
			}
		}
		x.places[l] = place
	}
	x.some = b.Profile.LocationSet(x.targets)
	return x
}

// another returns a finder that looks for the same in other samples.
func (x *callFinder) another() *callFinder {
	out := *x
	out.calls = newCallTable()
	out.last = make([]lastCall, len(x.last))
	return &out
}

func (x *callFinder) found() *callTable { return &x.calls }

// find adds the calls of samples.
func (x *callFinder) find(from, to int) {
	p := x.b.Profile
	var stack []uint32
	asked, met := 0, 0
	for i := from; i < to; i++ {
		w, live := x.b.sample(i)
		if !live {
			continue
		}
		// The check costs a fifth of what it saves, so it is skipped where nearly all stacks pass it.
		if asked < 256 || 4*met < 3*asked {
			if asked++; !p.HasAny(i, x.some) {
				continue
			}
			met++
		}
		stack = p.Stack(i, stack[:0])
		x.stack(stack, w, uint32(i)+1)
	}
}

// stack adds the calls on a stack, which is of sample number now.
func (x *callFinder) stack(stack []uint32, w Weight, now uint32) {
	if x.from != nil {
		x.bothWays(stack, w, now)
		return
	}
	for at := len(stack) - 1; at >= 0; at-- {
		if !x.targets[stack[at]] {
			continue
		}
		above, gap := x.above(stack[at+1:])
		for j, f := range x.table.Of(stack[at]) {
			if !x.g.keeps(f) {
				gap = true
				continue
			}
			if above >= 0 && above != f && x.target[f] {
				x.calls.add(x.number(stack[at], j, above, f), w, now, !x.table.Inlines(j), gap)
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
func (x *callFinder) bothWays(stack []uint32, w Weight, now uint32) {
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
		for j, f := range x.table.Of(stack[at]) {
			if !x.g.keeps(f) {
				gap = true
				continue
			}
			if above >= 0 && above != f && (source || x.target[f]) {
				x.calls.add(x.number(stack[at], j, above, f), w, now, !x.table.Inlines(j), gap)
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
	Weight
	seen             uint32 // 1 + the sample in which the call was last met
	called, residual bool   // whether the call was ever met as one that is not inlined, or with frames left out
}

func newCallTable() callTable { return callTable{slots: make([]callSlot, 1<<10)} }

// add adds a sample to call number n.
func (t *callTable) add(n int32, w Weight, now uint32, called, gap bool) {
	c := &t.sums[n-1]
	if c.seen == now {
		return
	}
	c.seen = now
	c.V += w.V
	c.Div += w.Div
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

// join adds the calls that were found in later samples.
func (t *callTable) join(later *callTable) {
	calls := make([]callSlot, len(later.sums)) // in the order in which they were found
	for _, c := range later.slots {
		if c.number != 0 {
			calls[c.number-1] = c
		}
	}
	for i, c := range calls {
		from := &later.sums[i]
		to := &t.sums[t.find(c.from, c.to)-1]
		to.V += from.V
		to.Div += from.Div
		to.called = to.called || from.called
		to.residual = to.residual || from.residual
	}
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

// link gives the nodes of a graph the calls, in the order in which they were found.
func (t *callTable) link(g *Graph) {
	edges := make([]Edge, len(t.sums))
	for _, s := range t.slots {
		if s.number == 0 {
			continue
		}
		c := &t.sums[s.number-1]
		edges[s.number-1] = Edge{
			From: g.node(s.from), To: g.node(s.to),
			Weight: c.V, div: c.Div, Inline: !c.called, Residual: c.residual,
		}
	}
	for i := range edges {
		e := &edges[i]
		e.From.Out = append(e.From.Out, e)
		e.To.In = append(e.To.In, e)
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
