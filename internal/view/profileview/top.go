package profileview

import (
	"slices"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// The shares of the total below which frames and calls are not worth showing.
const (
	minShare     = 0.005
	minEdgeShare = 0.001
)

// Top ranks frames by what they cost. A function is inlined if each of its sampled calls was.
func Top(in []*recording.Recording, q query.Query) (report.Report, error) {
	a, err := ask(in, q)
	if err != nil {
		return nil, err
	}
	return a.top()
}

func (a *question) top() (*report.Top, error) {
	b, err := a.builder(false)
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
	out := &report.Top{Head: h, Trimming: t, Rows: make([]report.TopRow, len(g.Nodes))}
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

// cut returns the graph cut down to what t allows, and what that left out.
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
