// Package fleetview has views of a store of profiles: the costs of services over time.
package fleetview

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
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

// Kinds are the kinds that Services needs.
var Kinds = []string{recording.CPU, recording.Heap, recording.Goroutine}

// AllStep is the step of totals that are of all the time of a question: longer than any history.
const AllStep = 100 * 365 * 24 * time.Hour

// Services says what services cost on average over a window, while they ran. The totals are in its steps. The series are those of the time, and earlier has
// the CPU totals of the time before it, which is as long.
func Services(totals Totals, earlier []store.Line, series []store.Series, w Window) *report.Services {
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
	rounds := map[string]time.Duration{} // in which all processes have profiles
	for _, kind := range Kinds {
		for name, lines := range byService(totals[kind]) {
			row(name).Processes = max(row(name).Processes, Processes(lines, w))
			if each := apart(lines); each > 0 && (rounds[name] == 0 || 2*each < rounds[name]) {
				rounds[name] = 2 * each
			}
		}
	}
	for name, of := range versions {
		r := rows[name]
		r.Versions, r.Running, r.Replaced = deployed(of, w, r.Last, max(w.Step, leastStep, min(rounds[name], longestRound)))
	}
	cores := map[string][]report.Point{}
	before := Window{from.Add(-to.Sub(from)), from, w.Step}
	for i := range Measures {
		m := &Measures[i]
		for name, l := range linesOf(totals[m.Kind], m) {
			r, mean := row(name), l.mean(w)
			switch m.Name {
			case "cores":
				r.Cores = mean
				for _, p := range l.points(false, w) {
					cores[name] = append(cores[name], report.Point{X: int64(time.UnixMilli(int64(p[0])).Sub(from)), Y: int64(p[1] * 1e9)})
				}
			case "allocated":
				r.Allocated = mean
			case "live":
				r.Live = int64(math.Round(mean))
			case "goroutines":
				r.Goroutines = int64(math.Round(mean))
			}
		}
		if m.Name != "cores" {
			continue
		}
		now := linesOf(totals[m.Kind], m)
		for name, l := range linesOf(earlier, m) {
			// A few profiles say nothing about all the time.
			if r := rows[name]; r != nil && l.time(before) >= now[name].time(w)/2 { // without a row, the service has ended
				r.Before = l.mean(before)
			}
		}
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

// Cores returns how many cores processes used on average while they ran, together, by the totals of their CPU profiles in the steps of a window.
func Cores(lines []store.Line, w Window) float64 {
	all := line{}
	for i := range Measures {
		if m := &Measures[i]; m.Name == "cores" {
			for _, l := range lines {
				all.add(l, m)
			}
		}
	}
	return all.mean(w)
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

// apart returns how far apart the profiles of a process are, on average.
func apart(lines []store.Line) time.Duration {
	alive, profiles := time.Duration(0), 0
	for _, l := range lines {
		for _, p := range l.Means {
			alive += p.Alive
		}
		for _, p := range l.Points {
			profiles += p.Profiles
		}
	}
	return alive / time.Duration(max(profiles, 1))
}

// deployed returns versions in the order in which they were deployed, how many of the last of them ran at the end, and which one the last one replaced, if
// any. Those that ran lately may run side by side, and which profile came last is then chance, so that which came first counts. Others count by their end: a
// version may have come back. Of versions that all ran from the start of the window on, it is chance, too, which profile came first.
func deployed(versions map[string]span, w Window, last time.Time, round time.Duration) (order []string, running int, replaced string) {
	lately, began := last.Add(-round), w.From.Add(round)
	for v, s := range versions {
		if s.first.Before(began) {
			s.first = began
		}
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

// The time in which all processes have profiles is taken to be within these.
const (
	leastStep    = 5 * time.Minute
	longestRound = 2 * store.Baseline
)

// loadSteps is the number of steps in which Load looks for when processes ran.
const loadSteps = 12

// LoadStep returns the length of the steps of the totals that Load needs.
func LoadStep(from, to time.Time) time.Duration { return max(to.Sub(from)/loadSteps, time.Minute) }

// Load says how many processes profiles of one kind are of, and what time. The totals are in the steps of a window, and merged is their sum.
func Load(kind string, lines []store.Line, merged *store.Merged, w Window) recording.Load {
	out := recording.Load{Profiles: merged.Profiles, Processes: Processes(lines, w)}
	ran := line{}
	did, sampled := line{}, 0.0
	for _, l := range lines {
		k := mainFlow(kind, l.Types)
		for _, p := range l.Points {
			if out.Covered += cmp.Or(p.Covered, p.Grown); k >= 0 {
				sampled += float64(p.Values[k])
			}
		}
		for _, p := range l.Means {
			ran.put(p.Time.UnixMilli(), amount{of: p.Ran})
			if k >= 0 {
				did.put(p.Time.UnixMilli(), amount{v: p.Values[k], of: p.Told})
			}
		}
	}
	if out.Seen = ran.time(w); sampled > 0 {
		out.Scale = did.mean(w) / sampled
	}
	return out
}

// mainFlow returns which sample type of a kind says most about what is done, of those that are no levels, or -1.
func mainFlow(kind string, types []profile.ValueType) int {
	for k, t := range slices.Backward(types) {
		if store.NatureOf(kind, t.Type, true) != store.Level {
			return k
		}
	}
	return -1
}
