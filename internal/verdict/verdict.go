// Package verdict judges what was measured, once for all who have to know: hone compare, prove, fix and their gates.
//
// Judge takes what a duel measured. Unpaired judges what was measured one after the other; Close then puts rows in order and takes back what
// chance explains among so many. Pace sums it up.
package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/stat"
	"github.com/hone-perf/hone/internal/unit"
)

// falseShare is how many of the changes that are called among many rows may be none.
const falseShare = 0.05

// Judge says what changed between two versions that were run against each other, but not why.
func Judge(d *recording.Duel) *report.Compare {
	out := &report.Compare{
		Old: sideOf(d.Old), New: sideOf(d.New), Paired: true,
		Alpha: d.Alpha, Within: cmp.Or(d.Within, stat.DefaultWithin), Surely: d.Surely, BuiltOnce: d.BuiltOnce,
		Noise: math.Expm1(d.Spread), NoisePairs: d.SpreadOf,
		Rows: []report.CompareRow{}, Identical: d.Same, Notes: hint.Said(d.Notes...),
	}
	plan := stat.Plan{Alpha: d.Alpha, Within: out.Within, Surely: d.Surely}
	var alternate, late, alike, placed []string
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
			dim := UnitOf(unit)
			dim.Better = cmp.Or(d.Better[unit], dim.Better)
			row := duelRow(b, unit, dim, plan)
			if b.SameCode && row.What.IsTime() && row.Verdict != report.Same {
				row.Verdict, row.Words, row.SameCode = report.Same, sameCode, true
				alike = append(alike, b.Name)
			}
			if b.SameOwn && row.What.IsTime() && row.Changed() {
				row.Verdict, row.Words = report.Undecided, report.Undecided
				placed = append(placed, b.Name)
			}
			out.Rows = append(out.Rows, row)
		}
		if len(b.Counts) > 0 {
			out.Rows = append(out.Rows, countRow(b, plan))
		}
		if len(b.Live) > 0 {
			out.Rows = append(out.Rows, liveRow(b))
		}
	}
	Close(out)
	for _, b := range d.Benchmarks {
		open := func(r report.CompareRow) bool {
			return r.Pkg == b.Pkg && r.Name == b.Name && r.Verdict == report.Undecided
		}
		if b.Stop == "time" && slices.ContainsFunc(out.Rows, open) {
			late = append(late, b.Name)
		}
	}
	if len(alternate) > 0 {
		out.Notes.Add("measured in turns, not on one shared core, because they use several cores, wait, or differ too much: " + list(alternate))
	}
	if len(alike) > 0 {
		out.Notes.Add("the machine code that runs is the same on both sides; the difference in time comes from where the code is in memory, not from the change: " + list(alike))
	}
	if len(placed) > 0 {
		out.Notes.Add("the machine code that runs is the same on both sides, but for init functions or TestMain: the difference in time may come from where the code is in memory; ",
			hint.Option{Name: "layouts", Value: "20"}, " tells: "+list(placed))
	}
	if len(late) > 0 {
		out.Notes.Add("time ran out before everything was decided; ", hint.Option{Name: "budget"}, " gives more: "+list(late))
	}
	return out
}

func sideOf(s recording.DuelSide) report.CompareSide {
	return report.CompareSide{Name: s.Name, Rev: s.Rev, Dirty: s.Dirty, Go: s.Go, Env: s.Env, Flags: s.Flags}
}

// sameCode is the verdict on time where the code is the same, whatever was measured.
const sameCode = "same code"

// list names the first few.
func list(names []string) string {
	const most = 6
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// Close puts rows in order, takes back what chance explains among so many, and adds means.
func Close(c *report.Compare) {
	order.Stable(c.Rows, func(a, b report.CompareRow) int { return cmp.Compare(a.What.Rank(), b.What.Rank()) })
	Discoveries(c.Rows)
	c.Means = means(c.Rows)
}

// Discoveries takes back what does not stand among so many rows.
func Discoveries(rows []report.CompareRow) {
	byWhat := map[report.Dimension][]int{}
	for i, r := range rows {
		if r.P != nil && !r.SameCode {
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
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s with p = %s by itself, but that may be chance among %d benchmarks", r.Words, unit.Number(*r.P), len(is)))
			r.Verdict, r.Words = report.Undecided, report.Undecided
		}
	}
}

// means returns the geometric means over rows that have values on both sides. Where the code is the same, nothing has changed.
func means(rows []report.CompareRow) []report.CompareMean {
	byWhat := map[report.Dimension][]float64{}
	var order []report.Dimension
	for _, r := range rows {
		if r.Ratio > 0 && !math.IsInf(r.Ratio, 1) {
			if byWhat[r.What] == nil {
				order = append(order, r.What)
			}
			ratio := r.Ratio
			if r.SameCode {
				ratio = 1
			}
			byWhat[r.What] = append(byWhat[r.What], ratio)
		}
	}
	var out []report.CompareMean
	for _, what := range order {
		out = append(out, report.CompareMean{What: what, Change: stat.GeoMean(byWhat[what]) - 1, Of: len(byWhat[what])})
	}
	return out
}
