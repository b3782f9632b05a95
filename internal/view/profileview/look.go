package profileview

import (
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// lookRows is how many rows a first look shows.
const lookRows = 10

// Look is an overview of a recording: its properties, the highest costs, and next steps.
func Look(in []*recording.Recording, q query.Query) (report.Report, error) {
	if len(in) == 1 && in[0].Profile == nil && in[0].Manifest != nil {
		return &report.Recorded{Manifest: in[0].Manifest, Refs: q.Refs}, nil
	}
	q.Limit = lookRows
	a, err := ask(in, q)
	if err != nil {
		return nil, err
	}
	top, err := a.top()
	if err != nil {
		return nil, err
	}
	out := a.contents(q.Refs)
	out.Top = *top
	out.Recording, out.Metrics = in[0].Manifest, in[0].Metrics()
	if len(top.Rows) > 0 {
		out.Hottest = top.Rows[0].Name
	}
	return out, nil
}

// Contents is Look without the highest costs.
func Contents(in []*recording.Recording) (*report.Look, error) {
	a, err := ask(in, query.Query{})
	if err != nil {
		return nil, err
	}
	out := a.contents(nil)
	out.Head = a.head
	return out, nil
}

func (a *question) contents(refs []string) *report.Look {
	out := &report.Look{Samples: a.Profile.NumSamples(), Refs: refs, Labels: labelKeys(a.Profile)}
	for k, t := range a.Profile.SampleTypes {
		sum := int64(0)
		for _, v := range a.Profile.Values(k) {
			sum += v
		}
		out.Types = append(out.Types, report.TypeTotal{Type: t.Type, Unit: t.Unit, Total: sum, Default: k == a.Type})
	}
	return out
}
