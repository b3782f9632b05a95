package view

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/stat"
)

// falseShare is how many of the changes that are called among many rows may be none.
const falseShare = 0.05

// Compare says what changed between two versions that were run against each other, or between two files of benchmark
// lines or two load runs, the new one first and then the one before it.
func Compare(in []*recording.Recording, q query.Query) (report.Report, error) {
	switch {
	case len(in) == 2 && in[0].Bench != nil && in[1].Bench != nil:
		return compareFiles(in[1], in[0]), nil
	case len(in) == 2 && in[0].Load != nil && in[1].Load != nil:
		return compareLoads(in[1], in[0]), nil
	case len(in) != 1 || in[0].Duel == nil:
		return nil, errors.New("compare wants a recorded comparison, two files of benchmark lines, or two load runs")
	}
	d := in[0].Duel
	out := &report.Compare{
		Old: sideOf(d.Old), New: sideOf(d.New), Paired: true,
		Alpha: d.Alpha, Within: cmp.Or(d.Within, stat.DefaultWithin), BuiltOnce: d.BuiltOnce,
		Noise: math.Expm1(d.Spread), NoisePairs: d.SpreadOf,
		Rows: []report.CompareRow{}, Identical: d.Same, Notes: hint.Said(d.Notes...),
	}
	plan := stat.Plan{Alpha: d.Alpha, Within: out.Within}
	var alternate, late []string
	for i := range d.Benchmarks {
		b := &d.Benchmarks[i]
		switch {
		case b.Error != "":
			out.Failed = append(out.Failed, report.Fails(b.Pkg, b.Name, b.Fails, b.Error))
			continue
		case b.Only != "":
			out.Missing = append(out.Missing, report.OnlyOn(b.Pkg, b.Name, b.Only))
			continue
		case len(b.Pairs) == 0:
			out.Failed = append(out.Failed, report.CompareAbsent{Pkg: b.Pkg, Name: b.Name, Why: "was not measured"})
			continue
		}
		if b.How == recording.Alternate {
			alternate = append(alternate, b.Name)
		}
		for _, unit := range unitsOf(b) {
			dim := dimensionOf(unit)
			dim.better = cmp.Or(d.Better[unit], dim.better)
			out.Rows = append(out.Rows, duelRow(b, unit, dim, plan))
		}
		if len(b.Counts) > 0 {
			out.Rows = append(out.Rows, countRow(b, plan.Within))
		}
		if len(b.Live) > 0 {
			out.Rows = append(out.Rows, liveRow(b))
		}
	}
	slices.SortStableFunc(out.Rows, func(a, b report.CompareRow) int { return cmp.Compare(a.What.Rank(), b.What.Rank()) })
	discoveries(out.Rows)
	out.Means = means(out.Rows)
	for _, b := range d.Benchmarks {
		open := func(r report.CompareRow) bool {
			return r.Pkg == b.Pkg && r.Name == b.Name && r.Verdict == report.Undecided
		}
		if b.Stop == "time" && slices.ContainsFunc(out.Rows, open) {
			late = append(late, b.Name)
		}
	}
	for i := range d.Why {
		why, err := whyOf(&d.Why[i])
		if err != nil {
			return nil, err
		}
		if len(why.Rows) > 0 {
			out.Why = append(out.Why, why)
		}
	}
	if len(alternate) > 0 {
		out.Notes.Add("took turns instead of sharing a processor, since they use several, wait, or are far apart: " + list(alternate))
	}
	if len(late) > 0 {
		out.Notes.Add("time was up before all was decided; ", hint.Option{Name: "budget"}, " gives more: "+list(late))
	}
	return out, nil
}

func sideOf(s recording.DuelSide) report.CompareSide {
	return report.CompareSide{Name: s.Name, Rev: s.Rev, Dirty: s.Dirty, Go: s.Go, Env: s.Env, Flags: s.Flags}
}

