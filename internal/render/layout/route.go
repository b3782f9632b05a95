package layout

import (
	"math"
	"slices"
)

// clearance is how far lines stay away from boxes and labels of others, to the side, and above and below.
const clearance = 4

// A band is a part of the way of a line, from one height to another, and the room there is on it.
type band struct{ top, low, left, right float64 }

// route makes the curve of a line: the shortest way from center to center through the room that boxes leave, made
// smooth as far as the room allows.
func (d *drawing) route(ln *line) {
	first, last := ln.path[0], ln.path[len(ln.path)-1]
	a, b := &d.vertices[first], &d.vertices[last]
	sizeA, sizeB := d.graph.Nodes[a.node], d.graph.Nodes[b.node]
	from := Point{a.x, d.center(first)}
	to := Point{b.x, d.center(last)}
	leave, arrive := from.Y+sizeA.Height/2, to.Y-sizeB.Height/2
	var bands []band
	inset := func(w float64) float64 { return w/2 - min(w/4, 3) }
	room := func(v int, top, low float64) {
		left, right := d.gap(v, ln)
		bands = append(bands, band{top, low, left, right})
	}
	bands = append(bands, band{from.Y, leave, a.x - inset(sizeA.Width), a.x + inset(sizeA.Width)})
	y := d.lows[a.rank] + clearance
	room(first, leave, y)
	for i, v := range ln.path[1:] {
		r := a.rank + 1 + i
		top := max(y, d.tops[r]-clearance)
		bands = append(bands, band{y, top, 0, d.Width})
		y = top
		if v == last {
			room(v, y, arrive)
			break
		}
		y = d.lows[r] + clearance
		room(v, top, y)
	}
	bands = append(bands, band{arrive, to.Y, b.x - inset(sizeB.Width), b.x + inset(sizeB.Width)})
	way := shortest(from, to, bands)
	way = between(way, leave, arrive)
	ln.curve = append([]Point{way[0]}, (&fitter{bands}).fit(way, steep(toward(way[0], way[1])), steep(toward(way[len(way)-2], way[len(way)-1])))...)
}

// gap returns how far to the left and right of v its line may go in the row of v.
func (d *drawing) gap(v int, ln *line) (left, right float64) {
	at := &d.vertices[v]
	x := at.x
	left, right = d.walls[v][0], d.walls[v][1]
	if at.node >= 0 && len(d.loops[v]) > 0 {
		right = min(right, x+at.left) // on the right there are loops and their labels
	}
	if v == ln.label {
		// Near its label, so that one can see whose it is.
		left, right = max(left, x-3*lineRoom), x+1
	}
	// Vertices always leave room for lines, so left is less than right but for rounding.
	return min(left, x), max(right, x)
}

// findWalls finds, on both sides of each vertex, where the next box or label in its row ends what is free.
func (d *drawing) findWalls() {
	d.walls = make([][2]float64, len(d.vertices))
	for _, row := range d.rows {
		wall := 0.0
		for _, v := range row {
			d.walls[v][0] = wall
			if u := &d.vertices[v]; u.solid() {
				wall = u.x + u.right + clearance
			}
		}
		wall = d.Width
		for _, v := range slices.Backward(row) {
			d.walls[v][1] = wall
			if u := &d.vertices[v]; u.solid() {
				wall = u.x - u.left - clearance
			}
		}
	}
}

// shortest returns the corners of the shortest way down through bands, by the funnel method: two chains hold the corners
// that limit what can be seen from the last fixed corner; where they cross, a corner becomes fixed.
func shortest(from, to Point, bands []band) []Point {
	type door struct{ left, right Point }
	doors := make([]door, 0, len(bands))
	for i := 1; i < len(bands); i++ {
		above, below := bands[i-1], bands[i]
		doors = append(doors, door{
			Point{max(above.left, below.left), below.top}, Point{min(above.right, below.right), below.top},
		})
	}
	doors = append(doors, door{to, to})
	way := []Point{from}
	apex, left, right := from, doors[0].left, doors[0].right
	atLeft, atRight := 0, 0
	for i := 1; i < len(doors); i++ {
		next := doors[i]
		if turn(apex, right, next.right) >= 0 { // it does not widen the funnel
			if same(apex, right) || turn(apex, left, next.right) < 0 {
				right, atRight = next.right, i
			} else {
				way = append(way, left)
				apex, i = left, atLeft
				left, right, atRight = apex, apex, i
				continue
			}
		}
		if turn(apex, left, next.left) <= 0 {
			if same(apex, left) || turn(apex, right, next.left) > 0 {
				left, atLeft = next.left, i
			} else {
				way = append(way, right)
				apex, i = right, atRight
				left, right, atLeft = apex, apex, i
				continue
			}
		}
	}
	return append(way, to)
}

