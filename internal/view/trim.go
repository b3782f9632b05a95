package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/hone-perf/hone/internal/report"
)

// A trim says how much of a graph to keep.
type trim struct {
	nodes    int     // at most so many; 0 is all
	min      float64 // share of the total below which nodes go
	minEdge  float64 // and calls
	byCum    bool
	visual   bool // for a picture: interesting nodes first, no redundant calls
	callTree bool
	units    map[string]string // of number labels, for tags
	showUnit string
}

// maxNodelets is how many tags of a node a picture shows.
const maxNodelets = 4

// trimmed returns the graph cut down to what is worth showing. Costs are exact in spite of it: whenever nodes go,
// the calls between those that stay are added up anew from the samples.
func (b *builder) trimmed(t trim, filter callFilter) (*graph, report.Trimming) {
	var out report.Trimming
	var g *graph
	var x *treeIndex
	var total int64
	if t.callTree {
		g, x = b.tree()
		for _, n := range g.nodes {
			total += n.flat
		}
	} else {
		b.costs()
		for f := range b.flat {
			if b.listed(f) {
				total += b.flat[f]
			}
		}
	}
	abs := b.magnitude()
	cutoff := abs(int64(float64(total) * t.min))
	edgeCutoff := abs(int64(float64(total) * t.minEdge))

	switch {
	case t.callTree && cutoff > 0:
		before := len(g.nodes)
		big := func(n *node) bool { return abs(n.cum) >= cutoff }
		if out.Dropped = before - count(g.nodes, big); out.Dropped > 0 {
			g.trimTree(big)
		}
	case !t.callTree:
		var kept []bool // nil is all
		if cutoff > 0 {
			kept, out.Dropped = b.big(cutoff)
		}
		if out.Dropped == 0 {
			kept = nil
		}
		g = b.graph(kept, nil)
	}
	out.Of = len(g.nodes)
	// Calls and tags matter for which nodes a picture shows; else only those of the nodes that are left do.
	connected := t.visual || t.nodes <= 0 || t.nodes >= len(g.nodes)
	if connected {
		b.connect(g, x, t, filter)
	}
	g.sort(t.byCum, t.visual)

	if t.nodes > 0 {
		if connected {
			g.trimTags(cutoff)
			g.trimEdges(edgeCutoff)
		}
		if top := g.top(t.nodes, t.visual); top < len(g.nodes) {
			shown := make(map[*node]bool, top)
			for _, n := range g.nodes[:top] {
				shown[n] = true
			}
			in := func(n *node) bool { return shown[n] }
			if t.callTree {
				g.trimTree(in)
			} else {
				g = b.graph(b.keep(g.nodes, in), nil)
				b.connect(g, x, t, filter)
			}
			g.sort(t.byCum, t.visual)
		}
	}
	g.trimTags(cutoff)
	if out.DroppedEdges = g.trimEdges(edgeCutoff); t.visual {
		g.removeRedundant()
	}
	out.Shown = len(g.nodes)
	for _, n := range g.nodes {
		out.Accounted += n.flatValue()
	}
	return g, out
}

func count(nodes []*node, ok func(*node) bool) int {
	n := 0
	for _, x := range nodes {
		if ok(x) {
			n++
		}
	}
	return n
}

// big returns the frames that cost at least cutoff with what they call, and how many do not.
func (b *builder) big(cutoff int64) (kept []bool, dropped int) {
	kept = make([]bool, len(b.table.frames))
	abs := b.magnitude()
	for f := range kept {
		switch {
		case !b.listed(f):
		case abs(b.cum[f].sum) >= cutoff:
			kept[f] = true
		default:
			dropped++
		}
	}
	return kept, dropped
}

// keep returns the frames of those nodes for which ok is true.
func (b *builder) keep(nodes []*node, ok func(*node) bool) []bool {
	kept := make([]bool, len(b.table.frames))
	for _, n := range nodes {
		if ok(n) {
			kept[n.id] = true
		}
	}
	return kept
}

// connect adds calls, and for pictures tags, to g.
func (b *builder) connect(g *graph, x *treeIndex, t trim, filter callFilter) {
	if !t.callTree {
		b.edges(g, filter)
	}
	if !t.visual {
		return
	}
	tags, some := graphTags(b.p, t.units, t.showUnit)
	if !some {
		return
	}
	if x == nil {
		b.tag(tags, func(_ *node, f int32) *node {
			if !g.keeps(f) {
				return nil
			}
			return g.node(f)
		})
		return
	}
	b.tag(tags, func(above *node, f int32) *node {
		parent := -1
		if above != nil {
			parent = int(above.id)
		}
		return x.nodes[x.find(parent, f)]
	})
}

// trimEdges takes out calls that weigh less than cutoff and returns how many.
func (g *graph) trimEdges(cutoff int64) int {
	dropped := 0
	for _, n := range g.nodes {
		for _, e := range n.in {
			if g.abs(e.weight) < cutoff {
				e.gone = true
				dropped++
			}
		}
	}
	if dropped > 0 {
		for _, n := range g.all {
			if n != nil {
				n.dropGone()
			}
		}
	}
	return dropped
}