// list names the first few.
func list(names []string) string {
	const most = 6
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

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
	// Time by the clock says little where two share a processor, and so does whatever is made from it.
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

// A dimension is what a unit measures.
type dimension struct {
	what       report.Dimension
	unit       string
	factor     float64 // from the unit of benchmarks
	better     int     // -1 when less is better, 0 when that is not known
	more, less string
}

func dimensionOf(unit string) dimension {
	switch unit {
	case "cpu-ns/op":
		return dimension{report.CPUTime, "sec/op", 1e-9, -1, "slower", "faster"}
	case "cpu-sec":
		return dimension{report.CPUTime, "sec", 1, -1, "slower", "faster"}
	case "sec":
		return dimension{report.Time, "sec", 1, -1, "slower", "faster"}
	case "ns/op":
		return dimension{report.Time, "sec/op", 1e-9, -1, "slower", "faster"}
	case "sec/op":
		return dimension{report.Time, "sec/op", 1, -1, "slower", "faster"}
	case "cpu-sec/op":
		return dimension{report.CPUTime, "sec/op", 1, -1, "slower", "faster"}
	case "B/s":
		return dimension{report.Throughput, "B/s", 1, 1, "faster", "slower"}
	case "B/op":
		return dimension{report.Memory, "B/op", 1, -1, "more", "less"}
	case "allocs/op":
		return dimension{report.Allocations, "allocs/op", 1, -1, "more", "fewer"}
	case "max-rss":
		return dimension{report.ResidentMemory, "B", 1, -1, "more", "less"}
	case "MB/s":
		return dimension{report.Throughput, "B/s", 1e6, 1, "faster", "slower"}
	}
	if of, ok := strings.CutSuffix(unit, "-ns"); ok && of != "" {
		return dimension{report.Dimension(of), "sec", 1e-9, -1, "slower", "faster"} // p99-ns
	}
	if strings.HasSuffix(unit, "/s") || strings.HasSuffix(unit, "/sec") {
		return dimension{report.Dimension(unit), unit, 1, 1, "faster", "slower"}
	}
	if isCost(unit) {
		return dimension{report.Dimension(unit), unit, 1, -1, "higher", "lower"}
	}
	return dimension{report.Dimension(unit), unit, 1, 0, "higher", "lower"}
}

// isCost reports whether a unit is an amount of time or memory, of which less is better: p99-ns, user-sec/op, heap-bytes.
func isCost(unit string) bool {
	of, _, _ := strings.Cut(unit, "/")
	of = of[strings.LastIndexByte(of, '-')+1:]
	return slices.Contains([]string{"ns", "us", "µs", "ms", "s", "sec", "B", "KB", "MB", "bytes", "allocs"}, of)
}

// countRow judges numbers of instructions. They are nearly the same each time, so what was seen is what there is.
func countRow(b *recording.DuelBenchmark, within float64) report.CompareRow {
	var olds, news []float64
	for _, p := range b.Counts {
		olds, news = append(olds, p.Old[recording.Instructions]), append(news, p.New[recording.Instructions])
	}
	old, new := stat.Median(olds), stat.Median(news)
	c := stat.Comparison{N: len(olds), Ratio: new / old, Lo: slices.Min(news) / slices.Max(olds), Hi: slices.Max(news) / slices.Min(olds), Verdict: stat.Undecided}
	switch {
	case slices.Min(olds) <= 0 || slices.Min(news) <= 0: // less than chance adds and takes
		c.Lo, c.Hi = 0, math.Inf(1)
	case c.Lo > 1/(1+within) && c.Hi < 1+within:
		c.Verdict = stat.Same
	case c.Lo > 1:
		c.Verdict = stat.Higher
	case c.Hi < 1:
		c.Verdict = stat.Lower
	}
	r := rowOf(dimension{report.Instructions, recording.Instructions, 1, -1, "more", "fewer"}, old, new, within, c)
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
	r := rowOf(dimension{report.LiveHeap, "B", 1, -1, "more", "less"}, old, new, leastLive, c)
	r.Pkg, r.Name, r.How, r.P = b.Pkg, b.Name, b.How, nil
	return r
}

// duelRow judges a benchmark in a unit.
func duelRow(b *recording.DuelBenchmark, unit string, dim dimension, plan stat.Plan) report.CompareRow {
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
	if !exact {
		switch {
		case positive:
			c = plan.Conclude(ds)
		default:
			if c = stat.Apart(olds, news); !c.Verdict.Changed() {
				c.Warnings = append(c.Warnings, "zeros among other values of "+unit+" have no ratio")
			}
		}
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
	return r
}

// rowOf puts a comparison into words.
func rowOf(d dimension, old, new, within float64, c stat.Comparison) report.CompareRow {
	r := report.CompareRow{
		What: d.what, Unit: d.unit,
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
		if !c.Exact {
			r.Words = fmt.Sprintf("same within %.3g%%", 100*within)
		}
	case stat.Higher:
		r.Words = d.more
		r.Verdict = [...]string{report.Worse, report.Higher, report.Better}[d.better+1]
	case stat.Lower:
		r.Words = d.less
		r.Verdict = [...]string{report.Better, report.Lower, report.Worse}[d.better+1]
	}
	return r
}

// discoveries takes back what does not stand among so many rows.
func discoveries(rows []report.CompareRow) {
	byWhat := map[report.Dimension][]int{}
	for i, r := range rows {
		if r.P != nil {
			byWhat[r.What] = append(byWhat[r.What], i)
		}
	}
	for _, is := range byWhat {
		ps := make([]float64, len(is))
		for k, i := range is {
			ps[k] = *rows[i].P
		}
		for k, stands := range stat.Discoveries(ps, falseShare) {
			r := &rows[is[k]]
			if r.Verdict == report.Same || r.Verdict == report.Undecided || stands {
				continue
			}
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s with p = %.2g by itself, but among %d benchmarks that may be chance", r.Words, *r.P, len(is)))
			r.Verdict, r.Words = report.Undecided, report.Undecided
		}
	}
}

// means returns the geometric means over rows that have values on both sides.
func means(rows []report.CompareRow) []report.CompareMean {
	byWhat := map[report.Dimension][]float64{}
	var order []report.Dimension
	for _, r := range rows {
		if r.Ratio > 0 && !math.IsInf(r.Ratio, 1) {
			if byWhat[r.What] == nil {
				order = append(order, r.What)
			}
			byWhat[r.What] = append(byWhat[r.What], r.Ratio)
		}
	}
	var out []report.CompareMean
	for _, what := range order {
		out = append(out, report.CompareMean{What: what, Change: stat.GeoMean(byWhat[what]) - 1, Of: len(byWhat[what])})
	}
	return out
}

// moved returns p with functions as if a package, and what lies beside and below it, had another path.
func moved(p *profile.Profile, from, to string) (*profile.Profile, error) {
	if from == "" || from == to {
		return p, nil
	}
	// Where two modules are compared only the beginning differs.
	for {
		a, b := path.Dir(from), path.Dir(to)
		if path.Base(from) != path.Base(to) || a == "." || b == "." {
			break
		}
		from, to = a, b
	}
	t := p.Tables
	t.Functions = slices.Clone(t.Functions)
	for i := range t.Functions {
		f := &t.Functions[i]
		if rest, ok := strings.CutPrefix(f.Name, from); ok && rest != "" && strings.ContainsRune("./_[", rune(rest[0])) {
			f.Name = to + rest
		}
	}
	return p.Rewrite(t, func(_ int, stack []uint32) ([]uint32, bool) { return stack, true })
}

// whyRows is how many functions are shown of those that made a difference.
const whyRows = 8

// whyOf says which functions made the difference: those whose cost with all that they call, per operation, changed by more
// than three times what chance makes of that many samples. What the runtime does is part of what it is done for.
func whyOf(w *recording.DuelWhy) (report.CompareWhy, error) {
	out := report.CompareWhy{Pkg: w.Pkg, Name: w.Name, What: report.CPUTime, Unit: "sec/op", Old: w.Ref("old"), New: w.Ref("new")}
	q, factor := query.Query{View: "diff", Limit: -1}, 1e-9
	if w.Kind == recording.Heap {
		out.What, out.Unit = report.Memory, "B/op"
		q.Metric, factor = "alloc_space", 1
	}
	before, err := moved(w.Old, w.Was, w.Pkg)
	if err != nil {
		return out, err
	}
	in := []*recording.Recording{{Ref: "new", Profile: w.New}, {Ref: "old", Profile: before}}
	r, err := Diff(in, q)
	if err != nil {
		return out, err
	}
	d := r.(*report.Diff)
	slices.SortStableFunc(d.Rows, func(a, b report.DiffRow) int {
		return cmp.Compare(math.Abs(float64(b.Cum)-float64(b.CumBefore)), math.Abs(float64(a.Cum)-float64(a.CumBefore)))
	})
	for _, c := range w.Code {
		out.Code = append(out.Code, report.CompareCode(c))
	}
	per := factor / float64(max(w.Iters, 1))
	for i := range d.Rows {
		row := &d.Rows[i]
		change, sum := math.Abs(float64(row.Cum)-float64(row.CumBefore)), float64(row.Cum)+float64(row.CumBefore)
		chance := 0.0
		if w.Kind == recording.CPU {
			chance = 3 * math.Sqrt(sum*float64(max(w.New.Period, 1)))
		} else {
			chance = float64(max(d.Total, d.Before.Total)) / 100
		}
		switch pkg := profile.PackageOf(row.Name); {
		case change <= chance, pkg == "testing", pkg == "runtime", strings.HasPrefix(pkg, "internal/runtime/"):
			continue
		}
		if len(out.Rows) == whyRows {
			break
		}
		out.Rows = append(out.Rows, report.CompareWhyRow{
			Function: row.Frame.String(), Flat: float64(row.Flat) * per, Before: float64(row.FlatBefore) * per,
			Cum: float64(row.Cum) * per, CumWas: float64(row.CumBefore) * per,
		})
	}
	return out, nil
}
