package calls

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/hone-perf/hone/internal/report"
)

// A Trim says how much of a graph to keep.
type Trim struct {
	Nodes    int     // at most so many; 0 is all
	Min      float64 // share of the total below which nodes go
	MinEdge  float64 // and calls
	ByCum    bool
	Visual   bool // for a picture: interesting nodes first, no redundant calls
	Tree     bool
	Units    map[string]string // of number labels, for tags
	ShowUnit string
}

// maxNodelets is how many tags of a node a picture shows.
const maxNodelets = 4

// Trimmed returns the graph cut down to what is worth showing. Costs are exact in spite of it: whenever nodes go,
// the calls between those that stay are added up anew from the samples.
func (b *Builder) Trimmed(t Trim, filter CallFilter) (*Graph, report.Trimming) {
	var out report.Trimming
	var g *Graph
	var x *treeIndex
	var total int64
	if t.Tree {
		g, x = b.tree()
		for _, n := range g.Nodes {
			total += n.Flat
		}
	} else {
		b.Costs()
		total = b.listedTotal()
	}
	abs := b.Magnitude()
	cutoff := abs(int64(float64(total) * t.Min))
	edgeCutoff := abs(int64(float64(total) * t.MinEdge))

	switch {
	case t.Tree && cutoff > 0:
		before := len(g.Nodes)
		big := func(n *Node) bool { return abs(n.Cum) >= cutoff }
		if out.Dropped = before - count(g.Nodes, big); out.Dropped > 0 {
			g.trimTree(big)
		}
	case !t.Tree:
		var kept []bool // nil is all
		if cutoff > 0 {
			kept, out.Dropped = b.big(cutoff)
		}
		if out.Dropped == 0 {
			kept = nil
		}
		g = b.Graph(kept, nil)
	}
	out.Of = len(g.Nodes)
	// Calls and tags matter for which nodes a picture shows; else only those of the nodes that are left do.
	connected := t.Visual || t.Nodes <= 0 || t.Nodes >= len(g.Nodes)
	switch {
	case connected && !t.Tree && g.kept != nil && filter.To == nil && filter.From == nil:
		b.allEdges(g, cutoff)
		b.connectTags(g, x, t)
	case connected:
		b.connect(g, x, t, filter)
	}
	g.Sort(t.ByCum, t.Visual)

	if t.Nodes > 0 {
		if connected {
			g.trimTags(cutoff)
			g.TrimEdges(edgeCutoff)
		}
		if top := g.top(t.Nodes, t.Visual); top < len(g.Nodes) {
			shown := make(map[*Node]bool, top)
			for _, n := range g.Nodes[:top] {
				shown[n] = true
			}
			in := func(n *Node) bool { return shown[n] }
			if t.Tree {
				g.trimTree(in)
			} else {
				g = b.Graph(b.keep(g.Nodes, in), nil)
				b.connect(g, x, t, filter)
			}
			g.Sort(t.ByCum, t.Visual)
		}
	}
	g.trimTags(cutoff)
	if out.DroppedEdges = g.TrimEdges(edgeCutoff); t.Visual {
		g.removeRedundant()
	}
	out.Shown = len(g.Nodes)
	for _, n := range g.Nodes {
		out.Accounted += n.FlatValue()
	}
	return g, out
}

// listedTotal is what all frames cost that are to be shown.
func (b *Builder) listedTotal() (total int64) {
	for f := range b.Flat {
		if b.Listed(f) {
			total += b.Flat[f]
		}
	}
	return total
}

// cutoff is what frames cost at least that have a share of the whole.
func (b *Builder) cutoff(share float64) int64 {
	return b.Magnitude()(int64(float64(b.listedTotal()) * share))
}

func count(nodes []*Node, ok func(*Node) bool) int {
	n := 0
	for _, x := range nodes {
		if ok(x) {
			n++
		}
	}
	return n
}

// big returns the frames that cost at least cutoff with what they call, and how many do not.
func (b *Builder) big(cutoff int64) (kept []bool, dropped int) {
	kept = make([]bool, len(b.Table.Frames))
	abs := b.Magnitude()
	for f := range kept {
		switch {
		case !b.Listed(f):
		case abs(b.Cum[f].Sum) >= cutoff:
			kept[f] = true
		default:
			dropped++
		}
	}
	return kept, dropped
}

// keep returns the frames of those nodes for which ok is true.
func (b *Builder) keep(nodes []*Node, ok func(*Node) bool) []bool {
	kept := make([]bool, len(b.Table.Frames))
	for _, n := range nodes {
		if ok(n) {
			kept[n.ID] = true
		}
	}
	return kept
}

// connect adds calls, and for pictures tags, to g.
func (b *Builder) connect(g *Graph, x *treeIndex, t Trim, filter CallFilter) {
	if !t.Tree {
		b.Edges(g, filter)
	}
	b.connectTags(g, x, t)
}

// connectTags adds tags to g, for pictures.
func (b *Builder) connectTags(g *Graph, x *treeIndex, t Trim) {
	if !t.Visual {
		return
	}
	tags, some := graphTags(b.Profile, t.Units, t.ShowUnit)
	if !some {
		return
	}
	if x == nil {
		b.tag(tags, func(_ *Node, f int32) *Node {
			if !g.keeps(f) {
				return nil
			}
			return g.node(f)
		})
		return
	}
	b.tag(tags, func(above *Node, f int32) *Node {
		parent := -1
		if above != nil {
			parent = int(above.ID)
		}
		return x.nodes[x.find(parent, f)]
	})
}

