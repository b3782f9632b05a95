package profileview

import (
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// Folded is every stack with what it costs, one line each, for programs that draw flame graphs.
func Folded(in []*recording.Recording, q query.Query) (report.Report, error) {
	a, err := ask(in, q)
	if err != nil {
		return nil, err
	}
	t, err := a.callTree("folded")
	if err != nil {
		return nil, err
	}
	return &report.Folded{Head: a.head, Each: t.Folded()}, nil
}
