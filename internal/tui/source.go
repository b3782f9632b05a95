package tui

import (
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/view/profileview"
)

// sourceOf returns what answers questions about flame graphs of recordings.
func sourceOf(in []*recording.Recording) source {
	trees := make(map[bool]*profileview.Flames) // by whether they are inverted
	return source{
		ask: func(q query.Query) (*report.Flame, error) {
			if trees[q.Invert] == nil {
				t, err := profileview.NewFlames(in, q)
				if err != nil {
					return nil, err
				}
				trees[q.Invert] = t
			}
			return trees[q.Invert].Flame(q)
		},
		find: func(q query.Query) (*report.Search, error) {
			r, err := profileview.SearchFor(in[:1], q)
			if err != nil {
				return nil, err
			}
			return r.(*report.Search), nil
		},
	}
}