func (n *node) dropGone() {
	gone := func(e *edge) bool { return e.gone }
	n.in = slices.DeleteFunc(n.in, gone)
	n.out = slices.DeleteFunc(n.out, gone)
}

// top returns how many of the sorted nodes to show. In pictures tags count as nodes.
func (g *graph) top(limit int, visual bool) int {
	if visual {
		sum := 0
		for i, n := range g.nodes {
			sum += min(n.countTags(), maxNodelets) + 1
			if sum >= limit {
				limit = i + 1
				break
			}
		}
	}
	return min(limit, len(g.nodes))
}

// removeRedundant takes out calls through frames that are not shown where the same place can be reached another
// way. It goes from light to heavy and spares calls heavier than any direct one, to keep pictures easy to follow.
func (g *graph) removeRedundant() {
	for _, n := range slices.Backward(g.nodes) {
		in := sortEdges(n.in, g.abs)
		for _, e := range slices.Backward(in) {
			if !e.residual {
				break
			}
			if e.redundant() {
				e.gone = true
				e.from.dropGone()
				e.to.dropGone()
			}
		}
	}
}

// redundant reports whether the end of e can be reached from its start without it.
func (e *edge) redundant() bool {
	seen := map[*node]bool{e.to: true}
	queue := []*node{e.to}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, in := range n.in {
			if in == e || seen[in.from] {
				continue
			}
			if in.from == e.from {
				return true
			}
			seen[in.from] = true
			queue = append(queue, in.from)
		}
	}
	return false
}

// sortEdges returns edges heaviest first, then by name.
func sortEdges(edges []*edge, abs magnitude) []*edge {
	out := slices.Clone(edges)
	slices.SortFunc(out, func(a, b *edge) int {
		if a.weight != b.weight {
			if c := cmp.Compare(abs(b.weight), abs(a.weight)); c != 0 {
				return c
			}
		}
		return cmp.Or(
			cmp.Compare(a.from.printable(), b.from.printable()),
			cmp.Compare(a.to.printable(), b.to.printable()),
			cmp.Compare(a.from.id, b.from.id),
			cmp.Compare(a.to.id, b.to.id),
		)
	})
	return out
}

// sort orders nodes by what they cost, or for pictures by how interesting they are.
func (g *graph) sort(byCum, visual bool) {
	rank := func(n *node) int64 { return n.flat }
	second := func(n *node) int64 { return n.cum }
	switch {
	case visual:
		scores := make(map[*node]int64, len(g.nodes))
		for _, n := range g.nodes {
			scores[n] = n.entropy(g.abs)
		}
		rank = func(n *node) int64 { return scores[n] }
		second = func(n *node) int64 { return n.flat }
	case byCum:
		rank, second = second, rank
	}
	abs := g.abs
	slices.SortFunc(g.nodes, func(a, b *node) int {
		if c := cmp.Compare(abs(rank(b)), abs(rank(a))); c != 0 {
			return c
		}
		if *a.Frame != *b.Frame {
			// Addresses come first in names and all have the same width.
			if a.Address != 0 && b.Address != 0 && a.Address != b.Address {
				return cmp.Compare(a.Address, b.Address)
			}
			if c := cmp.Compare(a.printable(), b.printable()); c != 0 {
				return c
			}
		}
		return cmp.Or(
			cmp.Compare(abs(second(b)), abs(second(a))),
			cmp.Compare(a.full(), b.full()),
			cmp.Compare(a.id, b.id),
		)
	})
}

// full returns all there is to know about a frame, to order frames that look the same.
func (n *node) full() string {
	return fmt.Sprintf("{%s  %d %s %d %d %d %s}", n.Name, n.Address, n.File, n.StartLine, n.Line, n.Column, n.Object)
}

// entropy scores how much a node tells in a picture: nodes that only pass a single caller on to a single callee tell
// little.
func (n *node) entropy(abs magnitude) int64 {
	score := 0.0
	if len(n.in) == 0 {
		score++
	} else {
		score += edgeEntropy(n.in, 0, abs)
	}
	if len(n.out) == 0 {
		score++
	} else {
		score += edgeEntropy(n.out, n.flat, abs)
	}
	return int64(score*float64(n.cum)) + n.flat
}

func edgeEntropy(edges []*edge, self int64, abs magnitude) float64 {
	total := self
	for _, e := range edges {
		if e.weight > 0 {
			total += e.weight
		}
	}
	if total == 0 {
		return 0
	}
	score := 0.0
	add := func(v int64) {
		share := float64(abs(v)) / float64(total)
		score -= share * math.Log2(share)
	}
	for _, e := range edges {
		add(e.weight)
	}
	if self > 0 {
		add(self)
	}
	return score
}
