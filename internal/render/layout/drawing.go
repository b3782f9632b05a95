package layout

import (
	"fmt"
	"slices"
)

// A drawing is the layout of one part of a graph, in coordinates of its own.
type drawing struct {
	layering
	Size
	graph Graph
	part  part
	lines []line
	loops [][]int // edges from a node to itself, by vertex
	tops  []float64
	lows  []float64    // of the rows
	walls [][2]float64 // see findWalls
}

// A line is an edge on its way through the rows.
type line struct {
	edge     int  // of the graph
	reversed bool // it runs upwards
	path     []int
	label    int // vertex that has the label, or -1
	curve    []Point
}

// The room that an edge to the node itself takes beside it, and that a label has from its line.
const (
	loopWidth = 26
	labelGap  = 5
	lineRoom  = 5 // to either side of an edge
)

func draw(g Graph, p part, o Options, work *budget) (*drawing, error) {
	d := &drawing{graph: g, part: p}
	vertexOf := make(map[int]int, len(p.nodes))
	for i, n := range p.nodes {
		vertexOf[n] = i
		size := g.Nodes[n]
		d.vertices = append(d.vertices, vertex{node: n, edge: -1, left: size.Width / 2, right: size.Width / 2, high: size.Height})
	}
	d.loops = make([][]int, len(p.nodes))
	labeled := false
	var arcs []arc
	for _, id := range p.edges {
		e := &g.Edges[id]
		from, to := vertexOf[e.From], vertexOf[e.To]
		if from == to {
			d.loops[from] = append(d.loops[from], id)
			continue
		}
		labeled = labeled || e.Label != Size{}
		const most = 1000
		arcs = append(arcs, arc{from: from, to: to, span: min(max(e.Span, 1), 100), weight: min(max(e.Weight, 1), most)})
		d.lines = append(d.lines, line{edge: id, label: -1})
	}
	for i, loops := range d.loops {
		wide, high := d.loopLabels(loops)
		if v := &d.vertices[i]; len(loops) > 0 {
			v.right += loopWidth + wide
			v.high = max(v.high, high)
		}
	}
	for i, back := range backward(len(d.vertices), arcs) {
		if back {
			arcs[i].from, arcs[i].to = arcs[i].to, arcs[i].from
			d.lines[i].reversed = true
		}
	}
	if labeled {
		// Labels stand in rows of their own between those of the boxes.
		for i := range arcs {
			arcs[i].span *= 2
		}
		o.RankGap /= 2
	}
	third := *work / 3
	left := third
	rank := ranks(len(d.vertices), arcs, &left)
	*work -= third - left
	if err := d.cutIntoPieces(rank, arcs); err != nil {
		return nil, err
	}
	d.order(work)
	enough := third // straight lines are worth having even where order took all there was
	d.straighten(o.NodeGap, &enough)
	d.measure(o)
	d.findWalls()
	for i := range d.lines {
		d.route(&d.lines[i])
	}
	return d, nil
}

// cutIntoPieces puts the vertices into rows, with new ones where edges cross a row.
func (d *drawing) cutIntoPieces(rank []int, arcs []arc) error {
	pieces, rows := 0, 1
	for i := range arcs {
		a := &arcs[i]
		pieces += rank[a.to] - rank[a.from]
	}
	for i, r := range rank {
		d.vertices[i].rank = r
		rows = max(rows, r+1)
	}
	if pieces > maxPieces {
		return fmt.Errorf("%w: its edges cross %d rows, the most are %d", ErrTooLarge, pieces, maxPieces)
	}
	d.rows = make([][]int, rows)
	d.up = make([][]piece, len(d.vertices))
	d.down = make([][]piece, len(d.vertices))
	connect := func(a, b, weight int) {
		d.down[a] = append(d.down[a], piece{b, weight})
		d.up[b] = append(d.up[b], piece{a, weight})
	}
	for i := range arcs {
		a := &arcs[i]
		ln := &d.lines[i]
		label := d.graph.Edges[ln.edge].Label
		from, to := rank[a.from], rank[a.to]
		middle := -1
		if label != (Size{}) {
			middle = (from + to) / 2
			if (middle-from)%2 == 0 {
				middle--
			}
		}
		ln.path = append(ln.path, a.from)
		last := a.from
		for r := from + 1; r < to; r++ {
			v := len(d.vertices)
			x := vertex{node: -1, edge: i, left: lineRoom, right: lineRoom, rank: r}
			if r == middle {
				x.label = true
				x.right = labelGap + label.Width
				x.high = label.Height
				ln.label = v
			}
			d.vertices = append(d.vertices, x)
			d.up = append(d.up, nil)
			d.down = append(d.down, nil)
			connect(last, v, a.weight)
			ln.path = append(ln.path, v)
			last = v
		}
		connect(last, a.to, a.weight)
		ln.path = append(ln.path, a.to)
	}
	return nil
}

