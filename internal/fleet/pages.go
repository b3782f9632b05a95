package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/view/fleetview"
)

// Limits of requests of pages.
const (
	sparkSteps = 48
	graphSteps = 180
	heatSteps  = 120

	mostLabels  = 24     // labels whose values are counted
	mostEntries = 20_000 // profiles in a heat map
	longest     = 5 * 366 * 24 * time.Hour
)

// answerJSON sends a report to a page.
func answerJSON(w http.ResponseWriter, v any) error {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// fleetTime answers with the meaning of a time expression.
func (s *Server) fleetTime(w http.ResponseWriter, r *http.Request, _ string) error {
	from, to, err := store.ParseTimes(r.FormValue("time"), s.Now().UTC())
	if err != nil {
		return badRequest{err}
	}
	return answerJSON(w, report.FleetTime{From: from.UnixMilli(), To: to.UnixMilli()})
}

// fleetServices answers with the costs of all services over time.
func (s *Server) fleetServices(w http.ResponseWriter, r *http.Request, tenant string) error {
	from, to, err := store.ParseTimes(r.FormValue("time"), s.Now().UTC())
	if err != nil {
		return badRequest{err}
	}
	q := store.Query{Tenant: tenant, From: from, To: to}
	if err := bound(q); err != nil {
		return err
	}
	filling := s.filling.Load()
	at := fleetview.NewWindow(from, to, sparkSteps)
	series, err := s.Store.Series(r.Context(), q)
	if err != nil {
		return err
	}
	var byKind fleetview.Totals
	var before, deploys []store.Line
	err = together(3, func(i int) (err error) {
		q := q
		switch i {
		case 0:
			q.Kind = kindOf(series)
			deploys, err = s.Store.Totals(r.Context(), q, at.Step, fleetview.DeployLabels)
		case 1:
			byKind, err = s.totals(r.Context(), q, at.Step)
		default:
			before, err = s.before(r.Context(), q, at.Step)
		}
		return err
	})
	if err != nil {
		return err
	}
	out := fleetview.ServiceTimes(byKind, before, deploys, series, at)
	out.Filling = filling
	if !out.Any {
		out.Any, err = s.has(r.Context(), tenant)
	}
	if err != nil {
		return err
	}
	return answerJSON(w, out)
}

// means returns what processes did, in steps.
func (s *Server) means(ctx context.Context, q store.Query, step time.Duration, by ...string) ([]store.Line, error) {
	q.Means = true
	return s.Store.Totals(ctx, q, step, by)
}

// totals returns totals of services by kind.
func (s *Server) totals(ctx context.Context, q store.Query, step time.Duration) (fleetview.Totals, error) {
	lines := make([][]store.Line, len(fleetview.Kinds))
	err := together(len(lines), func(i int) (err error) {
		q := q
		q.Kind = fleetview.Kinds[i]
		lines[i], err = s.means(ctx, q, step, store.ServiceLabel)
		return err
	})
	out := fleetview.Totals{}
	for i, kind := range fleetview.Kinds {
		out[kind] = lines[i]
	}
	return out, err
}

// before returns the CPU totals of services in the time before that of q, which is as long.
func (s *Server) before(ctx context.Context, q store.Query, step time.Duration) ([]store.Line, error) {
	q.Kind, q.From, q.To = recording.CPU, q.From.Add(-q.To.Sub(q.From)), q.From
	return s.means(ctx, q, step, store.ServiceLabel)
}

// kindOf returns the kind of profile that shows deploys: one that all services have, if there is any.
func kindOf(series []store.Series) string {
	for _, kind := range fleetview.Kinds {
		if slices.ContainsFunc(series, func(s store.Series) bool { return s.Kind == kind }) {
			return kind
		}
	}
	return fleetview.Kinds[0]
}

// has reports whether a tenant has any profiles.
func (s *Server) has(ctx context.Context, tenant string) (bool, error) {
	tenants, err := s.Store.Tenants(ctx)
	return slices.Contains(tenants, tenant), err
}

// bound returns an error if the time of a query is too long for its steps.
func bound(q store.Query) error {
	if q.To.Sub(q.From) > longest {
		return badRequest{fmt.Errorf("the time is longer than five years")}
	}
	return nil
}

// together calls call(0) to call(n-1), some of them at the same time.
func together(n int, call func(i int) error) error {
	const most = 4
	errs := make([]error, n)
	turns := make(chan struct{}, most)
	var all sync.WaitGroup
	for i := range n {
		turns <- struct{}{}
		all.Go(func() {
			errs[i] = call(i)
			<-turns
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// A question is a request of a page about a selection.
type question struct {
	of      *report.Selection
	at      store.Ref
	query   store.Query
	series  []store.Series
	measure *fleetview.Measure // nil without profiles
}

// question parses a request: ref, and of, the name of a measure, or the metric that it is to be nearest to.
func (s *Server) question(r *http.Request, tenant string) (*question, error) {
	out := &question{}
	var err error
	if out.of, out.at, err = fleetview.Selected(r.FormValue("ref"), s.Now().UTC()); err != nil {
		return nil, badRequest{err}
	}
	selector := slices.DeleteFunc(slices.Clone(out.at.Selector), func(m store.Matcher) bool { return m.Name == store.ProfileLabel && m.Op == store.Is })
	out.query = store.Query{Tenant: tenant, Selector: selector, From: out.at.From, To: out.at.To}
	if err := bound(out.query); err != nil {
		return nil, err
	}
	if out.series, err = s.Store.Series(r.Context(), out.query); err != nil {
		return nil, err
	}
	name := r.FormValue("of")
	if name != "" && !slices.ContainsFunc(fleetview.Measures, func(m fleetview.Measure) bool { return m.Name == name }) {
		return nil, badRequest{fmt.Errorf("of=%s: unknown measure", profile.Shorten(name, 40))}
	}
	if metric := r.FormValue("metric"); name == "" && metric != "" {
		name = fleetview.Nearest(metric)
	}
	if out.measure = fleetview.Find(name, out.series); out.measure == nil {
		out.measure = fleetview.Find("", out.series)
	}
	if out.measure != nil {
		out.query.Kind = out.measure.Kind
	}
	return out, nil
}

// names returns the labels of the selected profiles.
func (s *Server) names(ctx context.Context, o *question) ([]string, bool, error) {
	names, err := s.Store.Names(ctx, o.query)
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == store.ServiceLabel })
	return names[:min(len(names), mostLabels)], len(names) > mostLabels, err
}

func (s *Server) fleetGraph(w http.ResponseWriter, r *http.Request, tenant string) error {
	o, err := s.question(r, tenant)
	if err != nil {
		return err
	}
	if o.measure == nil {
		out := &report.FleetGraph{Selection: *o.of, Lines: []report.GraphLine{}, Measures: []report.FleetMeasure{}, Labels: []string{}}
		for _, one := range o.series {
			out.Profiles += one.Profiles
		}
		if out.Any, err = s.has(r.Context(), tenant); err != nil {
			return err
		}
		return answerJSON(w, out)
	}
	by := r.FormValue("by")
	at := fleetview.NewWindow(o.at.From, o.at.To, graphSteps)
	var labels []string
	if by != "" {
		labels = append(labels, by)
	}
	var totals, deploys []store.Line
	var names []string
	err = together(3, func(i int) (err error) {
		switch i {
		case 0:
			totals, err = s.means(r.Context(), o.query, at.Step, labels...)
		case 1:
			deploys, err = s.Store.Totals(r.Context(), o.query, at.Step, fleetview.DeployLabels)
		default:
			names, _, err = s.names(r.Context(), o)
		}
		return err
	})
	if err != nil {
		return err
	}
	out := fleetview.Graph(o.of, o.at, o.measure, by, totals, deploys, o.series, at)
	out.Labels = append([]string{}, names...)
	return answerJSON(w, out)
}

func (s *Server) fleetLabels(w http.ResponseWriter, r *http.Request, tenant string) error {
	o, err := s.question(r, tenant)
	if err != nil {
		return err
	}
	if o.measure == nil {
		return answerJSON(w, &report.FleetLabels{Selection: *o.of, Labels: []report.LabelShare{}})
	}
	names, more, err := s.names(r.Context(), o)
	if err != nil {
		return err
	}
	totals := make([][]store.Line, len(names))
	err = together(len(names), func(i int) (err error) {
		totals[i], err = s.means(r.Context(), o.query, fleetview.AllStep, names[i])
		return err
	})
	if err != nil {
		return err
	}
	out := fleetview.Labels(o.of, o.at, o.measure, names, totals)
	out.More = more
	return answerJSON(w, out)
}

func (s *Server) fleetHeat(w http.ResponseWriter, r *http.Request, tenant string) error {
	o, err := s.question(r, tenant)
	if err != nil {
		return err
	}
	if o.measure != nil && o.measure.Grows() {
		if o.measure.Name == r.FormValue("of") {
			return badRequest{fmt.Errorf("of=%s: a heat map shows single profiles, and one profile does not tell how much a counter grew", o.measure.Name)}
		}
		o.measure = fleetview.FindSingle(o.series)
	}
	if o.measure == nil {
		return answerJSON(w, &report.FleetHeat{Selection: *o.of, Rows: []report.HeatRow{}, Measures: []report.FleetMeasure{}, Labels: []string{}, Highest: []report.HeatProfile{}})
	}
	o.query.Kind = o.measure.Kind
	entries, more, err := s.Store.Entries(r.Context(), o.query, mostEntries)
	if err != nil {
		return err
	}
	return answerJSON(w, fleetview.Heat(o.of, o.at, o.measure, r.FormValue("by"), entries, more, o.series, fleetview.NewWindow(o.at.From, o.at.To, heatSteps)))
}

func (s *Server) fleetBases(w http.ResponseWriter, r *http.Request, tenant string) error {
	o, err := s.question(r, tenant)
	if err != nil {
		return err
	}
	first := map[string]time.Time{}
	var versions []string
	for _, one := range o.series {
		v := one.Labels.Get("version")
		if v == "" {
			continue
		}
		if at, ok := first[v]; !ok {
			versions = append(versions, v)
			first[v] = one.First
		} else if one.First.Before(at) {
			first[v] = one.First
		}
	}
	slices.SortStableFunc(versions, func(a, b string) int { return first[a].Compare(first[b]) })
	return answerJSON(w, fleetview.Bases(o.of, o.at, versions))
}
