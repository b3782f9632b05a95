package layout

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/testrun"
)

// random returns a graph like those of calls: most edges lead on, some back, heavy ones are few.
func random(seed uint64, nodes, edges int) Graph {
	r := rand.New(rand.NewPCG(seed, 1))
	var g Graph
	for range nodes {
		g.Nodes = append(g.Nodes, Size{30 + r.Float64()*150, 20 + r.Float64()*80})
	}
	for range edges {
		// Most calls stay near by, and few lead back.
		a := r.IntN(nodes)
		b := a + int(r.ExpFloat64()*float64(nodes)/8) + 1
		if b >= nodes || r.IntN(20) == 0 {
			b = r.IntN(nodes)
		}
		g.Edges = append(g.Edges, Edge{
			From: a, To: b, Weight: 1 + int(100*math.Pow(r.Float64(), 8)), Span: r.IntN(10) / 8 * 2,
			Label: Size{20 + r.Float64()*40, 14},
		})
	}
	return g
}

// at returns a point of a spline.
func at(s []Point, t float64) Point {
	u := 1 - t
	a, b, c, d := u*u*u, 3*u*u*t, 3*u*t*t, t*t*t
	return Point{a*s[0].X + b*s[1].X + c*s[2].X + d*s[3].X, a*s[0].Y + b*s[1].Y + c*s[2].Y + d*s[3].Y}
}

// A rect is a box in a picture.
type rect struct{ left, top, right, low float64 }

func rectAt(p Point, s Size) rect {
	return rect{p.X - s.Width/2, p.Y - s.Height/2, p.X + s.Width/2, p.Y + s.Height/2}
}

// holds reports whether p is inside r by more than what rounding explains.
func (r rect) holds(p Point) bool {
	const by = 0.01
	return p.X > r.left+by && p.X < r.right-by && p.Y > r.top+by && p.Y < r.low-by
}

func (r rect) meets(o rect) bool {
	const by = 0.01
	return r.left < o.right-by && o.left < r.right-by && r.top < o.low-by && o.top < r.low-by
}

func (r rect) onBorder(p Point) bool {
	const by = 0.01
	inside := p.X >= r.left-by && p.X <= r.right+by && p.Y >= r.top-by && p.Y <= r.low+by
	return inside && !r.holds(p)
}

// faults lists what is wrong with a layout.
func faults(g Graph, l *Layout) []string {
	var out []string
	fault := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	frame := rect{-0.01, -0.01, l.Width + 0.01, l.Height + 0.01}
	boxes := make([]rect, 0, len(g.Nodes)+len(g.Edges))
	names := make([]string, 0, cap(boxes))
	for i, n := range g.Nodes {
		boxes = append(boxes, rectAt(l.Nodes[i], n))
		names = append(names, fmt.Sprintf("node %d", i))
	}
	for i, e := range g.Edges {
		if e.Label != (Size{}) {
			boxes = append(boxes, rectAt(l.Edges[i].Label, e.Label))
			names = append(names, fmt.Sprintf("label %d", i))
		}
	}
	for i, a := range boxes {
		if a.left < frame.left || a.top < frame.top || a.right > frame.right || a.low > frame.low || math.IsNaN(a.left+a.top) {
			fault("%s at %v is outside of %v", names[i], a, l.Size)
		}
		for j := range i {
			if a.meets(boxes[j]) {
				fault("%s at %v meets %s at %v", names[i], a, names[j], boxes[j])
			}
		}
	}
	for i, e := range g.Edges {
		c := l.Edges[i].Curve
		if len(c) < 4 || len(c)%3 != 1 {
			fault("edge %d has %d points", i, len(c))
			continue
		}
		if !boxes[e.From].onBorder(c[0]) {
			fault("edge %d begins at %v, its node is %v", i, c[0], boxes[e.From])
		}
		if !boxes[e.To].onBorder(c[len(c)-1]) {
			fault("edge %d ends at %v, its node is %v", i, c[len(c)-1], boxes[e.To])
		}
	points:
		for k := 0; k+3 < len(c); k += 3 {
			for step := range 65 {
				p := at(c[k:], float64(step)/64)
				if !frame.holds(p) && (p.X < -0.02 || p.Y < -0.02 || p.X > l.Width+0.02 || p.Y > l.Height+0.02) {
					fault("edge %d leaves the picture at %v", i, p)
					break points
				}
				for j, b := range boxes {
					if b.holds(p) {
						fault("edge %d, %d to %d, runs through %s %v at %v", i, e.From, e.To, names[j], b, p)
						break points
					}
				}
			}
		}
	}
	return out
}

