package advise

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// An adviser keeps what rules find.
type adviser struct {
	costs *cost.Costs
	least float64
	list  []kept
	small int

	unsaid map[line]report.UnsaidLine // that rules left out, although they allocate much

	fleet *report.Fleet // nil where the profiles are not of one selection of a store
	loads map[string]recording.Load
}

// A line is one of a file.
type line struct {
	file   string
	number int
}

type kept struct {
	*report.Finding
	weight float64
	callee string // where the cost is; "" where it is the line itself
	hoists bool   // see Rule.Hoists
	within []extent
}

// add keeps a finding, unless what it costs is too little to be said. One that is vague about what to do counts a quarter: how
// much of it can be saved is not known. One without a patch counts half: it takes somebody who knows the program, and may not be
// possible at all.
func (a *adviser) add(f *report.Finding, c cost.Cost, say Finding) {
	if a.costs.Share(&c) < a.least {
		if c != (cost.Cost{}) {
			a.small++
		}
		return
	}
	w := a.costs.Weight(&c)
	if a.fleet != nil {
		if cores := pay(a.loads, f.Savings); cores > 0 && a.fleet.CoreHour.Value > 0 {
			month := a.fleet.CoreHour.Month(cores)
			f.Month = &month
		}
		w = worth(f.Savings, w)
	}
	switch {
	case say.last: // behind those that know more
		w = 0
	case say.Vague:
		w /= 4
	case len(f.Fixes) == 0:
		w /= 2
	}
	a.list = append(a.list, kept{f, w, say.Callee, say.hoists, say.within})
}

// told reports whether there is a finding about some lines.
func (a *adviser) told(file string, from, to int) bool {
	return slices.ContainsFunc(a.list, func(k kept) bool { return k.about(file, from, to) })
}

// toldOf reports whether there is a finding about what some lines cost of a metric.
func (a *adviser) toldOf(m cost.Metric, file string, from, to int) bool {
	return slices.ContainsFunc(a.list, func(k kept) bool {
		return k.about(file, from, to) && slices.ContainsFunc(k.Savings, func(s report.Saving) bool { return s.Metric == cost.Metrics[m].Name })
	})
}

func (k kept) about(file string, from, to int) bool {
	return slices.ContainsFunc(append([]report.Spot{k.Where}, k.Also...), func(s report.Spot) bool { return s.File == file && from <= s.Line && s.Line <= to })
}

// knows reports whether there is a finding about a function that is about a callee, or about another method of its type: a Replacer
// costs where it is used, and not where it is made.
func (a *adviser) knows(fn, callee string) bool {
	typ := callee[:strings.LastIndexByte(callee, '.')+1]
	return slices.ContainsFunc(a.list, func(k kept) bool {
		return k.Where.Function == fn && k.callee != "" && (k.callee == callee || strings.HasSuffix(typ, ").") && strings.HasPrefix(k.callee, typ))
	})
}

// first compares so that what holds stands before what does not.
func first(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return -1
	}
	return 1
}

// sameRuleAndLine reports whether a rule has two findings about one line, of which the first is told.
func sameRuleAndLine(a, b *report.Finding) bool {
	return a.Where.File == b.Where.File && a.Where.Line == b.Where.Line && a.Rule == b.Rule
}

// sameSaving reports whether two findings are about one line and save the same there, by patches of which only one can be applied.
func sameSaving(a, b *report.Finding) bool {
	if a.Where.File != b.Where.File || a.Where.Line != b.Where.Line || !slices.EqualFunc(a.Savings, b.Savings, func(x, y report.Saving) bool { return x.Metric == y.Metric && x.Value == y.Value }) {
		return false
	}
	for _, x := range a.Fixes {
		if slices.ContainsFunc(b.Fixes, func(y report.Fix) bool { return overlap(x.Edits, y.Edits) }) {
			return true
		}
	}
	return false
}

// overlap reports whether edits change the same lines of a file.
func overlap(a, b []report.Edit) bool {
	return slices.ContainsFunc(a, func(x report.Edit) bool {
		return slices.ContainsFunc(b, func(y report.Edit) bool {
			return x.File == y.File && x.StartLine < y.EndLine && y.StartLine < x.EndLine
		})
	})
}

// ranked returns the findings, those that save most first, and for each the code whose values it is about; nil means all code on its lines.
func (a *adviser) ranked() (*report.Advice, [][]extent) {
	order.Stable(a.list, func(x, y kept) int {
		if d := x.weight - y.weight; math.Abs(d) > 1e-9 {
			return cmp.Compare(y.weight, x.weight)
		}
		return cmp.Or(first(x.hoists, y.hoists), cmp.Compare(len(y.Fixes), len(x.Fixes)), cmp.Compare(x.Where.File, y.Where.File), cmp.Compare(x.Where.Line, y.Where.Line), cmp.Compare(x.Rule, y.Rule))
	})
	out := &report.Advice{Findings: []report.Finding{}, Small: a.small}
	var within [][]extent
	for i, k := range a.list {
		if slices.ContainsFunc(a.list[:i], func(before kept) bool {
			return sameRuleAndLine(before.Finding, k.Finding) || before.hoists && sameSaving(before.Finding, k.Finding)
		}) {
			continue
		}
		k.Number = len(out.Findings) + 1
		out.Findings = append(out.Findings, *k.Finding)
		within = append(within, k.within)
	}
	for l, left := range a.unsaid {
		if !a.told(l.file, l.number, l.number) {
			out.Unsaid = append(out.Unsaid, left)
		}
	}
	order.Stable(out.Unsaid, func(x, y report.UnsaidLine) int {
		return cmp.Or(cmp.Compare(max(y.Objects, y.Bytes), max(x.Objects, x.Bytes)), cmp.Compare(x.Where.File, y.Where.File), cmp.Compare(x.Where.Line, y.Where.Line))
	})
	return out, within
}