// turn is positive where c lies left of the way down from a to b, negative where it lies right.
func turn(a, b, c Point) float64 { return (b.X-a.X)*(c.Y-a.Y) - (c.X-a.X)*(b.Y-a.Y) }

func same(a, b Point) bool { return math.Abs(a.X-b.X)+math.Abs(a.Y-b.Y) < 1e-9 }

// between cuts off what is above top and below low.
func between(way []Point, top, low float64) []Point {
	cross := func(a, b Point, y float64) Point {
		if b.Y == a.Y {
			return Point{a.X, y}
		}
		return Point{a.X + (b.X-a.X)*(y-a.Y)/(b.Y-a.Y), y}
	}
	var out []Point
	for i, p := range way {
		switch {
		case p.Y < top:
			if q := way[i+1]; q.Y >= top {
				out = append(out, cross(p, q, top))
			}
		case p.Y > low:
			if q := way[i-1]; q.Y <= low {
				out = append(out, cross(q, p, low))
			}
		case len(out) == 0 || !same(out[len(out)-1], p):
			out = append(out, p)
		}
	}
	return out
}

func toward(a, b Point) Point {
	d := math.Hypot(b.X-a.X, b.Y-a.Y)
	if d == 0 {
		return Point{0, 1}
	}
	return Point{(b.X - a.X) / d, (b.Y - a.Y) / d}
}

// steep returns a direction that is down enough for a line to look as if it came out of a box, and not along it.
func steep(p Point) Point {
	const least = 0.6
	if p.Y >= least {
		return p
	}
	return Point{math.Copysign(math.Sqrt(1-least*least), p.X), least}
}

// A fitter turns a way of straight lines into splines that stay within bands.
type fitter struct{ bands []band }

// fit returns the control points of splines along way, without the first. start and end are the directions at the ends.
func (f *fitter) fit(way []Point, start, end Point) []Point {
	a, b := way[0], way[len(way)-1]
	d := math.Hypot(b.X-a.X, b.Y-a.Y)
	for _, pull := range []float64{0.5, 0.4, 0.3, 0.2, 0.1} {
		s := [4]Point{
			a, {a.X + start.X*d*pull, a.Y + start.Y*d*pull},
			{b.X - end.X*d*pull, b.Y - end.Y*d*pull}, b,
		}
		if f.within(s) {
			return s[1:]
		}
	}
	if len(way) == 2 {
		third := func(p, q Point) Point { return Point{p.X + (q.X-p.X)/3, p.Y + (q.Y-p.Y)/3} }
		return []Point{third(a, b), third(b, a), b}
	}
	m := f.farthest(way)
	mid := toward(way[m-1], way[m+1])
	return append(f.fit(way[:m+1], start, mid), f.fit(way[m:], mid, end)...)
}

// farthest returns the inner corner of way that is farthest from the line between its ends.
func (f *fitter) farthest(way []Point) int {
	best, most := 1, -1.0
	for i := 1; i < len(way)-1; i++ {
		if d := math.Abs(turn(way[0], way[len(way)-1], way[i])); d > most {
			best, most = i, d
		}
	}
	return best
}

// within reports whether a spline stays within the bands, and runs down all the way.
func (f *fitter) within(s [4]Point) bool {
	steps := int(min(max((math.Abs(s[3].X-s[0].X)+s[3].Y-s[0].Y)/3, 12), 4000))
	at, y := 0, s[0].Y
	for i := 1; i < steps; i++ {
		t := float64(i) / float64(steps)
		u := 1 - t
		p := Point{
			u*u*u*s[0].X + 3*u*u*t*s[1].X + 3*u*t*t*s[2].X + t*t*t*s[3].X,
			u*u*u*s[0].Y + 3*u*u*t*s[1].Y + 3*u*t*t*s[2].Y + t*t*t*s[3].Y,
		}
		if p.Y < y {
			return false
		}
		y = p.Y
		for at < len(f.bands)-1 && f.bands[at].low < y {
			at++
		}
		if b := &f.bands[at]; p.X < b.left-1e-6 || p.X > b.right+1e-6 {
			return false
		}
	}
	return true
}
