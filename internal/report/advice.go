package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/report/missing"
	"github.com/hone-perf/hone/internal/unit"
)

// Advice is the findings about a program, those with the largest savings first.
type Advice struct {
	Refs      []string     `json:"refs"`
	Findings  []Finding    `json:"findings"`
	Functions int          `json:"functions"`        // functions with a cost that were examined
	Small     int          `json:"small,omitempty"`  // findings left out because they save less than Least
	Unsaid    []UnsaidLine `json:"unsaid,omitempty"` // lines that allocate much in little CPU time, and of which no rule knows a cheaper way; most first
	Least     float64      `json:"least"`            // share
	Most      *Hottest     `json:"most,omitempty"`   // the line that costs most, where all cost less than Least
	Notes     hint.Texts   `json:"notes,omitempty"`
	Root      string       `json:"root,omitempty"` // folder that files are relative to
	Fleet     *Fleet       `json:"fleet,omitempty"`

	Show   int    `json:"-"` // the finding to show in full; 0 shows as many as fit on a screen, -1 shows all
	Source string `json:"-"` // folder of the module, as commands have to name it; "" where they find it themselves
}

// A Hottest is the line of the module that costs most.
type Hottest struct {
	Function string  `json:"function"` // as profiles name it
	Line     int     `json:"line"`
	Share    float64 `json:"share"`
}

// An UnsaidLine is a line without a finding, and the shares of all objects and of all bytes that it makes.
type UnsaidLine struct {
	Where   Spot    `json:"where"`
	Objects float64 `json:"objects"`
	Bytes   float64 `json:"bytes"`
}

func (l UnsaidLine) String() string {
	return fmt.Sprintf("%s (%s objects, %s bytes)", l.Where, unit.Share(l.Objects), unit.Share(l.Bytes))
}

// A Finding is a place in the source with an avoidable cost, and the remedy.
type Finding struct {
	Number   int            `json:"number"`
	Rule     string         `json:"rule"`
	Title    string         `json:"title"` // the cause in a few words
	Where    Spot           `json:"where"`
	Also     []Spot         `json:"also,omitempty"`  // other lines of the same finding
	Savings  []Saving       `json:"savings"`         // upper bounds
	Month    *Price         `json:"month,omitempty"` // price of the CPU time
	Claim    string         `json:"claim"`
	Evidence []Evidence     `json:"evidence"`
	Escape   string         `json:"escape,omitempty"` // why the value is on the heap, if known
	Advice   string         `json:"advice,omitempty"` // what to do, in words
	Fixes    []Fix          `json:"fixes,omitempty"`  // variants, safest first
	Missing  missing.Reason `json:"missing,omitzero"` // why there is no patch
	NoFix    string         `json:"no_fix,omitempty"` // Missing as a sentence, for JSON
	Risk     string         `json:"risk"`
	Live     bool           `json:"live,omitempty"` // it saves live memory, not allocations
	Proof    hint.Text      `json:"proof"`          // how to prove the fix, or how it was proven

	Ask  []hint.Command `json:"-"` // commands that show more about it
	Safe bool           `json:"-"` // Risk says that there is no risk
}

// A Spot is a line of source.
type Spot struct {
	File     string `json:"file"` // relative to the root, if it is below it
	Line     int    `json:"line"`
	Column   int    `json:"column,omitempty"`
	Function string `json:"function,omitempty"` // as profiles name it
	Text     string `json:"text,omitempty"`     // of the line
}

func (s Spot) String() string { return fmt.Sprintf("%s:%d", s.File, s.Line) }

// A Saving is how much of something a fix can save: an upper bound.
type Saving struct {
	Metric string  `json:"metric"`
	Short  string  `json:"short"` // the name in a few words
	Unit   string  `json:"unit"`
	Value  int64   `json:"value"`
	Total  int64   `json:"total"`
	Share  float64 `json:"share"`
	Fleet  *Amount `json:"fleet,omitempty"` // the value for all processes, where that is known
}

