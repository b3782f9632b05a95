package verdict

import (
	"fmt"
	"math"
	"slices"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/stat"
	"github.com/hone-perf/hone/internal/unit"
)

// unitsOf returns what to show of a benchmark: the time that decided, and all but time besides.
func unitsOf(b *recording.DuelBenchmark) []string {
	units := map[string]bool{}
	for _, p := range b.Pairs {
		for u := range p.Old {
			if _, ok := p.New[u]; ok {
				units[u] = true
			}
		}
	}
	// Time by the clock says little where two share a core, and so does whatever is made from it.
	for _, u := range []string{"ns/op", "cpu-ns/op", "MB/s"} {
		delete(units, u)
	}
	if b.How == recording.Duet {
		delete(units, "sec")
	}
	out := []string{b.Unit}
	for _, u := range []string{"B/op", "allocs/op"} {
		if units[u] {
			out = append(out, u)
			delete(units, u)
		}
	}
	rest := make([]string, 0, len(units))
	for u := range units {
		if u != b.Unit {
			rest = append(rest, u)
		}
	}
	slices.Sort(rest)
	return append(out, rest...)
}

// countRow judges numbers of instructions. They are nearly the same each time, so what was seen is what there is.
func countRow(b *recording.DuelBenchmark, plan stat.Plan) report.CompareRow {
	var olds, news []float64
	for _, p := range b.Counts {
		olds, news = append(olds, p.Old[recording.Instructions]), append(news, p.New[recording.Instructions])
	}
	old, new := stat.Median(olds), stat.Median(news)
	c := stat.Comparison{N: len(olds), Ratio: new / old, Lo: slices.Min(news) / slices.Max(olds), Hi: slices.Max(news) / slices.Min(olds), Verdict: stat.Undecided}
	switch {
	case slices.Min(olds) <= 0 || slices.Min(news) <= 0: // less than chance adds and takes
		c.Lo, c.Hi = 0, math.Inf(1)
	default:
		c.Verdict = plan.Verdict(math.Log(c.Ratio), math.Log(c.Lo), math.Log(c.Hi))
	}
	r := rowOf(Unit{report.Instructions, recording.Instructions, 1, -1, "more", "fewer"}, old, new, plan.Within, c)
	r.Pkg, r.Name, r.How, r.P = b.Pkg, b.Name, b.How, nil
	return r
}

// What a heap has to change by to count. When it was looked at is chance, so small heaps are never the same twice.
const (
	leastLive  = 0.1      // share
	leastBytes = 64 << 10 // beside it
)

// liveRow judges how much of the heap was in use at most. Every run is of all that happens, so no run of one side may be among those
// of the other.
func liveRow(b *recording.DuelBenchmark) report.CompareRow {
	var olds, news []float64
	for _, p := range b.Live {
		olds, news = append(olds, p.Old[recording.LiveHeap]), append(news, p.New[recording.LiveHeap])
	}
	old, new := stat.Median(olds), stat.Median(news)
	c := stat.Comparison{N: len(olds), Ratio: new / old, Lo: slices.Min(news) / slices.Max(olds), Hi: slices.Max(news) / slices.Min(olds), Verdict: stat.Undecided}
	if slices.Min(olds) <= 0 || slices.Min(news) <= 0 {
		c.Lo, c.Hi = 0, math.Inf(1)
	}
	apart := func(less, more []float64) bool {
		gap := slices.Min(more) - slices.Max(less)
		return gap > leastBytes && gap > leastLive*slices.Min(more)
	}
	switch {
	case apart(news, olds):
		c.Verdict = stat.Lower
	case apart(olds, news):
		c.Verdict = stat.Higher
	case math.Abs(new-old) < max(leastBytes, leastLive*old):
		c.Verdict = stat.Same
	}
	r := rowOf(Unit{report.LiveHeap, "B", 1, -1, "more", "less"}, old, new, leastLive, c)
	r.Pkg, r.Name, r.How, r.P = b.Pkg, b.Name, b.How, nil
	return r
}