// measure gives the rows their height and moves everything to where the drawing begins at 0, 0.
func (d *drawing) measure(o Options) {
	d.tops, d.lows = make([]float64, len(d.rows)), make([]float64, len(d.rows))
	left, right := 0.0, 0.0
	for i := range d.vertices {
		v := &d.vertices[i]
		if i == 0 || v.x-v.left < left {
			left = v.x - v.left
		}
		if i == 0 || v.x+v.right > right {
			right = v.x + v.right
		}
	}
	for i := range d.vertices {
		d.vertices[i].x -= left
	}
	y := 0.0
	for r, row := range d.rows {
		high := 0.0
		for _, v := range row {
			high = max(high, d.vertices[v].high)
		}
		d.tops[r], d.lows[r] = y, y+high
		y += high + o.RankGap
	}
	d.Size = Size{right - left, d.lows[len(d.rows)-1]}
}

// center returns where the middle of the row of v is.
func (d *drawing) center(v int) float64 {
	r := d.vertices[v].rank
	return (d.tops[r] + d.lows[r]) / 2
}

// moveTo writes the drawing into l, with its top left corner at x, y.
func (d *drawing) moveTo(l *Layout, x, y float64) {
	for i, n := range d.part.nodes {
		v := &d.vertices[i]
		l.Nodes[n] = Point{v.x + x, d.center(i) + y}
		for k, id := range d.loops[i] {
			l.Edges[id] = d.loop(i, k, x, y)
		}
	}
	for i := range d.lines {
		ln := &d.lines[i]
		r := &l.Edges[ln.edge]
		r.Curve = ln.curve
		for j := range r.Curve {
			r.Curve[j].X += x
			r.Curve[j].Y += y
		}
		if ln.reversed {
			slices.Reverse(r.Curve)
		}
		if ln.label >= 0 {
			v := &d.vertices[ln.label]
			r.Label = Point{v.x + (labelGap+v.right)/2 + x, d.center(ln.label) + y}
		}
	}
}

// loopLabels returns the room for the labels of loops, which stand below each other.
func (d *drawing) loopLabels(loops []int) (wide, high float64) {
	for _, id := range loops {
		l := d.graph.Edges[id].Label
		wide = max(wide, l.Width)
		high += l.Height
	}
	return wide, high
}

// loop returns the route of the kth edge from the box of v to itself: out of its right side, to its label, and back.
func (d *drawing) loop(v, k int, x, y float64) Route {
	size := d.graph.Nodes[d.vertices[v].node]
	side := d.vertices[v].x + size.Width/2 + x
	center := d.center(v) + y
	// The loops of a node share its side, and the labels the height of all.
	n := float64(len(d.loops[v]))
	_, high := d.loopLabels(d.loops[v])
	spare := max(0, size.Height-high) / n
	at := center - max(size.Height, high)/2
	for _, id := range d.loops[v][:k] {
		at += d.graph.Edges[id].Label.Height + spare
	}
	label := d.graph.Edges[d.loops[v][k]].Label
	room := label.Height + spare
	at += room / 2
	share := size.Height / n
	middle := center - size.Height/2 + share*(float64(k)+0.5)
	far := side + loopWidth - labelGap
	bow := min(share/4, room/2)
	return Route{
		Curve: []Point{
			{side, middle - bow}, {side + loopWidth/2, middle - bow}, {far, at - bow}, {far, at},
			{far, at + bow}, {side + loopWidth/2, middle + bow}, {side, middle + bow},
		},
		Label: Point{side + loopWidth + label.Width/2, at},
	}
}