// Evidence is a query that supports a finding. Anybody can run it again.
type Evidence struct {
	Says  string
	Query query.Query

	command string // spelled for a front end
}

// MarshalJSON writes the query in the syntax of the prompt, as a command, and as the path of a page.
func (e Evidence) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Says    string `json:"says"`
		Query   string `json:"query"`
		Command string `json:"command"`
		URL     string `json:"url"`
	}{e.Says, e.Query.String(), cmp.Or(e.command, e.Command().String()), e.Query.URL()})
}

// Command returns the query as a next step.
func (e Evidence) Command() hint.Command { return e.Query.Command().For(e.Says) }

// Spelled returns a with its evidence in the spelling of a front end.
func (a *Advice) Spelled(by hint.Speller) Report {
	spelled := *a
	spelled.Findings = slices.Clone(a.Findings)
	for i := range spelled.Findings {
		f := &spelled.Findings[i]
		f.Evidence = slices.Clone(f.Evidence)
		for k := range f.Evidence {
			f.Evidence[k].command = by.Command(f.Evidence[k].Command())
		}
	}
	return &spelled
}

// Worded returns a with the sentences for NoFix.
func (a *Advice) Worded(sentence func(missing.Reason) string) Report {
	worded := *a
	worded.Findings = slices.Clone(a.Findings)
	for i := range worded.Findings {
		f := &worded.Findings[i]
		f.NoFix = sentence(f.Missing)
	}
	return &worded
}

// A Grade is the reason to believe that a fix changes nothing else.
type Grade string

// The grades.
const (
	Mechanical Grade = "mechanical" // types and text prove it
	Ownership  Grade = "ownership"  // it is correct as long as nobody keeps the reused value
)

// A Fix is one way to change the source.
type Fix struct {
	Title string `json:"title"`
	Grade Grade  `json:"grade"`
	Edits []Edit `json:"edits"`
	Patch string `json:"patch"` // Edits as a unified diff
	Risk  string `json:"risk,omitempty"`
}

// Lines returns the number of lines that the fix removes and adds, which a reviewer has to read.
func (f *Fix) Lines() (n int) {
	for _, e := range f.Edits {
		n += e.EndLine - e.StartLine + strings.Count(e.New, "\n")
	}
	return n
}

// An Edit replaces the bytes from Start to End of a file.
type Edit struct {
	File  string `json:"file"`
	Start int    `json:"start"`
	End   int    `json:"end"`
	New   string `json:"new"`

	// The same range in whole lines.
	StartLine int `json:"start_line"`
	EndLine   int `json:"end_line"` // first line after the edit
}

// shownFindings is the number of findings on a screen, beside one in full.
const shownFindings = 6

