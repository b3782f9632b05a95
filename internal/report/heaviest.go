package report

import (
	"slices"

	"github.com/hone-perf/hone/internal/unit"
)

// A Way is a path through a Graph.
type Way struct {
	Nodes []int // that the graph shows
	Edges []int
}

// leastOfWay is the share of the heaviest call below which a call does not continue the way.
const leastOfWay = 0.1

// HeaviestPath returns the path that most of the cost takes: the heaviest call, what leads to it, and where it goes on from there. In a
// difference, the heaviest calls are those that changed most.
func (g *Graph) HeaviestPath() (w Way) {
	weight := func(id int) int64 { return unit.Abs(g.Edges[id].Mean) }
	first := -1
	for i := range g.Nodes {
		for _, id := range g.Nodes[i].Out {
			if first < 0 || weight(id) > weight(first) {
				first = id
			}
		}
	}
	if first < 0 {
		return w
	}
	w.Edges = append(w.Edges, first)
	at := make(map[int]bool)
	visit := func(n int) {
		if n < len(g.Nodes) && !at[n] {
			at[n] = true
			w.Nodes = append(w.Nodes, n)
		}
	}
	// follow goes on from a node for as long as the heaviest call leads to a node where the way was not yet.
	follow := func(n int, edges func(*Node) []int, end func(*Edge) int) {
		for n < len(g.Nodes) {
			next := -1
			for _, id := range edges(&g.Nodes[n]) {
				if to := end(&g.Edges[id]); to < len(g.Nodes) && !at[to] && (next < 0 || weight(id) > weight(next)) {
					next = id
				}
			}
			if next < 0 || float64(weight(next)) < leastOfWay*float64(weight(first)) {
				return
			}
			w.Edges = append(w.Edges, next)
			n = end(&g.Edges[next])
			visit(n)
		}
	}
	from, to := g.Edges[first].From, g.Edges[first].To
	visit(from)
	visit(to)
	follow(to, func(n *Node) []int { return n.Out }, func(e *Edge) int { return e.To })
	follow(from, func(n *Node) []int { return n.In }, func(e *Edge) int { return e.From })
	slices.Sort(w.Nodes)
	return w
}
