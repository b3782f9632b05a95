package view

import (
	"slices"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// The shares of the total below which frames and calls are not worth showing.
const (
	minShare     = 0.005
	minEdgeShare = 0.001
)

// Top ranks frames by what they cost.
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
	// Calls only matter for saying what was inlined.
	g, trimming := a.cut(b, a.trim(0, minShare, minEdgeShare), b.table.inlinable)
	out := &report.Top{Head: a.head, Trimming: trimming, Rows: make([]report.TopRow, len(g.nodes))}
	for i, n := range g.nodes {
		out.Rows[i] = report.TopRow{Cost: n.cost(), Inline: n.inlining()}
	}
	return out, nil
}

// cut returns the graph cut down to what t allows, and what that left out.
func (a *question) cut(b *builder, t trim, wanted []bool) (*graph, report.Trimming) {
	g, out := b.trimmed(t, wanted)
	out.Below = abs(int64(float64(a.head.Total) * t.min))
	out.EdgesBelow = abs(int64(float64(a.head.Total) * t.minEdge))
	return g, out
}

func (n *node) cost() report.Cost {
	return report.Cost{Frame: *n.Frame, Flat: n.flatValue(), Cum: n.cumValue()}
}

// inlining says how the calls to n that are left were made.
func (n *node) inlining() report.Inlining {
	inlined := slices.ContainsFunc(n.in, func(e *edge) bool { return e.inline })
	called := slices.ContainsFunc(n.in, func(e *edge) bool { return !e.inline })
	switch {
	case inlined && called:
		return report.Partial
	case inlined:
		return report.Inlined
	}
	return report.Called
}