// Blocks returns a ranking of the findings and the first one in full, or one finding, or all of them.
func (a *Advice) Blocks() iter.Seq[Block] {
	var list []Block
	switch {
	case len(a.Findings) == 0:
		text := fmt.Sprintf("nothing found: %d %s examined, and no rule knows a cheaper way", a.Functions,
			map[bool]string{true: "hot function was", false: "hot functions were"}[a.Functions == 1])
		switch {
		case a.Small > 0:
			text = fmt.Sprintf("nothing found that would save %s or more; %d %s would save less", unit.Share(a.Least), a.Small, plural(a.Small, "finding"))
		case a.Most != nil:
			text = fmt.Sprintf("nothing found: no line of the module costs %s; the hottest one, line %d of %s, costs %s", unit.Share(a.Least), a.Most.Line, a.Most.Function, unit.Share(a.Most.Share))
		case a.Functions == 0:
			text = "nothing found: no function of the module has a cost in the profiles"
		}
		list = append(list, Title{text})
	case a.Show > 0 && a.Show <= len(a.Findings):
		list = append(list, a.Findings[a.Show-1].blocks(true, false)...)
	default:
		list = append(list, a.ranking())
		if a.Show < 0 {
			for i := range a.Findings {
				list = append(list, a.Findings[i].blocks(true, true)...)
			}
		} else {
			list = append(list, a.Findings[0].blocks(false, true)...)
			list = append(list, a.next())
		}
	}
	if a.Fleet != nil {
		list = append([]Block{Heading{[]Phrase{a.Fleet.heading()}}}, list...)
	}
	for _, n := range a.Notes {
		list = append(list, Note{Phrase{n}})
	}
	if more := len(a.Findings) - shownFindings; a.Show == 0 && more > 0 {
		list = append(list, Note{Phrase{fmt.Sprintf("the first %d of %d findings are listed; ", shownFindings, len(a.Findings)), hint.Option{Name: "all"}, " shows all"}})
	}
	if a.Show <= 0 && a.outOfOrder() {
		list = append(list, Note{Phrase{"findings are ranked by CPU time, and by a part of the memory and the waiting that they save; those without a patch count half, or a quarter if no cheaper way is known"}})
	}
	if a.Small > 0 && len(a.Findings) > 0 {
		list = append(list, Note{Phrase{fmt.Sprintf("%d %s would save less than %s and %s left out",
			a.Small, plural(a.Small, "finding"), unit.Share(a.Least), map[bool]string{true: "is", false: "are"}[a.Small == 1])}})
	}
	if n := len(a.Unsaid); n > 0 {
		const most = 3
		var lines []string
		for _, l := range a.Unsaid[:min(n, most)] {
			lines = append(lines, l.String())
		}
		if n > most {
			lines = append(lines, "…")
		}
		text := "1 line that makes much of all objects or bytes is left out: it takes little CPU time, and no rule knows a cheaper way: "
		if n > 1 {
			text = fmt.Sprintf("%d lines that make much of all objects or bytes are left out: they take little CPU time, and no rule knows a cheaper way: ", n)
		}
		list = append(list, Note{Phrase{text + strings.Join(lines, ", ") + "; a lower ", hint.Option{Name: "min"}, " shows more"}})
	}
	return blocks(list)
}

// ranking is a table with a row for each finding.
func (a *Advice) ranking() Table {
	t := Table{Columns: []Column{{Name: "#"}}}
	priced := a.Fleet != nil && a.Fleet.CoreHour.Value > 0
	if a.Fleet != nil {
		t.Columns = append(t.Columns, Column{Name: "cores"})
	}
	if priced {
		t.Columns = append(t.Columns, Column{Name: "a month"})
	}
	t.Columns = append(t.Columns, Column{Name: "saves at most", Wraps: true}, Column{Name: "where", Path: true}, Column{Name: "what"})
	for i := range a.Findings {
		f := &a.Findings[i]
		if a.Show == 0 && i == shownFindings {
			break
		}
		row := []any{f.Number}
		if a.Fleet != nil {
			row = append(row, unit.Cores(f.cores()))
		}
		if priced {
			month := ""
			if f.Month != nil {
				month = f.Month.String()
			}
			row = append(row, month)
		}
		t.Rows = append(t.Rows, append(row, f.saves(), f.Where.String(), f.Title))
	}
	return t
}

// outOfOrder reports whether a finding of the ranking saves more than the one above it of what the row above begins with.
func (a *Advice) outOfOrder() bool {
	shown := a.Findings
	if a.Show == 0 {
		shown = shown[:min(len(shown), shownFindings)]
	}
	for i := 1; i < len(shown); i++ {
		above, below := &shown[i-1], &shown[i]
		if a.Fleet != nil && below.cores() > above.cores() {
			return true
		}
		if a.Fleet == nil && len(above.Savings) > 0 && slices.ContainsFunc(below.Savings, func(s Saving) bool {
			return s.Metric == above.Savings[0].Metric && s.Share > above.Savings[0].Share
		}) {
			return true
		}
	}
	return false
}

// cores returns the number of cores that the finding costs in all processes.
func (f *Finding) cores() float64 {
	for _, s := range f.Savings {
		if s.Fleet != nil && s.Fleet.Unit == InCores {
			return s.Fleet.Value
		}
	}
	return 0
}

