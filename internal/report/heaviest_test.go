package report

import (
	"slices"
	"testing"
)

// TestHeaviestPath checks which way through a graph is the heaviest, and that a call counts as what it changed in a difference.
func TestHeaviestPath(t *testing.T) {
	type call struct {
		from, to int
		mean     int64
	}
	for _, c := range []struct {
		what  string
		shown int // nodes; those after them are not shown
		calls []call
		nodes []int
		edges []int
	}{
		{what: "no calls", shown: 2},
		{"both ways from the heaviest", 6, []call{{0, 1, 90}, {1, 2, 100}, {2, 3, 60}, {2, 4, 30}, {3, 5, 11}}, []int{0, 1, 2, 3, 5}, []int{1, 2, 4, 0}},
		{"too little to go on with", 4, []call{{0, 1, 100}, {1, 2, 9}}, []int{0, 1}, []int{0}},
		{"recursion", 3, []call{{0, 0, 100}, {0, 1, 50}, {1, 0, 70}, {1, 2, 20}}, []int{0, 1, 2}, []int{0, 1, 3}},
		{"less in the new profile", 4, []call{{0, 1, -100}, {1, 2, -80}, {1, 3, 20}}, []int{0, 1, 2}, []int{0, 1}},
		{"not shown", 2, []call{{0, 2, 100}, {0, 1, 50}}, []int{0}, []int{0}},
	} {
		g := Graph{Nodes: make([]Node, c.shown)}
		for i, e := range c.calls {
			g.Edges = append(g.Edges, Edge{From: e.from, To: e.to, Weight: e.mean, Mean: e.mean})
			g.Nodes[e.from].Out = append(g.Nodes[e.from].Out, i)
			if e.to < c.shown {
				g.Nodes[e.to].In = append(g.Nodes[e.to].In, i)
			}
		}
		if w := g.HeaviestPath(); !slices.Equal(w.Nodes, c.nodes) || !slices.Equal(w.Edges, c.edges) {
			t.Errorf("%s: nodes %v, edges %v; want %v, %v", c.what, w.Nodes, w.Edges, c.nodes, c.edges)
		}
	}
}