// duelRow judges a benchmark in a unit.
func duelRow(b *recording.DuelBenchmark, unit string, dim Unit, plan stat.Plan) report.CompareRow {
	var olds, news, ds []float64
	positive := true
	for _, p := range b.Pairs {
		old, hasOld := p.Old[unit]
		new, hasNew := p.New[unit]
		if !hasOld || !hasNew {
			continue
		}
		olds, news = append(olds, old), append(news, new)
		if old <= 0 || new <= 0 {
			positive = false
			continue
		}
		ds = append(ds, math.Log(new/old))
	}
	c, exact := stat.Exactly(olds, news)
	switch {
	case exact && plan.Surely && math.Abs(math.Log(c.Ratio)) <= math.Log1p(plan.Within):
		c.Verdict = stat.Same // as far as it counts for the user
	case exact:
	case positive:
		c = plan.Conclude(ds)
	default:
		if c = plan.Zeros(olds, news); c.Verdict == stat.Undecided {
			c.Warnings = append(c.Warnings, "zeros among nonzero values of "+unit+" have no ratio")
		}
	}
	few := b.Stop == "clear" && c.Verdict == stat.Undecided && stat.Clear(ds) != stat.Undecided
	if few {
		c.Verdict, c.Lo, c.Hi = stat.Clear(ds), math.Exp(slices.Min(ds)), math.Exp(slices.Max(ds))
	}
	before, after := stat.Median(olds), stat.Median(news)
	if positive && !exact {
		// Both drift together, so the middles of the sides may say another thing than the pairs.
		mids := make([]float64, len(ds))
		for i := range ds {
			mids[i] = math.Log(olds[i]) + ds[i]/2
		}
		mid := math.Exp(stat.Median(mids))
		before, after = mid/math.Sqrt(c.Ratio), mid*math.Sqrt(c.Ratio)
	}
	r := rowOf(dim, before, after, plan.Within, c)
	r.Pkg, r.Name, r.How = b.Pkg, b.Name, b.How
	if few {
		r.P = nil // which has no meaning where what is measured decides when to stop
		r.Words += fmt.Sprintf(" in each of %d pairs", len(ds))
	}
	return r
}

// rowOf puts a comparison into words.
func rowOf(d Unit, old, new, within float64, c stat.Comparison) report.CompareRow {
	r := report.CompareRow{
		What: d.What, Unit: d.Name,
		Old: old * d.factor, New: new * d.factor,
		Change: report.Finite(c.Ratio - 1), Low: report.Finite(c.Lo - 1), High: report.Finite(c.Hi - 1),
		N: c.N, Exact: c.Exact, Warnings: c.Warnings, Ratio: c.Ratio, Lo: c.Lo, Hi: c.Hi,
	}
	if math.IsInf(c.Hi, 1) {
		r.Low, r.High = nil, nil
	}
	if !c.Exact {
		r.P = &c.P
	}
	r.Verdict, r.Words = string(c.Verdict), string(c.Verdict)
	switch c.Verdict {
	case stat.Same:
		if c.Lo != 1 || c.Hi != 1 {
			r.Words = "same within " + unit.Share(within)
		}
	case stat.Higher:
		r.Words = d.more
		r.Verdict = [...]string{report.Worse, report.Higher, report.Better}[d.Better+1]
	case stat.Lower:
		r.Words = d.less
		r.Verdict = [...]string{report.Better, report.Lower, report.Worse}[d.Better+1]
	}
	return r
}

// Unpaired judges values that were measured one after the other.
func Unpaired(d Unit, olds, news []float64, within float64) report.CompareRow {
	return rowOf(d, stat.Median(olds), stat.Median(news), within, unpaired(olds, news, within))
}

// unpaired compares what can be compared by ratios.
func unpaired(olds, news []float64, within float64) stat.Comparison {
	if c, exact := stat.Exactly(olds, news); exact {
		return c
	}
	all := slices.Concat(olds, news)
	if slices.ContainsFunc(all, func(x float64) bool { return !(x > 0) || math.IsInf(x, 0) }) {
		c := stat.Comparison{Ratio: math.NaN(), Hi: math.Inf(1), P: 1, N: min(len(olds), len(news)), Verdict: stat.Undecided}
		if !slices.ContainsFunc(all, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
			c = stat.Apart(olds, news)
		}
		if !c.Verdict.Changed() {
			c.Warnings = append(c.Warnings, "values that are zero or negative have no ratio")
		}
		return c
	}
	return stat.Unpaired(olds, news, within)
}