func layered(t *testing.T, g Graph) *Layout {
	t.Helper()
	l, err := Layered(g, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLayered(t *testing.T) {
	box := func(n int) []Size {
		nodes := make([]Size, n)
		for i := range nodes {
			nodes[i] = Size{60, 30}
		}
		return nodes
	}
	tests := []struct {
		name string
		g    Graph
	}{
		{"nothing", Graph{}},
		{"one node", Graph{Nodes: box(1)}},
		{"apart", Graph{Nodes: box(7)}},
		{"a call", Graph{Nodes: box(2), Edges: []Edge{{From: 0, To: 1}}}},
		{"recursion", Graph{Nodes: box(1), Edges: []Edge{{}, {Label: Size{30, 50}}}}},
		{"loops", Graph{Nodes: box(2), Edges: []Edge{
			{}, {}, {Label: Size{75, 9}}, {Label: Size{10, 90}}, {From: 0, To: 1}, {From: 1, To: 1}}}},
		{"mutual recursion", Graph{Nodes: box(2), Edges: []Edge{{From: 0, To: 1}, {From: 1, To: 0}}}},
		{"duplicates", Graph{Nodes: box(2), Edges: []Edge{
			{From: 0, To: 1, Label: Size{20, 10}}, {From: 0, To: 1, Label: Size{20, 10}}, {From: 1, To: 0, Label: Size{20, 10}}}}},
		{"no size", Graph{Nodes: make([]Size, 3), Edges: []Edge{{From: 0, To: 1}, {From: 1, To: 2}, {From: 0, To: 2}}}},
		{"a long way round", Graph{Nodes: box(5), Edges: []Edge{
			{From: 0, To: 1}, {From: 1, To: 2}, {From: 2, To: 3}, {From: 3, To: 4}, {From: 0, To: 4}, {From: 4, To: 0}}}},
		{"two parts", Graph{Nodes: box(4), Edges: []Edge{{From: 0, To: 2}, {From: 1, To: 3}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, f := range faults(tt.g, layered(t, tt.g)) {
				t.Error(f)
			}
		})
	}
}

// Whatever the graph, nothing lies on anything else.
func TestLayeredRandom(t *testing.T) {
	for seed := uint64(0); seed < 80; seed += uint64(testrun.Size(1, 5)) {
		nodes := 2 + int(seed)%60
		g := random(seed, nodes, nodes*(1+int(seed)%4))
		if seed%3 == 0 {
			for i := range g.Edges {
				g.Edges[i].Label = Size{}
			}
		}
		for _, f := range faults(g, layered(t, g)) {
			t.Errorf("graph %d: %s", seed, f)
		}
	}
}

func TestLayeredIsDeterministic(t *testing.T) {
	g := random(7, 60, 150)
	if a, b := layered(t, g), layered(t, g); !reflect.DeepEqual(a, b) {
		t.Error("the same graph has two layouts")
	}
}

// Callers stand above what they call, unless there is a cycle.
func TestLayeredRunsDown(t *testing.T) {
	g := random(11, 50, 120)
	for i := range g.Edges {
		if e := &g.Edges[i]; e.From > e.To {
			e.From, e.To = e.To, e.From
		}
	}
	l := layered(t, g)
	for i, e := range g.Edges {
		if e.From != e.To && l.Nodes[e.From].Y >= l.Nodes[e.To].Y {
			t.Errorf("edge %d runs from %v up to %v", i, l.Nodes[e.From], l.Nodes[e.To])
		}
	}
}

// No way to give rows makes the edges shorter.
func TestRanks(t *testing.T) {
	const n = 5
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		var arcs []arc
		for v := 1; v < n; v++ { // a tree, so that all hangs together
			arcs = append(arcs, arc{from: r.IntN(v), to: v, span: 1 + r.IntN(2), weight: 1 + r.IntN(9)})
		}
		for range r.IntN(5) {
			v := 1 + r.IntN(n-1)
			arcs = append(arcs, arc{from: r.IntN(v), to: v, span: 1, weight: 1 + r.IntN(9)})
		}
		length := func(rank []int) int {
			sum := 0
			for i := range arcs {
				if arcs[i].slack(rank) < 0 {
					return math.MaxInt
				}
				sum += arcs[i].weight * (rank[arcs[i].to] - rank[arcs[i].from])
			}
			return sum
		}
		const rows = 9
		best := math.MaxInt
		for code := range rows * rows * rows * rows * rows {
			rank := make([]int, n)
			for v := range rank {
				rank[v] = code % rows
				code /= rows
			}
			best = min(best, length(rank))
		}
		work := budget(1_000_000)
		if got := ranks(n, arcs, &work); length(got) != best {
			t.Errorf("graph %d: ranks(%v) = %v, of length %d; the shortest is %d", seed, arcs, got, length(got), best)
		}
	}
}

func TestCrossings(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for range 50 {
		const wide = 8
		l := layering{vertices: make([]vertex, 2*wide), up: make([][]piece, 2*wide), down: make([][]piece, 2*wide)}
		l.rows = [][]int{r.Perm(wide), r.Perm(wide)}
		for i := range l.rows[1] {
			l.rows[1][i] += wide
			l.vertices[wide+i].rank = 1
		}
		l.place()
		var ends [][2]int
		for range 20 {
			a, b := r.IntN(wide), wide+r.IntN(wide)
			l.down[a] = append(l.down[a], piece{b, 1})
			l.up[b] = append(l.up[b], piece{a, 1})
			ends = append(ends, [2]int{l.vertices[a].pos, l.vertices[b].pos})
		}
		want := 0
		for i, a := range ends {
			for _, b := range ends[:i] {
				if (a[0]-b[0])*(a[1]-b[1]) < 0 {
					want++
				}
			}
		}
		work := budget(1_000_000)
		if got := l.crossings(&work); got != want {
			t.Errorf("%v cross %d times, want %d", ends, got, want)
		}
		l.order(&work)
		if got := l.crossings(&work); got > want {
			t.Errorf("order makes %d crossings of %d", got, want)
		}
	}
}

// With hardly any work allowed the picture is worse, but nothing is wrong in it.
func TestLayeredInAHurry(t *testing.T) {
	for _, work := range []int{1, 1000, 50_000} {
		g := random(3, 60, 150)
		l, err := Layered(g, Options{Work: work})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range faults(g, l) {
			t.Errorf("work %d: %s", work, f)
		}
	}
}

func TestLayeredLimits(t *testing.T) {
	long := Graph{Nodes: make([]Size, 3000)}
	for i := range 2999 {
		long.Edges = append(long.Edges, Edge{From: i, To: i + 1}, Edge{From: 0, To: i + 1})
	}
	for name, g := range map[string]Graph{
		"nodes":  {Nodes: make([]Size, maxNodes+1)},
		"edges":  {Nodes: make([]Size, 2), Edges: make([]Edge, maxEdges+1)},
		"pieces": long,
	} {
		start := time.Now()
		if _, err := Layered(g, Options{}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v, want ErrTooLarge", name, err)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: the answer took %v", name, took)
		}
	}
	for name, g := range map[string]Graph{
		"no such node": {Nodes: make([]Size, 1), Edges: []Edge{{From: 0, To: 1}}},
		"less than 0":  {Nodes: []Size{{-1, 1}}},
		"no number":    {Nodes: []Size{{math.NaN(), 1}}},
		"infinite":     {Nodes: make([]Size, 1), Edges: []Edge{{Label: Size{1, math.Inf(1)}}}},
	} {
		if _, err := Layered(g, Options{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// FuzzLayered makes a graph of bytes: the number of nodes, then three for each edge.
func FuzzLayered(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0})
	f.Add([]byte{5, 0, 1, 3, 1, 2, 9, 2, 0, 200, 3, 3, 7, 0, 1, 3})
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) == 0 || len(in) > 300 {
			return
		}
		n := 1 + int(in[0])%40
		g := Graph{Nodes: make([]Size, n)}
		for i := range g.Nodes {
			g.Nodes[i] = Size{float64(7 * i % 120), float64(11 * i % 70)}
		}
		for in = in[1:]; len(in) >= 3; in = in[3:] {
			e := Edge{From: int(in[0]) % n, To: int(in[1]) % n, Weight: int(in[2]), Span: int(in[2]) % 5}
			if in[2]%2 == 1 {
				e.Label = Size{float64(in[2]), float64(in[2] % 40)}
			}
			g.Edges = append(g.Edges, e)
		}
		for _, fault := range faults(g, layered(t, g)) {
			t.Error(fault)
		}
	})
}

func BenchmarkLayered(b *testing.B) {
	for _, size := range []struct{ nodes, edges int }{{80, 190}, {300, 900}} {
		b.Run(fmt.Sprintf("nodes=%d/edges=%d", size.nodes, size.edges), func(b *testing.B) {
			g := random(5, size.nodes, size.edges)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Layered(g, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
