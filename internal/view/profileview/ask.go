package profileview

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/view"
)

// A question is a query that has been brought together with the profile it is about.
type question struct {
	calls.Measure // of what the steps left over
	query         query.Query
	head          report.Head
	units         map[string]string  // of number labels
	unit          string             // to show them in
	named         []profile.Function // as the profile names them, whatever q groups by
}

// ask applies the steps of q to the first recording and sums up what every report says at its head.
func ask(in []*recording.Recording, q query.Query) (*question, error) {
	if len(in) == 0 {
		return nil, errors.New("nothing to look at: name a profile")
	}
	p := in[0].Profile
	if p == nil {
		return nil, fmt.Errorf("%s has no profile", in[0].Ref)
	}
	if len(p.SampleTypes) == 0 {
		return nil, errors.New("profile has no samples")
	}
	k, err := p.SampleIndex(q.Metric)
	if err != nil {
		return nil, err
	}
	a := &question{Measure: calls.Measure{Profile: p, Type: k, Mean: q.Mean, Wraps: q.PProf}, query: q, units: calls.NumUnits(p), unit: cmp.Or(q.Unit, unit.Auto)}
	rest, remarks, err := calls.Apply(p, q.Steps, a.unit)
	if err != nil {
		return nil, err
	}
	a.head = headOf(p, k, q)
	if q.Relative {
		a.Profile = rest
	}
	a.head.Total = a.Total()
	if a.Profile, err = calls.GroupBy(rest, q.By); err != nil {
		return nil, err
	}
	a.named = rest.Functions
	a.head.Remarks = remarks
	for _, r := range remarks {
		a.head.Notes.Add(r.String())
	}
	return a, nil
}

// headOf returns what a report says about the profile it is about.
func headOf(p *profile.Profile, k int, q query.Query) report.Head {
	h := report.Head{
		Comments: p.Comments,
		Metric:   p.SampleTypes[k].Type,
		By:       q.By,
		Unit:     p.SampleTypes[k].Unit,
		Doc:      p.DocURL,
		Time:     p.TimeNanos,
		Duration: p.DurationNanos,
		Notes:    hint.Said(p.Notes...),
		Show:     report.Show{Unit: q.Unit},
	}
	if len(p.Mappings) > 0 {
		m := &p.Mappings[0]
		h.File, h.BuildID = filename.Base(m.File), m.Build()
		if q.PProf {
			if h.BuildID = m.BuildID; m.File != "" {
				h.File = filepath.Base(m.File)
			}
		}
	}
	if q.Mean {
		h.Metric = "mean_" + h.Metric
	}
	if q.Divide != 0 {
		h.Show.Factor = 1 / q.Divide
	}
	for _, s := range q.Steps {
		if s.Op != query.TagRoot && s.Op != query.TagLeaf && s.Op != query.PruneFrom {
			h.Filters = append(h.Filters, string(s.Op)+"="+s.Arg)
		}
	}
	for _, t := range q.BaseTags {
		h.Filters = append(h.Filters, "base-tag="+t)
	}
	return h
}

// builder returns the builder of graphs for what was asked.
func (a *question) builder(objects bool) (*calls.Builder, error) {
	d, err := calls.DetailOf(a.query)
	if err != nil {
		return nil, err
	}
	d.Object = objects
	table := calls.NewFrameTable(a.Profile, d, calls.PathTrimmer(a.query))
	return &calls.Builder{Measure: a.Measure, Table: table, DropNegative: a.query.Positive}, nil
}

// trim returns how much to show. Limits that the query leaves open are those of the view.
func (a *question) trim(limit int, minShare, minEdge float64) calls.Trim {
	q := a.query
	t := calls.Trim{Nodes: limit, Min: minShare, MinEdge: minEdge, ByCum: q.Sort == "cum", Units: a.units, ShowUnit: a.unit}
	if q.Limit != 0 {
		t.Nodes = max(q.Limit, 0)
	}
	if q.Min != 0 {
		t.Min = max(q.Min, 0)
	}
	if q.MinEdge != 0 {
		t.MinEdge = max(q.MinEdge, 0)
	}
	return t
}

// pattern compiles the argument of a view.
func (a *question) pattern() (*regexp.Regexp, error) {
	rx, err := regexp.Compile(a.query.Arg)
	if err != nil {
		return nil, fmt.Errorf("parsing argument regexp %s: %w", a.query.Arg, err)
	}
	return rx, nil
}

// Head returns what every report about the recording says at its head.
func Head(in []*recording.Recording, q query.Query) (report.Head, error) {
	a, err := ask(in, q)
	if err != nil {
		return report.Head{}, err
	}
	return a.head, nil
}

func (a *question) noMatch() error { return &view.NoMatch{Arg: a.query.Arg, Remarks: a.head.Remarks} }
