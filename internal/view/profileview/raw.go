package profileview

import (
	"slices"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// Raw is the profile that the steps leave over, entry by entry. Its values are never divided: pprof divides those of a
// profile that it writes, but not those of one that it lists.
func Raw(in []*recording.Recording, q query.Query) (report.Report, error) {
	q.By = "address"
	a, err := ask(in, q)
	if err != nil {
		return nil, err
	}
	p, err := a.Profile.WithoutHidden()
	if err != nil {
		return nil, err
	}
	if q.NoInlines {
		p = withoutInlines(p, q.Columns)
	}
	return &report.Raw{Head: a.head, Profile: p}, nil
}

// withoutInlines charges inlined functions to the function they were inlined into.
func withoutInlines(p *profile.Profile, columns bool) *profile.Profile {
	t := p.Tables
	t.Mappings = slices.Clone(t.Mappings)
	for i := range t.Mappings {
		t.Mappings[i].HasInlineFrames = false
	}
	t.Locations = slices.Clone(t.Locations)
	for i := range t.Locations {
		l := &t.Locations[i]
		if n := len(l.Lines); n > 0 {
			l.Lines = slices.Clone(l.Lines[n-1:])
			if !columns {
				l.Lines[0].Column = 0
			}
		}
	}
	return p.WithTables(t)
}

// Comments shows the comments of a profile.
func Comments(in []*recording.Recording, q query.Query) (report.Report, error) {
	a, err := ask(in, q)
	if err != nil {
		return nil, err
	}
	return &report.Comments{Head: a.head}, nil
}