// Paid describes the cost in all processes in one line, or returns "".
func (f *Finding) Paid() string {
	var out []string
	for _, s := range f.Savings {
		if s.Fleet == nil {
			continue
		}
		text := s.Fleet.String()
		if s.Fleet.Unit != InCores {
			text += " " + s.Short
		} else if f.Month != nil {
			text += " (" + f.Month.String() + " a month)"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// saves describes the savings in one line.
func (f *Finding) saves() string {
	var out []string
	for _, s := range f.Savings {
		out = append(out, fmt.Sprintf("%s %s", unit.Share(s.Share), s.Short))
	}
	return strings.Join(out, ", ")
}

// shownPatch is the maximum number of lines of a patch below a ranking.
const shownPatch = 24

// blocks returns a finding: cause, reason, patch, and risk.
func (f *Finding) blocks(full, ranked bool) []Block {
	list := []Block{}
	title := fmt.Sprintf("%d. %s", f.Number, f.Title)
	about := Heading{} // not Facts, which leave little room for long texts
	add := func(name, text string) {
		if text != "" {
			about.Lines = append(about.Lines, Phrase{name + ": " + text})
		}
	}
	where := f.Where.String()
	if f.Where.Function != "" {
		where += " in " + f.Where.Function
	}
	if !full || ranked {
		list = append(list, Table{Title: title})
	} else {
		list = append(list, Title{title})
	}
	add("where", where)
	if full {
		add("line", strings.TrimSpace(f.Where.Text))
		for _, s := range f.Also {
			add("also", strings.TrimSpace(s.String()+"  "+strings.TrimSpace(s.Text)))
		}
	}
	add("saves", "at most "+f.saves())
	add("of all processes", f.Paid())
	add("cause", f.Claim)
	add("on the heap", f.Escape)
	add("advice", f.Advice)
	for _, c := range f.Ask {
		about.Lines = append(about.Lines, Phrase{"ask: ", c, " says ", c.Answer})
	}
	if len(f.Fixes) == 0 {
		about.Lines = append(about.Lines, Phrase{"no patch: ", f.Missing})
	}
	if len(f.Fixes) > 0 {
		add("patch", f.Fixes[0].describe())
	}
	add("risk", f.Risk)
	if full {
		about.Lines = append(about.Lines, Phrase{"proof: ", f.Proof})
	}
	list = append(list, about)
	for i, x := range f.Fixes {
		if i > 0 {
			if !full {
				break
			}
			list = append(list, Heading{[]Phrase{{"or: " + x.describe()}}})
		}
		patch := x.Patch
		if n := strings.Count(patch, "\n"); !full && n > shownPatch {
			lines := strings.SplitAfter(patch, "\n")
			patch = strings.Join(lines[:shownPatch], "") + fmt.Sprintf("… and %d lines more\n", n-shownPatch)
		}
		list = append(list, Plain{patch})
	}
	if full {
		var c Commands
		for _, e := range f.Evidence {
			c.Items = append(c.Items, e.Command())
		}
		if len(c.Items) > 0 {
			c.Title = "evidence"
			list = append(list, c)
		}
	}
	return list
}

func (x *Fix) describe() string {
	s := x.Title + " (" + string(x.Grade) + ")"
	if x.Risk != "" {
		s += ": " + x.Risk
	}
	return s
}

// next describes how to see the other findings.
func (a *Advice) next() Commands {
	advise := hint.Ask("advise", a.Refs...)
	if a.Source != "" {
		advise = advise.With("source", a.Source)
	}
	c := Commands{Title: "try next"}
	if len(a.Findings) > 1 {
		c.Items = append(c.Items, advise.With("finding", "2").For("the second, with its evidence"))
	}
	all := fmt.Sprintf("all %d, with evidence and patches", len(a.Findings))
	if len(a.Findings) == 1 {
		all = "the finding, with its evidence"
	}
	c.Items = append(c.Items, advise.With("all", "").For(all))
	if len(a.Findings[0].Evidence) > 0 {
		c.Items = append(c.Items, a.Findings[0].Evidence[0].Command())
	}
	return c
}
