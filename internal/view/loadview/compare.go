package loadview

import (
	"cmp"
	"math"
	"net/url"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/stat"
	"github.com/hone-perf/hone/internal/verdict"
)

// functionsShown is the maximum number of functions with a difference that are shown.
const functionsShown = 8

// LoadMeasures returns what a load run measured of the server, by unit as benchmarks print it.
func LoadMeasures(l *report.Load) map[string]float64 {
	out := make(map[string]float64)
	add := func(unit string, value float64) {
		if value > 0 && !math.IsInf(value, 0) {
			out[unit] = value
		}
	}
	times := l.Times()
	add("p50-ns", float64(times.Quantile(0.5)))
	add("p99-ns", float64(times.Quantile(0.99)))
	if !l.Open() {
		add("answers/s", l.AnsweredRate)
	}
	if s := l.Server; s != nil {
		if s.CPU != nil {
			add("cpu-ns/op", s.CPU.All)
		}
		if s.Memory != nil {
			add("B/op", s.Memory.Bytes)
			add("allocs/op", s.Memory.Objects)
		}
		if s.After != nil {
			add("max-rss", float64(s.After.RSS))
		}
	}
	return out
}

// compareLoads compares two load runs by their seconds.
func CompareLoads(old, new *recording.Recording) *report.Compare {
	out := &report.Compare{
		Old: report.CompareSide{Name: old.Ref}, New: report.CompareSide{Name: new.Ref},
		Alpha: stat.UnpairedAlpha, Within: stat.DefaultWithin, Rows: []report.CompareRow{},
	}
	before, after := loadSeconds(old), loadSeconds(new)
	was, is := recording.LoadRun.In(old), recording.LoadRun.In(new)
	name := requestOf(is)
	for _, unit := range []string{"cpu-ns/op", "mean-ns", "p50-ns", "p99-ns", "answers/s", "B/op", "allocs/op"} {
		a, b := before[unit], after[unit]
		switch {
		case len(a) == 0 && len(b) == 0:
			continue
		case len(a) == 0 || len(b) == 0:
			side := new.Ref
			if len(b) == 0 {
				side = old.Ref
			}
			out.Missing = append(out.Missing, report.CompareAbsent{Name: name, Why: unit + " is in " + side + " only"})
			continue
		}
		r := verdict.Unpaired(verdict.UnitOf(unit), a, b, out.Within)
		r.Name = name
		out.Rows = append(out.Rows, r)
	}
	verdict.Close(out)
	out.Why = loadWhy(name, loadServer(old), loadServer(new))
	out.Notes.Add("each side is one run, compared second by second: differences between two starts of the server, or in the machine's load, count as changes; ",
		hint.Ask("compare", "OLD..NEW").With("load", ""), " runs both in turns")
	if requestOf(was) != name || was.Rate != is.Rate || was.Conns != is.Conns {
		out.Notes.Add("the two runs had different loads")
	}
	return out
}

// requestOf describes the requests, without the address of the server.
func requestOf(l *latency.Log) string {
	u, err := url.Parse(l.Target)
	if err != nil {
		return l.Method + " " + l.Target
	}
	return l.Method + " " + u.RequestURI()
}

// loadSeconds returns what a load run measured in each second of its steady time, by unit.
func loadSeconds(rec *recording.Recording) map[string][]float64 {
	out := make(map[string][]float64)
	add := func(unit string, value float64) { out[unit] = append(out[unit], value) }
	log, series := recording.LoadRun.In(rec), recording.Metrics.In(rec)
	for _, r := range log.Rows {
		if r.For < 500*time.Millisecond || r.Answered == 0 {
			continue // the rest of a second
		}
		add("mean-ns", float64(r.Mean))
		add("p50-ns", float64(r.P50))
		add("p99-ns", float64(r.P99))
		if !log.Open() {
			add("answers/s", float64(r.Answered)/r.For.Seconds())
		}
	}
	from, to, ok := log.Steady()
	if !ok || series == nil || rec.Manifest == nil || rec.Manifest.How == recording.Fetched {
		return out
	}
	s := &serverRun{rec: rec, series: series, log: log, from: from + log.Offset, to: to + log.Offset}
	for _, m := range []struct {
		unit, metric string
		factor       float64
	}{{"cpu-ns/op", recording.ProcessCPU, 1e9}, {"B/op", metricAllocBytes, 1}, {"allocs/op", metricAllocObjects, 1}} {
		first, last, ok := s.lines(m.metric)
		if !ok {
			continue
		}
		for i := first + 1; i <= last; i++ {
			a, knownA := series.At(m.metric, i-1)
			b, knownB := series.At(m.metric, i)
			if n := s.requests(series.Times[i-1], series.Times[i]); knownA && knownB && n >= 1 && b > a {
				add(m.unit, (b-a)/n*m.factor)
			}
		}
	}
	return out
}

// loadWhy lists the functions whose CPU time or memory changed.
func loadWhy(name string, old, new *report.LoadServer) (out []report.CompareWhy) {
	if old == nil || new == nil || old.CPU == nil || new.CPU == nil {
		return nil
	}
	type pair struct{ old, new report.FunctionCost }
	both := make(map[string]pair)
	var names []string
	for _, f := range old.Functions {
		names = append(names, f.Name)
		both[f.Name] = pair{old: f}
	}
	for _, f := range new.Functions {
		p, ok := both[f.Name]
		if !ok {
			names = append(names, f.Name)
		}
		p.new = f
		both[f.Name] = p
	}
	cpu := report.CompareWhy{Name: name, What: report.CPUTime, Unit: "sec/op"}
	memory := report.CompareWhy{Name: name, What: report.Memory, Unit: "B/op"}
	for _, name := range names {
		p := both[name]
		if math.Abs(p.new.CPU-p.old.CPU) > 1.5*(p.old.Error+p.new.Error) {
			cpu.Rows = append(cpu.Rows, report.CompareWhyRow{
				Function: name, Flat: p.new.CPU / 1e9, Before: p.old.CPU / 1e9, Cum: p.new.With / 1e9, CumWas: p.old.With / 1e9,
			})
		}
		if old.Memory != nil && new.Memory != nil && math.Abs(p.new.Bytes-p.old.Bytes) > 0.05*max(old.Memory.Bytes, new.Memory.Bytes) {
			memory.Rows = append(memory.Rows, report.CompareWhyRow{Function: name, Flat: p.new.Bytes, Before: p.old.Bytes, Cum: p.new.AllB, CumWas: p.old.AllB})
		}
	}
	for _, w := range []report.CompareWhy{cpu, memory} {
		order.Stable(w.Rows, func(a, b report.CompareWhyRow) int {
			return cmp.Compare(math.Abs(b.Flat-b.Before), math.Abs(a.Flat-a.Before))
		})
		if w.Rows = w.Rows[:min(len(w.Rows), functionsShown)]; len(w.Rows) > 0 {
			out = append(out, w)
		}
	}
	return out
}
