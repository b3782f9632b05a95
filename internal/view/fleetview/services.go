// Package fleetview has views of a store of profiles: the costs of services over time.
package fleetview

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/store"
)

// Steps is the number of steps of a window.
const Steps = 60

// mostSeries is the maximum number of services that are drawn.
const mostSeries = 4

// Totals are lines of a store by kind, by service, in steps of the same length.
type Totals map[string][]store.Line

// WholeStep is the step of totals that are of all the time of a question: longer than any history.
const WholeStep = 100 * 365 * 24 * time.Hour

// HeldKinds are the kinds whose totals Services needs in one step, because they say what processes hold.
var HeldKinds = []string{recording.Heap, recording.Goroutine}

// heldTypes are the sample types of what processes hold, by kind.
var heldTypes = map[string]string{recording.Heap: "inuse_space", recording.Goroutine: "goroutine"}

// Kinds are the kinds that Services needs.
var Kinds = []string{recording.CPU, recording.Heap, recording.Goroutine}

// Services says what services cost on average over a window. The totals are in its steps, and those of whole in one step: means of steps are not the mean,
// since some steps have more profiles than others. The series are those of the time, and earlier has the CPU totals of the time before it, which is as long.
func Services(totals, whole Totals, earlier []store.Line, series []store.Series, w Window) *report.Services {
	from, to := w.From, w.To
	out := &report.Services{From: from, To: to}
	rows := map[string]*report.ServiceRow{}
	row := func(name string) *report.ServiceRow {
		r := rows[name]
		if r == nil {
			r = &report.ServiceRow{Service: name, Measures: []string{}}
			rows[name] = r
		}
		return r
	}
	versions := map[string]map[string]span{}
	for _, s := range series {
		r := row(s.Service)
		r.Profiles += s.Profiles
		if !slices.Contains(r.Kinds, s.Kind) {
			r.Kinds = append(r.Kinds, s.Kind)
		}
		for i := range Measures {
			if m := &Measures[i]; m.Kind == s.Kind && m.index(s.Types) >= 0 && !slices.Contains(r.Measures, m.Name) {
				r.Measures = append(r.Measures, m.Name)
			}
		}
		if s.Last.After(r.Last) {
			r.Last = s.Last
		}
		if v := s.Labels.Get("version"); v != "" {
			if versions[s.Service] == nil {
				versions[s.Service] = map[string]span{}
			}
			versions[s.Service][v] = versions[s.Service][v].with(s.First, s.Last)
		}
	}
	for name, of := range versions {
		r := rows[name]
		r.Versions, r.Running, r.Replaced = deployed(of, w, r.Last)
	}
	cores := map[string][]report.Point{}
	steps := stepsOf(totals[recording.CPU])
	stepsBefore := stepsOf(earlier)
	count := func(kind, service string, points []store.Point) {
		r := row(service)
		r.Processes = max(r.Processes, meanProcesses(points, w.since(series, kind, service)))
	}
	each(totals[recording.CPU], "cpu", func(service string, points []store.Point, k int) {
		row(service).Cores = perSecond(points, k, w.since(series, recording.CPU, service)) / 1e9
		count(recording.CPU, service, points)
		for i, p := range points {
			if used, ok := rate(points, i, k, w); ok {
				cores[service] = append(cores[service], report.Point{X: int64(p.Time.Sub(from)), Y: int64(used)})
			}
		}
	})
	each(earlier, "cpu", func(service string, points []store.Point, k int) {
		// A few profiles say nothing about all the time.
		if r := rows[service]; r != nil && len(stepsBefore[service]) >= (len(steps[service])+1)/2 { // without a row, the service has ended
			r.Before = perSecond(points, k, Window{from.Add(-to.Sub(from)), from, w.Step}) / 1e9
		}
	})
	each(totals[recording.Heap], "alloc_space", func(service string, points []store.Point, k int) {
		row(service).Allocated = perSecond(points, k, w.since(series, recording.Heap, service))
	})
	for _, kind := range HeldKinds {
		each(totals[kind], heldTypes[kind], func(service string, points []store.Point, _ int) { count(kind, service, points) })
		each(whole[kind], heldTypes[kind], func(service string, points []store.Point, k int) {
			if v := points[0].Values[k]; kind == recording.Heap {
				row(service).Live = v
			} else {
				row(service).Goroutines = v
			}
		})
	}
	for _, r := range rows {
		slices.Sort(r.Kinds)
		slices.Sort(r.Measures)
		out.Rows = append(out.Rows, *r)
	}
	order.Stable(out.Rows, func(a, b report.ServiceRow) int {
		return cmp.Or(cmp.Compare(b.Cores, a.Cores), cmp.Compare(b.Live, a.Live), cmp.Compare(a.Service, b.Service))
	})
	for _, r := range out.Rows[:min(len(out.Rows), mostSeries)] {
		if points := cores[r.Service]; len(points) > 1 {
			out.Cores = append(out.Cores, report.Series{Name: r.Service, Draw: report.Area, Points: points})
		}
	}
	if len(out.Rows) > 0 {
		ref := "store:" + (store.Ref{Selector: store.Service(out.Rows[0].Service), From: from, To: to}).String()
		out.Next = []hint.Command{hint.Ask("top", ref).For("where it spends its time"), hint.Ask("web", ref).For("all views of it")}
	}
	return out
}

