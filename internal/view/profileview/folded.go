package profileview

import (
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// Folded is every stack with what it costs, one line each, for programs that draw flame graphs. With a base there is what it cost before.
func Folded(in []*recording.Recording, q query.Query) (report.Report, error) {
	a, s, err := askSides(in, q)
	if err != nil {
		return nil, err
	}
	t, err := a.callTree("folded")
	if err != nil {
		return nil, err
	}
	out := &report.Folded{FoldedHead: report.FoldedHead{Head: a.head}}
	if s != nil {
		t.Before, t.Ratio = s.p.Values(s.before), s.ratio
		out.BaseHead, out.Normalized = &s.headBefore, s.normalized
	}
	out.Each = t.Folded()
	return out, nil
}
