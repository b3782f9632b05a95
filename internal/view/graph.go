package view

import (
	"slices"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/report"
)

// A measure picks the values that a view adds up.
type measure struct {
	p    *profile.Profile
	k    int  // sample type
	mean bool // divide by the first sample type
}

// weights returns, for each context, the sum over the samples that end there: of the value, and of the divisor when
// means are asked for. live marks contexts with a sample that counts; without it a sum of zero could not be told
// from no samples.
func (m measure) weights() (own, div []int64, live []bool) {
	n := m.p.NumContexts()
	own, live = make([]int64, n), make([]bool, n)
	values := m.p.Values(m.k)
	if !m.mean {
		for i, v := range values {
			c := m.p.Context(i)
			own[c] += v
			live[c] = live[c] || v != 0
		}
		return own, nil, live
	}
	div = make([]int64, n)
	for i, d := range m.p.Values(0) {
		c := m.p.Context(i)
		own[c] += values[i]
		div[c] += d
		live[c] = live[c] || values[i] != 0 || d != 0
	}
	return own, div, live
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
	id       int32 // in the frame table
	function int   // nodes of one function share it

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
//
// All that a graph adds up it adds up over contexts, not over samples: the frames that a context adds to its parent
// all get the weight of the whole subtree, unless they are on the path already. Whether they are needs no stack of
// what to undo: contexts come in preorder, so it is enough to know where the subtree ends in which a frame was
// last entered.
type builder struct {
	measure
	table        *frameTable
	dropNegative bool

	sum, div []int64 // by context, of the samples there and below; div is nil unless means are asked for
	live     []bool  // by context, whether any sample there or below is not zero

	flat, cum []weight // by frame
}

func newBuilder(m measure, table *frameTable, dropNegative bool) *builder {
	b := &builder{measure: m, table: table, dropNegative: dropNegative, flat: make([]weight, len(table.frames))}
	b.sum, b.div, b.live = m.weights()
	p := m.p
	leaf := make([]int32, p.NumContexts()) // 1 + innermost frame
	for c := uint32(1); c < uint32(len(leaf)); c++ {
		f := leaf[p.Parent(c)]
		for _, l := range slices.Backward(p.Run(c)) {
			if frames := table.of(l); len(frames) > 0 {
				f = frames[len(frames)-1] + 1
				break
			}
		}
		leaf[c] = f
		if f > 0 && b.live[c] {
			b.flat[f-1].add(b.weight(c))
		}
	}
	for c := uint32(len(leaf)) - 1; c > 0; c-- {
		up := p.Parent(c)
		b.sum[up] += b.sum[c]
		if b.div != nil {
			b.div[up] += b.div[c]
		}
		b.live[up] = b.live[up] || b.live[c]
	}
	return b
}

func (b *builder) weight(c uint32) weight {
	w := weight{v: b.sum[c]}
	if b.div != nil {
		w.div = b.div[c]
	}
	return w
}

func (w *weight) add(x weight) {
	w.v += x.v
	w.div += x.div
}

// costs adds up what each frame costs with what it calls.
func (b *builder) costs() {
	b.cum = make([]weight, len(b.table.frames))
	until := make([]uint32, len(b.table.frames)) // end of the subtree in which a frame was last entered
	p := b.p
	for c := uint32(1); c < uint32(p.NumContexts()); c++ {
		if !b.live[c] {
			continue
		}
		end, w := p.End(c), b.weight(c)
		for _, l := range p.Run(c) {
			for _, f := range b.table.of(l) {
				// A recursive function is on the path several times but the time passed once.
				if until[f] <= c {
					until[f] = end
					b.cum[f].add(w)
				}
			}
		}
	}
}

// graph returns the graph of the frames in kept, or of all when kept is nil, without its edges.
func (b *builder) graph(kept []bool) *graph {
	g := &graph{all: make([]*node, len(b.table.frames))}
	type function struct {
		name, file, object string
		startLine          int64
	}
	functions := make(map[function]int)
	for i := range b.table.frames {
		if kept != nil && !kept[i] {
			continue
		}
		f := &b.table.frames[i]
		n := &node{
			Frame: f, id: int32(i),
			flat: b.flat[i].v, flatDiv: b.flat[i].div, cum: b.cum[i].v, cumDiv: b.cum[i].div,
		}
		key := function{f.Name, f.File, f.Object, f.StartLine}
		id, ok := functions[key]
		if !ok {
			id = len(functions)
			functions[key] = id
		}
		n.function = id
		g.all[i] = n
		if n.cum == 0 && n.flat == 0 || b.dropNegative && n.negative() {
			continue
		}
		g.nodes = append(g.nodes, n)
	}
	return g
}

// edges adds the calls between the nodes of g. With wanted, only calls to frames that are wanted are added.
func (b *builder) edges(g *graph, wanted []bool) {
	type call struct {
		edge
		until uint32 // end of the subtree in which the call was last made
	}
	type place struct {
		frame int32 // 1 + nearest kept frame at or above the end of a context
		gap   bool  // whether frames that are not kept follow it
	}
	p := b.p
	calls := newPairs[*call](g.all)
	places := make([]place, p.NumContexts())
	for c := uint32(1); c < uint32(p.NumContexts()); c++ {
		at := places[p.Parent(c)]
		end, w, live := p.End(c), b.weight(c), b.live[c]
		if !live {
			continue // and so is all below
		}
		for _, l := range p.Run(c) {
			for i, f := range b.table.of(l) {
				if g.all[f] == nil {
					at.gap = true
					continue
				}
				if above := at.frame - 1; above >= 0 && above != f && (wanted == nil || wanted[f]) {
					slot := calls.at(above, f)
					e := *slot
					if e == nil {
						e = &call{edge: edge{from: g.all[above], to: g.all[f], inline: true}}
						*slot = e
						e.from.out = append(e.from.out, &e.edge)
						e.to.in = append(e.to.in, &e.edge)
					}
					if e.until <= c {
						e.until = end
						e.weight += w.v
						e.div += w.div
						e.inline = e.inline && i > 0
						e.residual = e.residual || at.gap
					}
				}
				at = place{f + 1, false}
			}
		}
		places[c] = at
	}
}

// pairs holds something for pairs of frames of a graph.
type pairs[T any] struct {
	number []int32 // of each frame among those in the graph
	n      int
	matrix []T // for small graphs; for others:
	sparse map[uint64]*T
	last   []lastPair[T] // by second frame, the pair it was last seen in: most have one partner most of the time
}

type lastPair[T any] struct {
	first int32
	v     *T
}

func newPairs[T any](all []*node) *pairs[T] {
	const maxMatrix = 1 << 10 // squared it still fits the cache
	p := &pairs[T]{number: make([]int32, len(all))}
	for i, n := range all {
		if n != nil {
			p.number[i] = int32(p.n)
			p.n++
		}
	}
	if p.n <= maxMatrix {
		p.matrix = make([]T, p.n*p.n)
	} else {
		p.sparse = make(map[uint64]*T)
		p.last = make([]lastPair[T], len(all))
	}
	return p
}

// at returns where the value for a pair is.
func (p *pairs[T]) at(a, b int32) *T {
	if p.matrix != nil {
		return &p.matrix[int(p.number[a])*p.n+int(p.number[b])]
	}
	last := &p.last[b]
	if last.v != nil && last.first == a {
		return last.v
	}
	key := uint64(a)<<32 | uint64(b)
	v := p.sparse[key]
	if v == nil {
		v = new(T)
		p.sparse[key] = v
	}
	*last = lastPair[T]{a, v}
	return v
}

func (n *node) negative() bool { return n.flat < 0 || n.flat == 0 && n.cum < 0 }