// Cores returns how many cores processes used on average, together, by the totals of their CPU profiles in the steps of a window.
func Cores(lines []store.Line, w Window) float64 {
	used := 0.0
	steps := map[time.Time]bool{}
	each(lines, "cpu", func(_ string, points []store.Point, k int) {
		there := time.Duration(0)
		for _, p := range points {
			steps[p.Time] = true
			there += w.part(p.Time)
		}
		used += perSecond(points, k, w) / 1e9 * there.Seconds()
	})
	all := time.Duration(0)
	for at := range steps {
		all += w.part(at)
	}
	return used / max(all, time.Second).Seconds()
}

// A span is the time from the first profile to the last.
type span struct{ first, last time.Time }

func (s span) with(first, last time.Time) span {
	if s.first.IsZero() || first.Before(s.first) {
		s.first = first
	}
	if last.After(s.last) {
		s.last = last
	}
	return s
}

// stepsOf returns the steps in which services have profiles.
func stepsOf(lines []store.Line) map[string]map[time.Time]bool {
	out := map[string]map[time.Time]bool{}
	for _, l := range lines {
		name := l.Labels.Get(store.ServiceLabel)
		if out[name] == nil {
			out[name] = map[time.Time]bool{}
		}
		for _, p := range l.Points {
			out[name][p.Time] = true
		}
	}
	return out
}

// deployed returns versions in the order in which they were deployed, how many of the last of them ran at the end, and which one the last one replaced, if
// any. Those that ran lately may run side by side, and which profile came last is then chance, so that which came first counts. Others count by their end: a
// version may have come back. Of versions that all ran from the start of the window on, it is chance, too, which profile came first.
func deployed(versions map[string]span, w Window, last time.Time) (order []string, running int, replaced string) {
	round := max(w.Step, leastStep) // in which all processes have profiles
	lately, began := last.Add(-round), w.From.Add(round)
	for v, s := range versions {
		s.first = later(s.first, began)
		versions[v] = s
		if !s.last.Before(lately) {
			running++
		}
	}
	order = slices.SortedFunc(maps.Keys(versions), func(a, b string) int {
		x, y := versions[a], versions[b]
		switch runs, too := !x.last.Before(lately), !y.last.Before(lately); {
		case runs && too:
			return cmp.Or(x.first.Compare(y.first), cmp.Compare(a, b))
		case runs:
			return 1
		case too:
			return -1
		}
		return cmp.Or(x.last.Compare(y.last), x.first.Compare(y.first), cmp.Compare(a, b))
	})
	if n := len(order); n > 1 && running == 1 && versions[order[n-2]].first.Before(versions[order[n-1]].first) {
		replaced = order[n-2]
	}
	return order, running, replaced
}

// each calls back for the points of each service that have a sample type.
func each(lines []store.Line, typ string, call func(service string, points []store.Point, k int)) {
	for _, l := range lines {
		for k, t := range l.Types {
			if t.Type == typ && len(l.Points) > 0 {
				call(l.Labels.Get(store.ServiceLabel), l.Points, k)
			}
		}
	}
}

// loadSteps is the number of steps of a window for counting processes: few enough that each step has profiles of all processes.
const (
	loadSteps = 12
	leastStep = 5 * time.Minute
)

// LoadStep returns the shortest step of the totals that Load needs.
func LoadStep(from, to time.Time) time.Duration { return max(to.Sub(from)/loadSteps, leastStep) }

// Load says how many processes profiles of one kind are of, and what time. The totals are in the steps of a window, and merged is their sum.
func Load(lines []store.Line, merged *store.Merged, w Window) recording.Load {
	out := recording.Load{Profiles: merged.Profiles}
	streams := map[time.Time]float64{}
	w.From = later(w.From, merged.First)
	for _, l := range lines {
		for i, p := range l.Points {
			streams[p.Time] += processes(l.Points, i, w)
			out.Covered += told(p)
		}
	}
	if len(streams) == 0 {
		return out
	}
	var all time.Duration
	for at, n := range streams {
		out.Processes += n * w.part(at).Seconds()
		all += w.part(at)
	}
	out.Processes /= all.Seconds()
	// From the first profile to the last, and the time that the last is of, which is no longer than that between two.
	out.Seen = merged.Last.Sub(merged.First)
	if each := merged.Profiles / max(merged.Streams, 1); each > 1 {
		out.Seen += out.Seen / time.Duration(each-1)
	} else {
		out.Seen += out.Covered / time.Duration(max(merged.Profiles, 1))
	}
	out.Seen = min(out.Seen, time.Duration(len(streams))*w.Step)
	return out
}
