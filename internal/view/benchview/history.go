package benchview

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/hone-perf/hone/internal/bench"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/stat"
	"github.com/hone-perf/hone/internal/verdict"
)

// benchHistory shows the results of benchmarks in several runs, in the given order, and judges the last change.
func benchHistory(in []*recording.Recording, q query.Query) (report.Report, error) {
	out := &report.BenchHistory{Rows: []report.BenchHistoryRow{}}
	at := make(map[benchUnit]int)
	var all [][][]float64 // of each row and run
	var units []bench.Units
	for i, rec := range in {
		f := recording.Benchmarks.In(rec)
		if f == nil || len(f.Results) == 0 {
			return nil, ErrNoBenchmarks
		}
		out.Runs = append(out.Runs, runOf(rec))
		units = append(units, f.Units)
		results, err := chosenResults(f.Results, q.Steps)
		if err != nil {
			return nil, err
		}
		for _, s := range bench.Samples(results, "pkg") {
			w := benchUnit{name: (&bench.Result{Name: s.Name, Procs: s.Procs}).Full(), unit: s.Unit}
			if len(s.Config) > 0 {
				w.pkg = s.Config[0].Value
			}
			k, ok := at[w]
			if !ok {
				k = len(out.Rows)
				at[w] = k
				d := verdict.UnitOf(s.Unit)
				out.Rows = append(out.Rows, report.BenchHistoryRow{Pkg: w.pkg, Name: w.name, What: d.What, Unit: d.Name})
				all = append(all, make([][]float64, len(in)))
			}
			m := measureOf(s, f.Units)
			out.Rows[k].Points = append(out.Rows[k].Points, report.BenchPoint{Run: i, N: m.N, Center: m.Center, Low: m.Low, High: m.High})
			all[k][i] = s.Values
		}
		for _, n := range f.Notes {
			out.Notes.Add(n.In(rec.Ref))
		}
	}
	judgeLast(out.Rows, all, units)
	order.Stable(out.Rows, func(a, b report.BenchHistoryRow) int { return cmp.Compare(a.What.Rank(), b.What.Rank()) })
	out.Of = len(out.Rows)
	rows := q.Limit
	if rows == 0 {
		rows = benchRows
	}
	if rows > 0 {
		out.Rows = out.Rows[:min(rows, len(out.Rows))]
	}
	if n := len(in); n > 1 {
		for _, u := range unlike(recording.Benchmarks.In(in[n-2]), recording.Benchmarks.In(in[n-1])) {
			out.Notes.Add(u)
		}
		out.Notes.Add("the runs took place at different times: other load on the machine counts as a change; ", hint.Ask("compare", "OLD..NEW"), " measures both at the same time")
	}
	return out, nil
}

// A benchUnit is the benchmark and the unit of a row.
type benchUnit struct{ pkg, name, unit string }

// judgeLast compares the last two runs that have a row.
func judgeLast(rows []report.BenchHistoryRow, all [][][]float64, units []bench.Units) {
	var judged []report.CompareRow
	var of []int
	for k := range rows {
		points := rows[k].Points
		if len(points) < 2 {
			continue
		}
		before, after := points[len(points)-2].Run, points[len(points)-1].Run
		if after != len(units)-1 {
			continue // the last run does not have it
		}
		d := verdict.UnitOf(rows[k].Unit)
		if b := units[after].GetBetter(rows[k].Unit); b != 0 {
			d.Better = b
		}
		olds, news := all[k][before], all[k][after]
		r := verdict.Unpaired(d, olds, news, stat.DefaultWithin)
		r.Pkg, r.Name = rows[k].Pkg, rows[k].Name
		judged, of = append(judged, r), append(of, k)
	}
	verdict.Discoveries(judged)
	for i, k := range of {
		rows[k].Last = &judged[i]
	}
}

// runOf identifies the run of a recording.
func runOf(rec *recording.Recording) report.BenchRun {
	run := report.BenchRun{Ref: rec.Ref, Name: strings.TrimSuffix(filepath.Base(rec.Ref), filepath.Ext(rec.Ref))}
	m := rec.Manifest
	if m == nil {
		return run
	}
	run.Started = m.Started
	if p := m.Program; p != nil {
		run.Go, run.Revision = p.Go, p.Settings["vcs.revision"]
	}
	run.Dirty = m.Changes != nil
	if run.Revision != "" {
		run.Name = run.Revision[:min(7, len(run.Revision))]
	}
	return run
}
