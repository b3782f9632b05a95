package benchview

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/verdict"
	"github.com/hone-perf/hone/internal/view/loadview"
	"github.com/hone-perf/hone/internal/view/profileview"
)

// Compare shows the changes between two versions of a duel, two files of benchmark lines, or two load runs. The new one comes
// first, and then the old one.
func Compare(in []*recording.Recording, q query.Query) (report.Report, error) {
	if len(in) == 2 {
		switch {
		case recording.Benchmarks.In(in[0]) != nil && recording.Benchmarks.In(in[1]) != nil:
			return compareFiles(in[1], in[0]), nil
		case recording.LoadRun.In(in[0]) != nil && recording.LoadRun.In(in[1]) != nil:
			return loadview.CompareLoads(in[1], in[0]), nil
		}
	}
	var d *recording.Duel
	if len(in) == 1 {
		d = recording.Versions.In(in[0])
	}
	if d == nil {
		return nil, errors.New("compare needs a recorded comparison, two files of benchmark lines, or two load runs")
	}
	c, err := Duel(d)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Duel shows the changes between the two versions of a duel, and their causes.
func Duel(d *recording.Duel) (*report.Compare, error) {
	out := verdict.Judge(d)
	for i := range d.Why {
		w := &d.Why[i]
		why, err := whyOf(w, scaleOf(w, out.Rows))
		if err != nil {
			return nil, err
		}
		if len(why.Rows)+len(why.Code) > 0 {
			out.Why = append(out.Why, why)
			continue
		}
		none := "no function differs by more than chance"
		if w.Kind == recording.CPU {
			none += ", and no code of those that ran changed"
		}
		out.Notes.Add(fmt.Sprintf("%s: the profiles do not show why its %s changed: %s", w.Name, why.What, none))
	}
	return out, nil
}

// scaleOf returns by what the costs in the profiles of both sides have to be multiplied to add up to the times in the rows.
func scaleOf(w *recording.DuelWhy, rows []report.CompareRow) [2]float64 {
	i := slices.IndexFunc(rows, func(r report.CompareRow) bool { return r.Pkg == w.Pkg && r.Name == w.Name && r.What.IsTime() })
	if i < 0 || w.Kind != recording.CPU || !(w.Took[0] > 0 && w.Took[1] > 0 && rows[i].Old > 0 && rows[i].New > 0) {
		return [2]float64{1, 1}
	}
	return [2]float64{rows[i].Old / (1e-9 * w.Took[0]), rows[i].New / (1e-9 * w.Took[1])}
}

// moved returns p with another path for a package, and for the packages beside and below it.
func moved(p *profile.Profile, from, to string) (*profile.Profile, error) {
	if from == "" || from == to {
		return p, nil
	}
	// If two modules are compared, only the beginning of paths differs.
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

// whyRows is the maximum number of functions with a difference that are shown.
const whyRows = 8

// whyOf says which functions made the difference: those whose cost with all that they call, per operation, changed by more
// than three times what chance makes of that many samples. What the runtime does is part of what it is done for.
func whyOf(w *recording.DuelWhy, scale [2]float64) (report.CompareWhy, error) {
	out := report.CompareWhy{Pkg: w.Pkg, Name: w.Name, What: report.CPUTime, Unit: "sec/op", Old: w.Ref("old"), New: w.Ref("new"), Rows: []report.CompareWhyRow{}}
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
	r, err := profileview.Diff(in, q)
	if err != nil {
		return out, err
	}
	d := r.(*report.Diff)
	change := func(r *report.DiffRow) float64 {
		return math.Abs(float64(r.Cum)*scale[1] - float64(r.CumBefore)*scale[0])
	}
	order.Stable(d.Rows, func(a, b report.DiffRow) int { return cmp.Compare(change(&b), change(&a)) })
	for _, c := range w.Code {
		out.Code = append(out.Code, report.CompareCode(c))
	}
	per := factor / float64(max(w.Iters, 1))
	for i := range d.Rows {
		row := &d.Rows[i]
		chance := 0.0
		if w.Kind == recording.CPU {
			chance = 3 * math.Sqrt((float64(row.Cum)*scale[1]*scale[1]+float64(row.CumBefore)*scale[0]*scale[0])*float64(max(w.New.Period, 1)))
		} else {
			chance = float64(max(d.Total, d.Before.Total)) / 100
		}
		switch pkg := profile.PackageOf(row.Name); {
		case change(row) <= chance, pkg == "testing", pkg == "runtime", strings.HasPrefix(pkg, "internal/runtime/"):
			continue
		}
		if len(out.Rows) == whyRows {
			break
		}
		out.Rows = append(out.Rows, report.CompareWhyRow{
			Function: row.Frame.String(), Flat: float64(row.Flat) * scale[1] * per, Before: float64(row.FlatBefore) * scale[0] * per,
			Cum: float64(row.Cum) * scale[1] * per, CumWas: float64(row.CumBefore) * scale[0] * per,
		})
	}
	return out, nil
}
