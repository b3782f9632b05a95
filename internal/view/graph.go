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

func (w *weight) add(x weight) {
	w.v += x.v
	w.div += x.div
}

// A builder makes graphs of one profile with more and more frames left out.
type builder struct {
	measure
	table        *frameTable
	dropNegative bool

	flat, cum []weight // by frame
}

// costs adds up what each frame costs, by itself and with what it calls.
func (b *builder) costs() {
	n := len(b.table.frames)
	b.flat, b.cum = make([]weight, n), make([]weight, n)
	seen := make([]uint32, n) // 1 + the sample in which a frame was last met
	t := b.table
	var stack []uint32
	for i := range b.p.NumSamples() {
		w, live := b.sample(i)
		if !live {
			continue
		}
		stack = b.p.Stack(i, stack[:0])
		for _, l := range stack {
			if frames := t.of(l); len(frames) > 0 {
				b.flat[frames[len(frames)-1]].add(w)
				break
			}
		}
		now := uint32(i) + 1
		for _, l := range stack {
			if f := t.only[l]; f >= 0 {
				// A recursive function is on the stack several times but the time passed once.
				if seen[f] != now {
					seen[f] = now
					b.cum[f].add(w)
				}
				continue
			}
			for _, f := range t.of(l) {
				if seen[f] != now {
					seen[f] = now
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
		seen uint32 // 1 + the sample in which the call was last met
	}
	// What to do at a frame: nothing is known of it, it is only a place that calls come from, or calls to it count.
	const (
		absent = iota
		present
		target
	)
	role := make([]uint8, len(g.all))
	some := false
	for f, n := range g.all {
		if n == nil {
			continue
		}
		role[f] = present
		if wanted == nil || wanted[f] {
			role[f] = target
			some = true
		}
	}
	if !some {
		return
	}
	calls := newPairs[*call](g.all)
	t := b.table
	var stack []uint32
	for i := range b.p.NumSamples() {
		w, live := b.sample(i)
		if !live {
			continue
		}
		now := uint32(i) + 1
		stack = b.p.Stack(i, stack[:0])
		above, gap := int32(-1), false // the nearest frame above, and whether frames that are not kept follow it
		for _, l := range slices.Backward(stack) {
			for j, f := range t.of(l) {
				switch role[f] {
				case absent:
					gap = true
					continue
				case target:
					if above < 0 || above == f {
						break
					}
					slot := calls.at(above, f)
					e := *slot
					if e == nil {
						e = &call{edge: edge{from: g.all[above], to: g.all[f], inline: true}}
						*slot = e
						e.from.out = append(e.from.out, &e.edge)
						e.to.in = append(e.to.in, &e.edge)
					}
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
