// Package layout places the boxes and lines of a directed graph: in rows, callers above callees, as graphviz does.
//
// It works in the steps that go back to Sugiyama, and that "A Technique for Drawing Directed Graphs" (Gansner, Koutsofios,
// North, Vo, 1993) made well known: edges that close a cycle are turned round, every node gets a row such that edges are
// short (rank.go), the nodes of a row are put in an order with few crossings (order.go), they are moved sideways until
// edges are straight (place.go), and edges become splines in the room that boxes leave (route.go). It knows sizes and
// weights, and nothing of what is drawn. The same graph always gets the same layout.
package layout

import (
	"errors"
	"fmt"
	"math"
)

// A Graph is what is to be placed.
type Graph struct {
	Nodes []Size
	Edges []Edge
}

// A Size is the room that a box takes.
type Size struct{ Width, Height float64 }

// An Edge is a line from one node to another, or to itself. Edges earlier in the graph are, all else equal, drawn
// further to the left.
type Edge struct {
	From, To int
	Weight   int  // the greater, the shorter and straighter; less than 1 is 1
	Span     int  // rows to go down at least; less than 1 is 1
	Label    Size // room beside the line; zero is no label
}

// A Point is a place in a picture. Y grows downwards.
type Point struct{ X, Y float64 }

// Options tune a layout. The zero Options suit boxes with text of 8 to 24 pixels.
type Options struct {
	NodeGap float64 // between boxes side by side; 0 means 20
	RankGap float64 // between rows; 0 means 44
	Work    int     // steps after which what is good enough stays as it is; 0 means some tenths of a second
}

// A Layout says where everything is.
type Layout struct {
	Size
	Nodes []Point // centers
	Edges []Route
}

// A Route is the line of an edge, from the border of one box to that of the other.
type Route struct {
	// Curve holds the control points of cubic splines: one to start at, then three for each.
	Curve []Point
	Label Point // center of the label
}

// ErrTooLarge says that a graph has more in it than can be placed in bounded time and memory, or could be read.
var ErrTooLarge = errors.New("the graph is too large for a picture")

// The most there may be in a graph: nodes, edges, and pieces that edges are cut into by the rows they cross.
const (
	maxNodes  = 5_000
	maxEdges  = 20_000
	maxPieces = 200_000
)

// maxLength bounds the sizes of boxes, so that sums of them stay exact.
const maxLength = 1e6

// Layered places g in rows.
func Layered(g Graph, o Options) (*Layout, error) {
	if err := check(g); err != nil {
		return nil, err
	}
	o.NodeGap = orElse(o.NodeGap, 20)
	o.RankGap = orElse(o.RankGap, 44)
	work := budget(o.Work)
	if work <= 0 {
		work = 20_000_000
	}
	l := &Layout{Nodes: make([]Point, len(g.Nodes)), Edges: make([]Route, len(g.Edges))}
	parts := components(g)
	var done []*drawing
	for i, p := range parts {
		// Whatever one part leaves over is for those that follow.
		share := work / budget(len(parts)-i)
		left := share
		d, err := draw(g, p, o, &left)
		if err != nil {
			return nil, err
		}
		work -= share - left
		done = append(done, d)
	}
	l.pack(done, o)
	return l, nil
}

func orElse(v, otherwise float64) float64 {
	if v > 0 {
		return v
	}
	return otherwise
}

func check(g Graph) error {
	if len(g.Nodes) > maxNodes || len(g.Edges) > maxEdges {
		return fmt.Errorf("%w: it has %d nodes and %d edges, the most are %d and %d",
			ErrTooLarge, len(g.Nodes), len(g.Edges), maxNodes, maxEdges)
	}
	fine := func(s Size) bool { // NaN is not
		return s.Width >= 0 && s.Height >= 0 && s.Width <= maxLength && s.Height <= maxLength
	}
	for i, n := range g.Nodes {
		if !fine(n) {
			return fmt.Errorf("node %d has the size %v by %v; lengths are 0 to %v", i, n.Width, n.Height, maxLength)
		}
	}
	for i, e := range g.Edges {
		if e.From < 0 || e.From >= len(g.Nodes) || e.To < 0 || e.To >= len(g.Nodes) {
			return fmt.Errorf("edge %d goes from node %d to %d; there are %d nodes", i, e.From, e.To, len(g.Nodes))
		}
		if !fine(e.Label) {
			return fmt.Errorf("the label of edge %d has the size %v by %v; lengths are 0 to %v", i, e.Label.Width, e.Label.Height, maxLength)
		}
	}
	return nil
}

// A budget is the steps that may still be taken. Steps and not time, so that a slow machine makes the same picture.
type budget int

func (b *budget) spend(n int) { *b -= budget(n) }
func (b *budget) spent() bool { return *b <= 0 }

// A part is nodes and edges that hang together.
type part struct{ nodes, edges []int }

// components cuts g into its parts, in the order of their first nodes.
func components(g Graph) []part {
	root := make([]int, len(g.Nodes))
	for i := range root {
		root[i] = i
	}
	find := func(i int) int {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	for _, e := range g.Edges {
		a, b := find(e.From), find(e.To)
		root[max(a, b)] = min(a, b)
	}
	var parts []part
	number := make([]int, len(g.Nodes))
	for i := range g.Nodes {
		r := find(i)
		if r == i {
			number[i] = len(parts)
			parts = append(parts, part{})
		}
		p := &parts[number[r]]
		p.nodes = append(p.nodes, i)
	}
	for i, e := range g.Edges {
		p := &parts[number[find(e.From)]]
		p.edges = append(p.edges, i)
	}
	return parts
}

// pack puts drawings side by side, in as many lines as make the picture about as wide as a screen is.
func (l *Layout) pack(drawings []*drawing, o Options) {
	const aspect = 1.6
	gap := 2 * o.NodeGap
	var widest, area float64
	for _, d := range drawings {
		widest = max(widest, d.Width)
		area += (d.Width + gap) * (d.Height + gap)
	}
	room := max(widest, math.Sqrt(area*aspect))
	var x, y, high float64
	for _, d := range drawings {
		if x > 0 && x+d.Width > room+1 {
			x, y, high = 0, y+high+gap, 0
		}
		d.moveTo(l, x, y)
		high = max(high, d.Height)
		l.Width = max(l.Width, x+d.Width)
		l.Height = max(l.Height, y+d.Height)
		x += d.Width + gap
	}
}
