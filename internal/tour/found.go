package tour

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// some is the part of a report that fits below a step.
type some []report.Block

func (s some) Blocks() iter.Seq[report.Block] { return slices.Values(s) }

// Blocks says what a step is about.
func (s *Step) Blocks() iter.Seq[report.Block] {
	return slices.Values([]report.Block{
		report.Title{Text: fmt.Sprintf("%d. %s", s.Number, s.Title)}, report.Plain{Text: "$ " + s.Command}, report.Heading{Lines: []report.Phrase{{s.Says}}},
	})
}

// Blocks says what was left out or not as planned, and what to try next.
func (t *Tour) Blocks() iter.Seq[report.Block] {
	var out []report.Block
	for _, l := range t.Left {
		line, _, _ := strings.Cut(l, "\n")
		out = append(out, report.Note{Text: report.Phrase{"left out: " + line}})
	}
	for _, n := range t.Notes {
		out = append(out, report.Note{Text: report.Phrase{n}})
	}
	return slices.Values(append(out, report.Commands{Title: "on your own program", Items: Next}))
}

// few returns the blocks of a report that are wanted.
func few(r report.Report, wanted func(report.Block) bool) some {
	var out some
	for b := range r.Blocks() {
		if wanted(b) {
			out = append(out, b)
		}
	}
	return out
}

func isTable(b report.Block) bool {
	t, ok := b.(report.Table)
	return ok && len(t.Rows) > 0
}

// costOf says what a request costs, and which function takes most of that.
func costOf(l *report.Load) report.Report {
	var f report.Facts
	add := func(name string, value ...any) {
		f.Items = append(f.Items, report.Fact{Name: name, Value: report.Phrase(value)})
	}
	add("answered", fmt.Sprintf("%d requests, %s", l.Answered, unit.PerSecond(l.AnsweredRate)))
	s := l.Server
	if s == nil {
		return some{f}
	}
	if s.CPU != nil {
		add("a request takes", report.Nanos(int64(s.CPU.All)), " of CPU time")
	}
	if s.Memory != nil {
		add("it allocates", report.Bytes(int64(s.Memory.Bytes)), " in "+unit.Number(s.Memory.Objects)+" objects")
	}
	own := slices.DeleteFunc(slices.Clone(s.Functions), func(f report.FunctionCost) bool {
		return strings.HasPrefix(f.Name, "(") // what is not of the program
	})
	most := func(name string, list []report.FunctionCost) {
		if len(list) > 0 {
			x := slices.MaxFunc(list, func(a, b report.FunctionCost) int { return cmp.Compare(a.CPU, b.CPU) })
			add(name, report.Name{Text: x.Name}, ", ", report.Nanos(int64(x.CPU)))
		}
	}
	most("of that time, in", own)
	most("of that, below", s.Calls)
	return some{f}
}

// racesOf says which races there are, and between which lines.
func racesOf(r *report.Races) report.Report {
	out := few(r, func(b report.Block) bool {
		switch b.(type) {
		case report.Title, report.Heading:
			return true
		}
		return false
	})
	for i := range r.Races {
		d := &r.Races[i]
		var places []string
		for _, a := range d.Accesses {
			what := "a read"
			if a.Write {
				what = "a write"
			}
			if len(a.Stack) > 0 {
				what += fmt.Sprintf(" at %s in %s", a.Stack[0], a.Stack[0].Func)
			}
			places = append(places, what)
		}
		says := strings.Join(places, " against ")
		switch {
		case d.Patch != "":
			says += "; patch: " + d.Means
		case d.NoPatch != "":
			says += "; no patch: " + d.NoPatch
		}
		out = append(out, report.Facts{Items: []report.Fact{{Name: d.Variable, Value: says}}})
	}
	return out
}

// racesFixed shows the checks that patches of races passed, and the patches.
func racesFixed(fixed []report.RaceFix) report.Report {
	if len(fixed) == 0 {
		return some{report.Title{Text: "no patch is known, or there is no race"}}
	}
	out := few(&report.Races{Fixed: fixed}, isTable)
	for i := range fixed {
		out = append(out, report.Plain{Text: fixed[i].Patch})
	}
	return out
}

// fixesOf shows what all patches together won, and each in a line.
func fixesOf(f *report.Fixes) []report.Report {
	if len(f.Kept) == 0 {
		return []report.Report{few(f, func(b report.Block) bool {
			_, title := b.(report.Title)
			_, about := b.(report.Heading)
			return title || about
		})}
	}
	kept := report.Table{Columns: []report.Column{{Name: "kept"}, {Name: "where", Path: true}, {Name: "what was done"}}}
	for i := range f.Kept {
		x := &f.Kept[i]
		kept.Rows = append(kept.Rows, []any{i + 1, x.Where.String(), x.Fix})
	}
	out := some{report.Title{Text: fmt.Sprintf("%d proven and kept, %d tried and not kept", len(f.Kept), len(f.Refused))}, kept}
	rows := f.Whole
	if len(rows) == 0 { // there was no time to compare all of them with what was
		for i := range f.Kept {
			for _, r := range f.Kept[i].Speed {
				r.Name = fmt.Sprintf("%s, by %d", r.Name, i+1)
				rows = append(rows, r)
			}
		}
	}
	return []report.Report{append(out, measured("benchmark", rows), report.Plain{Text: f.Patch})}
}

// changeOf shows what became of a request. How many were answered, and how fast, has more to do with the rest of the machine, since
// the two runs are a minute apart: that is only on the page.
func changeOf(c *report.Compare) report.Report {
	out := some{measured("", slices.DeleteFunc(slices.Clone(c.Rows), func(r report.CompareRow) bool {
		return !slices.Contains([]report.Dimension{report.CPUTime, report.Memory, report.Allocations}, r.What)
	}))}
	for _, n := range c.Notes {
		out = append(out, report.Note{Text: report.Phrase{n}})
	}
	return out
}

// measured shows what was measured before and after, a line for each thing. With a name for them, it says of which benchmark.
func measured(name string, rows []report.CompareRow) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "what"}, {Name: "before"}, {Name: "after"}, {Name: "change"}, {Name: "verdict"}}}
	if name != "" {
		t.Columns = slices.Insert(t.Columns, 0, report.Column{Name: name})
	}
	for i := range rows {
		r := &rows[i]
		verdict := report.Judgment{Text: r.Words}
		switch r.Verdict {
		case report.Better:
			verdict.Good = 1
		case report.Worse:
			verdict.Good = -1
		}
		row := []any{r.What, report.Measured{V: r.Old, Unit: r.Unit}, report.Measured{V: r.New, Unit: r.Unit}, report.Relative(r.Ratio), verdict}
		if name != "" {
			row = slices.Insert(row, 0, any(r.Name))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
