// Package fleetview holds answers about a store of profiles: what its services cost over time.
package fleetview

import (
	"cmp"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/store"
)

// Steps is into how many steps a time is cut.
const Steps = 60

// mostSeries is how many services are drawn.
const mostSeries = 4

// Totals are lines of a store by kind, by service, in steps of the same length.
type Totals map[string][]store.Line

// Kinds are the kinds that Services needs.
var Kinds = []string{recording.CPU, recording.Heap, recording.Goroutine}

// Services says what services cost. The series are those of the time.
func Services(totals Totals, series []store.Series, from, to time.Time, step time.Duration) *report.Services {
	out := &report.Services{From: from, To: to}
	rows := map[string]*report.ServiceRow{}
	row := func(name string) *report.ServiceRow {
		r := rows[name]
		if r == nil {
			r = &report.ServiceRow{Service: name}
			rows[name] = r
		}
		return r
	}
	type version struct {
		name string
		last time.Time
	}
	versions := map[string][]version{}
	for _, s := range series {
		r := row(s.Service)
		r.Profiles += s.Profiles
		if s.Last.After(r.Last) {
			r.Last = s.Last
		}
		if v := s.Labels.Get("version"); v != "" {
			versions[s.Service] = append(versions[s.Service], version{v, s.Last})
		}
	}
	for name, list := range versions {
		slices.SortFunc(list, func(a, b version) int { return a.last.Compare(b.last) })
		for _, v := range list {
			at := slices.Index(rows[name].Versions, v.name)
			if at >= 0 {
				rows[name].Versions = slices.Delete(rows[name].Versions, at, at+1)
			}
			rows[name].Versions = append(rows[name].Versions, v.name)
		}
	}
	w := Window{from, to, step}
	cores := map[string][]report.Point{}
	each(totals[recording.CPU], "cpu", func(service string, points []store.Point, k int) {
		r := row(service)
		var all, before, after mean
		for i, p := range points {
			if p.Covered <= 0 {
				continue
			}
			// What a process used while it was profiled, times how many there were.
			n := processes(points, i, w)
			used := float64(p.Values[k]) / float64(p.Covered) * float64(n)
			all.add(used)
			if p.Time.Sub(from) < to.Sub(from)/2 {
				before.add(used)
			} else {
				after.add(used)
			}
			r.Processes = max(r.Processes, n)
			cores[service] = append(cores[service], report.Point{X: int64(p.Time.Sub(from)), Y: int64(used * float64(time.Second))})
		}
		r.Cores, r.Before, r.After = all.value(), before.value(), after.value()
	})
	each(totals[recording.Heap], "alloc_space", func(service string, points []store.Point, k int) {
		var all mean
		for _, p := range points {
			all.add(float64(p.Values[k]) / w.part(p.Time).Seconds())
		}
		row(service).Allocated = all.value()
	})
	level := func(kind, typ string, set func(*report.ServiceRow, int64)) {
		each(totals[kind], typ, func(service string, points []store.Point, k int) {
			var all mean
			for i, p := range points {
				all.add(float64(p.Values[k]))
				row(service).Processes = max(row(service).Processes, processes(points, i, w))
			}
			set(row(service), int64(all.value()))
		})
	}
	level(recording.Heap, "inuse_space", func(r *report.ServiceRow, v int64) { r.Live = v })
	level(recording.Goroutine, "goroutine", func(r *report.ServiceRow, v int64) { r.Goroutines = v })
	for _, r := range rows {
		out.Rows = append(out.Rows, *r)
	}
	slices.SortFunc(out.Rows, func(a, b report.ServiceRow) int {
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

// Cores returns how many cores processes used on average, together, by the totals of their CPU profiles.
func Cores(lines []store.Line) float64 {
	used := map[time.Time]float64{}
	each(lines, "cpu", func(_ string, points []store.Point, k int) {
		for _, p := range points {
			if p.Covered > 0 {
				used[p.Time] += float64(p.Values[k]) / float64(p.Covered) * float64(p.Streams)
			}
		}
	})
	var all mean
	for _, v := range used {
		all.add(v)
	}
	return all.value()
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

type mean struct {
	sum float64
	n   int
}

func (m *mean) add(v float64) { m.sum += v; m.n++ }

func (m *mean) value() float64 {
	if m.n == 0 {
		return 0
	}
	return m.sum / float64(m.n)
}

// loadSteps is into how many steps a time is cut to count processes: few enough that each has profiles of all of them.
const (
	loadSteps = 12
	leastStep = 5 * time.Minute
)

// LoadStep returns the step of the totals that Load needs.
func LoadStep(from, to time.Time) time.Duration { return max(to.Sub(from)/loadSteps, leastStep) }

// Load says how many processes profiles of one kind are of, and what time. The totals are in steps of LoadStep, and merged is their sum.
func Load(lines []store.Line, merged *store.Merged, step time.Duration) recording.Load {
	out := recording.Load{Profiles: merged.Profiles}
	streams := map[time.Time]int{}
	for _, l := range lines {
		for _, p := range l.Points {
			streams[p.Time] += p.Streams
			out.Covered += p.Covered
		}
	}
	if len(streams) == 0 {
		return out
	}
	for _, n := range streams {
		out.Processes += float64(n) / float64(len(streams))
	}
	// From the first profile to the last, and the time that the last is of, which is no longer than that between two.
	out.Seen = merged.Last.Sub(merged.First)
	if each := merged.Profiles / max(merged.Streams, 1); each > 1 {
		out.Seen += out.Seen / time.Duration(each-1)
	} else {
		out.Seen += out.Covered / time.Duration(max(merged.Profiles, 1))
	}
	out.Seen = min(out.Seen, time.Duration(len(streams))*step)
	return out
}
