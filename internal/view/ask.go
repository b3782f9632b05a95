package view

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"

	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// A question is a query that has been brought together with the profile it is about.
type question struct {
	measure // of what the steps left over
	query   query.Query
	head    report.Head
	units   map[string]string  // of number labels
	unit    string             // to show them in
	named   []profile.Function // as the profile names them, whatever q groups by
}

// ask applies the steps of q to the first recording and sums up what every report says at its head.
func ask(in []*recording.Recording, q query.Query) (*question, error) {
	if len(in) == 0 {
		return nil, errors.New("nothing to look at: name a profile")
	}
	p := in[0].Profile
	if p == nil {
		return nil, fmt.Errorf("%s holds no profile", in[0].Ref)
	}
	if len(p.SampleTypes) == 0 {
		return nil, errors.New("profile has no samples")
	}
	k, err := p.SampleIndex(q.Metric)
	if err != nil {
		return nil, err
	}
	a := &question{measure: measure{p, k, q.Mean, q.PProf}, query: q, units: NumUnits(p), unit: cmp.Or(q.Unit, unit.Auto)}
	rest, remarks, err := Apply(p, q.Steps, a.unit)
	if err != nil {
		return nil, err
	}
	a.head = headOf(p, k, q)
	if q.Relative {
		a.p = rest
	}
	a.head.Total = a.total()
	if a.p, err = groupBy(rest, q.By); err != nil {
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
	return h
}

// builder returns the builder of graphs for what was asked.
func (a *question) builder(objects bool) (*builder, error) {
	d, err := detailOf(a.query)
	if err != nil {
		return nil, err
	}
	d.object = objects
	table := newFrameTable(a.p, d, pathTrimmer(a.query))
	return &builder{measure: a.measure, table: table, dropNegative: a.query.Positive}, nil
}

// trim returns how much to show. Limits that the query leaves open are those of the view.
func (a *question) trim(limit int, minShare, minEdge float64) trim {
	q := a.query
	t := trim{nodes: limit, min: minShare, minEdge: minEdge, byCum: q.Sort == "cum", units: a.units, showUnit: a.unit}
	if q.Limit != 0 {
		t.nodes = max(q.Limit, 0)
	}
	if q.Min != 0 {
		t.min = max(q.Min, 0)
	}
	if q.MinEdge != 0 {
		t.minEdge = max(q.MinEdge, 0)
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

// A NoMatch says that a view was asked about functions that are not there.
type NoMatch struct {
	Arg     string
	Remarks []report.Remark // on the steps, which may be why
}

func (e *NoMatch) Error() string { return fmt.Sprintf("no matches found for regexp: %s", e.Arg) }

func (a *question) noMatch() error { return &NoMatch{a.query.Arg, a.head.Remarks} }
