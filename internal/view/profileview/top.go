package profileview

import (
	"cmp"
	"slices"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// The shares of the total below which frames and calls are not worth showing.
const (
	minShare     = 0.005
	minEdgeShare = 0.001
)

// Top ranks frames by their costs. A function is inlined if each of its sampled calls was. With a base, Top also shows the costs in the base.
func Top(in []*recording.Recording, q query.Query) (report.Report, error) {
	a, s, err := askSides(in, q)
	if err != nil {
		return nil, err
	}
	if s != nil {
		return s.top(q)
	}
	return a.top()
}

func (a *question) top() (*report.Top, error) {
	b, err := a.summed()
	if err != nil {
		return nil, err
	}
	none := calls.CallFilter{To: make([]bool, len(b.Table.Frames))} // calls are not needed
	g, trimming := a.cut(b, a.trim(0, minShare, minEdgeShare), none)
	trimming.DroppedEdges = 0
	out := topOf(a.head, trimming, g)
	for i, n := range g.Nodes {
		out.Rows[i].Inline = inlining(b.Cum[n.ID].Inlined, b.Cum[n.ID].Called)
	}
	return out, nil
}

// top ranks frames by what they cost on the new side, and then, as for those that are gone, by what they cost before.
func (s *sides) top(q query.Query) (*report.Top, error) {
	after, before, err := s.costs(q)
	if err != nil {
		return nil, err
	}
	out := &report.Top{Head: s.head, Before: &s.headBefore, Normalized: s.normalized, Cores: s.head.BusyCores(), Rows: []report.TopRow{}}
	limits := (&question{query: q}).trim(0, minShare, 0)
	out.Below = below(&out.Head, out.Before, q, limits.Min)
	for f := range after.Table.Frames {
		sum := after.Cum[f]
		r := report.TopRow{
			Cost:   report.Cost{Frame: after.Table.Frames[f], Flat: after.Flat[f], Cum: sum.Sum},
			Before: &report.Cost2{Flat: s.scaled(before.Flat[f]), Cum: s.scaled(before.Cum[f].Sum)},
			Inline: inlining(sum.Inlined, sum.Called),
		}
		was := r.Before
		switch {
		case r.Flat == 0 && r.Cum == 0 && was.Flat == 0 && was.Cum == 0:
		case q.Positive && (r.Flat < was.Flat || r.Flat == was.Flat && r.Cum < was.Cum):
		case max(unit.Abs(r.Cum), unit.Abs(was.Cum)) < out.Below:
			out.Dropped++
		default:
			out.Rows = append(out.Rows, r)
		}
	}
	out.Of = len(out.Rows)
	costs := func(r *report.TopRow) [4]int64 {
		if limits.ByCum {
			return [4]int64{r.Cum, r.Flat, r.Before.Cum, r.Before.Flat}
		}
		return [4]int64{r.Flat, r.Cum, r.Before.Flat, r.Before.Cum}
	}
	order.Stable(out.Rows, func(a, b report.TopRow) int {
		x, y := costs(&a), costs(&b)
		for i := range x {
			if c := cmp.Compare(unit.Abs(y[i]), unit.Abs(x[i])); c != 0 {
				return c
			}
		}
		return cmp.Compare(a.Frame.String(), b.Frame.String())
	})
	if limits.Nodes > 0 {
		out.Rows = out.Rows[:min(limits.Nodes, len(out.Rows))]
	}
	out.Shown = len(out.Rows)
	for i := range out.Rows {
		out.Accounted += out.Rows[i].Flat
	}
	return out, nil
}

// TopByCalls is Top, except that calls which are too few to be in a call graph do not count for whether a function is
// inlined, as in pprof.
func TopByCalls(in []*recording.Recording, q query.Query) (report.Report, error) {
	a, err := ask(in, q)
	if err != nil {
		return nil, err
	}
	b, err := a.builder(false)
	if err != nil {
		return nil, err
	}
	g, trimming := a.cut(b, a.trim(0, minShare, minEdgeShare), calls.CallFilter{To: b.Table.Inlinable})
	out := topOf(a.head, trimming, g)
	for i, n := range g.Nodes {
		out.Rows[i].Inline = inlining(
			slices.ContainsFunc(n.In, func(e *calls.Edge) bool { return e.Inline }),
			slices.ContainsFunc(n.In, func(e *calls.Edge) bool { return !e.Inline }))
	}
	return out, nil
}

func topOf(h report.Head, t report.Trimming, g *calls.Graph) *report.Top {
	out := &report.Top{Head: h, Trimming: t, Cores: h.BusyCores(), Rows: make([]report.TopRow, len(g.Nodes))}
	for i, n := range g.Nodes {
		out.Rows[i].Cost = costOf(n)
	}
	return out
}

func inlining(inlined, called bool) report.Inlining {
	switch {
	case inlined && called:
		return report.Partial
	case inlined:
		return report.Inlined
	}
	return report.Called
}

// cut returns the graph within the limits of t, and what was left out.
func (a *question) cut(b *calls.Builder, t calls.Trim, filter calls.CallFilter) (*calls.Graph, report.Trimming) {
	g, out := b.Trimmed(t, filter)
	abs := a.Magnitude()
	out.Below = abs(int64(float64(a.head.Total) * t.Min))
	out.EdgesBelow = abs(int64(float64(a.head.Total) * t.MinEdge))
	return g, out
}

func costOf(n *calls.Node) report.Cost {
	return report.Cost{Frame: *n.Frame, Flat: n.FlatValue(), Cum: n.CumValue()}
}
