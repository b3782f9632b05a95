package view

import (
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// lookRows is how many rows a first look shows.
const lookRows = 10

// Look is a first look at a recording: what it is, what costs most, and what to ask next.
func Look(in []*recording.Recording, q query.Query) (report.Report, error) {
	q.Limit = lookRows
	a, err := ask(in, q)
	if err != nil {
		return nil, err
	}
	top, err := a.top()
	if err != nil {
		return nil, err
	}
	out := &report.Look{Top: *top, Samples: a.p.NumSamples(), Refs: q.Refs}
	for k, t := range a.p.SampleTypes {
		sum := int64(0)
		for _, v := range a.p.Values(k) {
			sum += v
		}
		out.Types = append(out.Types, report.TypeTotal{Type: t.Type, Unit: t.Unit, Total: sum, Default: k == a.k})
	}
	if len(top.Rows) > 0 {
		out.Hottest = top.Rows[0].Name
	}
	out.Labels = labelKeys(a.p)
	return out, nil
}