// TrimEdges takes out calls that weigh less than cutoff and returns how many.
func (g *Graph) TrimEdges(cutoff int64) int {
	dropped := 0
	for _, n := range g.Nodes {
		for _, e := range n.In {
			if g.Abs(e.Weight) < cutoff {
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

func (n *Node) dropGone() {
	gone := func(e *Edge) bool { return e.gone }
	n.In = slices.DeleteFunc(n.In, gone)
	n.Out = slices.DeleteFunc(n.Out, gone)
}

// top returns how many of the sorted nodes to show. In pictures tags count as nodes.
func (g *Graph) top(limit int, visual bool) int {
	if visual {
		sum := 0
		for i, n := range g.Nodes {
			sum += min(n.countTags(), maxNodelets) + 1
			if sum >= limit {
				limit = i + 1
				break
			}
		}
	}
	return min(limit, len(g.Nodes))
}

// removeRedundant takes out calls through frames that are not shown where the same place can be reached another
// way. It goes from light to heavy and spares calls heavier than any direct one, to keep pictures easy to follow.
func (g *Graph) removeRedundant() {
	for _, n := range slices.Backward(g.Nodes) {
		in := SortEdges(n.In, g.Abs)
		for _, e := range slices.Backward(in) {
			if !e.Residual {
				break
			}
			if e.redundant() {
				e.gone = true
				e.From.dropGone()
				e.To.dropGone()
			}
		}
	}
}

// redundant reports whether the end of e can be reached from its start without it.
func (e *Edge) redundant() bool {
	seen := map[*Node]bool{e.To: true}
	queue := []*Node{e.To}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, in := range n.In {
			if in == e || seen[in.From] {
				continue
			}
			if in.From == e.From {
				return true
			}
			seen[in.From] = true
			queue = append(queue, in.From)
		}
	}
	return false
}

// SortEdges returns edges heaviest first, then by name.
func SortEdges(edges []*Edge, abs Magnitude) []*Edge {
	out := slices.Clone(edges)
	slices.SortFunc(out, func(a, b *Edge) int {
		if a.Weight != b.Weight {
			if c := cmp.Compare(abs(b.Weight), abs(a.Weight)); c != 0 {
				return c
			}
		}
		return cmp.Or(
			cmp.Compare(a.From.Printable(), b.From.Printable()),
			cmp.Compare(a.To.Printable(), b.To.Printable()),
			cmp.Compare(a.From.ID, b.From.ID),
			cmp.Compare(a.To.ID, b.To.ID),
		)
	})
	return out
}

// Sort orders nodes by what they cost, or for pictures by how interesting they are.
func (g *Graph) Sort(byCum, visual bool) {
	rank := func(n *Node) int64 { return n.Flat }
	second := func(n *Node) int64 { return n.Cum }
	if g.costs != nil && g.costs.ByMean {
		rank, second = (*Node).FlatValue, (*Node).CumValue
	}
	switch {
	case visual:
		scores := make(map[*Node]int64, len(g.Nodes))
		for _, n := range g.Nodes {
			scores[n] = n.entropy(g.Abs)
		}
		rank = func(n *Node) int64 { return scores[n] }
		second = func(n *Node) int64 { return n.Flat }
	case byCum:
		rank, second = second, rank
	}
	abs := g.Abs
	slices.SortFunc(g.Nodes, func(a, b *Node) int {
		if c := cmp.Compare(abs(rank(b)), abs(rank(a))); c != 0 {
			return c
		}
		if *a.Frame != *b.Frame {
			// Addresses come first in names and all have the same width.
			if a.Address != 0 && b.Address != 0 && a.Address != b.Address {
				return cmp.Compare(a.Address, b.Address)
			}
			if c := cmp.Compare(a.Printable(), b.Printable()); c != 0 {
				return c
			}
		}
		return cmp.Or(
			cmp.Compare(abs(second(b)), abs(second(a))),
			cmp.Compare(a.Full(), b.Full()),
			cmp.Compare(a.ID, b.ID),
		)
	})
}

// Full returns all there is to know about a frame, to order frames that look the same.
func (n *Node) Full() string {
	return fmt.Sprintf("{%s  %d %s %d %d %d %s}", n.Name, n.Address, n.File, n.StartLine, n.Line, n.Column, n.Object)
}

// entropy scores how much a node tells in a picture: nodes that only pass a single caller on to a single callee tell
// little.
func (n *Node) entropy(abs Magnitude) int64 {
	score := 0.0
	if len(n.In) == 0 {
		score++
	} else {
		score += edgeEntropy(n.In, 0, abs)
	}
	if len(n.Out) == 0 {
		score++
	} else {
		score += edgeEntropy(n.Out, n.Flat, abs)
	}
	return int64(score*float64(n.Cum)) + n.Flat
}

func edgeEntropy(edges []*Edge, self int64, abs Magnitude) float64 {
	total := self
	for _, e := range edges {
		if e.Weight > 0 {
			total += e.Weight
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
		add(e.Weight)
	}
	if self > 0 {
		add(self)
	}
	return score
}
