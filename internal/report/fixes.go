package report

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/report/missing"
	"github.com/hone-perf/hone/internal/unit"
)

// Fixes is the outcome of trying patches of findings: which ones are proven and kept, and why others are not.
type Fixes struct {
	Refs  []string `json:"refs"`
	Flags []string `json:"flags,omitempty"` // flags of the command, except those about writing

	Arguments []string      `json:"arguments,omitempty"` // arguments of a server, after --
	Root      string        `json:"root"`                // folder that files are relative to
	Kept      []Fixed       `json:"kept"`                // proven patches, in the order in which they were applied
	Doubtful  []Fixed       `json:"doubtful,omitempty"`  // not written: nothing speaks against them, but their doubts keep them from being proven
	Refused   []Fixed       `json:"refused"`             // tried, but not proven
	Left      []Fixed       `json:"left,omitempty"`
	Whole     []CompareRow  `json:"whole,omitempty"`  // the original code against all kept patches
	Patch     string        `json:"patch,omitempty"`  // all kept patches as one
	Rounds    int           `json:"rounds"`           // number of profiling rounds
	Picked    int           `json:"picked,omitempty"` // the selected finding; 0 means all
	Dry       bool          `json:"dry_run,omitempty"`
	Branch    string        `json:"branch,omitempty"` // branch with a commit for each patch
	Ended     hint.Text     `json:"ended"`            // why it stopped
	Took      time.Duration `json:"took_nanos"`
	Notes     hint.Texts    `json:"notes,omitempty"`
}

// A Fixed is a finding and the outcome of its patch.
type Fixed struct {
	Number      int            `json:"number"` // number of the finding in its round
	Round       int            `json:"round"`
	Rule        string         `json:"rule"`
	Title       string         `json:"title"`
	Where       Spot           `json:"where"`            // in the user's file
	InFix       int            `json:"in_fix,omitempty"` // the kept patch, from 1, that made the line; the user's file has another one there
	Paid        string         `json:"paid,omitempty"`   // its cost in all processes, for profiles from a store
	Fix         string         `json:"fix,omitempty"`    // what the patch does
	Grade       Grade          `json:"grade,omitempty"`
	Patch       string         `json:"patch,omitempty"`
	Risk        string         `json:"risk,omitempty"`       // risk that hone could not check
	Missing     missing.Reason `json:"missing,omitzero"`     // why there is no patch
	Reason      string         `json:"reason,omitempty"`     // why it was not kept or not tried
	Unfinished  bool           `json:"unfinished,omitempty"` // time ran out while it was tried
	Remembered  string         `json:"remembered,omitempty"` // time of an earlier rejection, because of which it was not tried
	Checks      []Check        `json:"checks,omitempty"`
	Calls       int            `json:"calls,omitempty"`  // calls of both versions without a difference, or until the first one
	Doubts      []Doubt        `json:"doubts,omitempty"` // what the proof leaves open, and what got a little worse
	Differences []Difference   `json:"differences,omitempty"`
	Speed       []CompareRow   `json:"speed,omitempty"` // before and after
	Generated   bool           `json:"generated,omitempty"`
	Variants    []Variant      `json:"variants,omitempty"` // other patches for the same place
	Written     []string       `json:"written,omitempty"`  // changed files
	Commit      string         `json:"commit,omitempty"`
	Took        time.Duration  `json:"took_nanos,omitempty"`

	Try  hint.Text `json:"-"` // what could lead to a proof
	Safe bool      `json:"-"` // Risk says that there is no risk
}

// A Variant is another patch for the same place that was tried and not kept.
type Variant struct {
	Fix    string `json:"fix"`
	Reason string `json:"reason"`

	Try hint.Text `json:"-"` // what could lead to a proof
}

// Blocks shows the total gain, the kept patches, and the others.
func (f *Fixes) Blocks() iter.Seq[Block] {
	list := []Block{Title{f.headline()}, Heading{f.heading()}}
	if len(f.Whole) > 0 {
		list = append(list, speedTable("before and after", f.Whole))
	}
	for i := range f.Kept {
		list = append(list, f.Kept[i].blocks(f, i+1)...)
	}
	for i := range f.Doubtful {
		list = append(list, f.Doubtful[i].doubtfulBlocks()...)
	}
	if len(f.Refused) > 0 {
		t := Table{Title: "not kept", Columns: []Column{{Name: "where", Path: true}, {Name: "what"}, {Name: "why not"}}}
		for i := range f.Refused {
			x := &f.Refused[i]
			t.Rows = append(t.Rows, []any{x.Where.String(), x.Title + x.inFix() + ": " + x.Fix, x.why()})
		}
		list = append(list, t)
		for i := range f.Refused {
			list = append(list, f.Refused[i].details()...)
		}
	}
	if len(f.Left) > 0 {
		title := "not tried"
		if slices.ContainsFunc(f.Left, func(x Fixed) bool { return x.Unfinished }) {
			title = "not finished or not tried"
		}
		t := Table{Title: title, Columns: []Column{{Name: "#"}, {Name: "where", Path: true}, {Name: "what"}, {Name: "why not"}}}
		for i := range f.Left {
			x := &f.Left[i]
			t.Rows = append(t.Rows, []any{x.Number, x.Where.String(), x.Title + x.inFix(), x.why()})
		}
		list = append(list, t)
	}
	for _, n := range f.Notes {
		list = append(list, Note{Phrase{n}})
	}
	if len(f.Doubtful) > 0 {
		list = append(list, Note{Phrase{hint.Option{Name: "each"}, " gives more time for calls; ", hint.Option{Name: "doubts"}, " also writes patches that are not proven"}})
	}
	if len(f.Kept) > 0 {
		list = append(list, f.next())
		if f.Dry {
			list = append(list, Note{Phrase{"nothing was written, because of ", hint.Option{Name: "dry-run"}}})
		}
	}
	return blocks(list)
}

// inFix says that the line is not in the user's file, but in the code of a kept patch.
func (x *Fixed) inFix() string {
	if x.InFix == 0 {
		return ""
	}
	return fmt.Sprintf(", in the code of fix %d", x.InFix)
}

// why explains why a patch was not kept, and what could change that.
func (x *Fixed) why() Phrase {
	if x.Missing.Fact != "" {
		return Phrase{"no patch: ", x.Missing}
	}
	return Phrase{firstLine(x.Reason), trying(x.Try)}
}

// Worded returns f with sentences for missing facts.
func (f *Fixes) Worded(sentence func(missing.Reason) string) Report {
	worded := *f
	worded.Left = slices.Clone(f.Left)
	for i := range worded.Left {
		if x := &worded.Left[i]; x.Missing.Fact != "" {
			x.Reason = "no patch: " + sentence(x.Missing)
		}
	}
	return &worded
}

// trying is a next step at the end of a reason.
func trying(what hint.Text) Phrase {
	if what == nil {
		return nil
	}
	return Phrase{"; ", what}
}

func (f *Fixes) headline() string {
	kept := "no fix is proven"
	unproven := 0
	for i := range f.Kept {
		if f.Kept[i].Unproven() {
			unproven++
		}
	}
	if n := len(f.Kept); n > 0 {
		kept = unit.Counted(n, "fix")
		if n > 1 {
			kept = fmt.Sprintf("%d fixes", n)
		}
		proven := "proven"
		if unproven > 0 {
			proven = fmt.Sprintf("kept, %d of them not proven", unproven)
		}
		switch {
		case f.Dry:
			kept += " " + proven + "; nothing written"
		case f.Branch != "":
			kept += " " + proven + ", on branch " + f.Branch
		case unproven > 0:
			kept += " written, " + fmt.Sprintf("%d of them not proven", unproven)
		default:
			kept += " proven and written"
		}
	}
	if n := len(f.Doubtful); n > 0 {
		kept += fmt.Sprintf("; %d not proven and not written", n)
	}
	unfinished := 0
	for i := range f.Left {
		if f.Left[i].Unfinished {
			unfinished++
		}
	}
	refused := len(f.Refused)
	if refused > 0 {
		kept += fmt.Sprintf("; %d tried but not kept", refused)
	}
	if unfinished > 0 {
		kept += fmt.Sprintf("; %d tried but not finished", unfinished)
	}
	if refused+unfinished+len(f.Kept)+len(f.Doubtful) == 0 {
		kept += "; no patch was tried"
	}
	return kept
}

func (f *Fixes) heading() []Phrase {
	return []Phrase{
		{strings.Join(f.Refs, " "), Sep{}, f.looked(), Sep{}, "in ", f.Took},
		{"stopped: ", f.Ended},
	}
}

func (f *Fixes) looked() string {
	if f.Rounds == 1 {
		return "looked at once"
	}
	return fmt.Sprintf("looked at %d times", f.Rounds)
}

// blocks shows a kept patch.
func (x *Fixed) blocks(f *Fixes, n int) []Block {
	about := Heading{Lines: []Phrase{
		{"where: " + x.Where.String() + " in " + x.Where.Function + x.inFix()},
		{fmt.Sprintf("fix: %s (%s)", x.Fix, x.Grade)},
		{"proof: " + x.Proof()},
	}}
	if x.Paid != "" {
		about.Lines = append(about.Lines, Phrase{"of all processes: at most " + x.Paid})
	}
	if x.Risk != "" && !x.Safe {
		about.Lines = append(about.Lines, Phrase{"risk: " + x.Risk})
	}
	for _, d := range x.Doubts {
		about.Lines = append(about.Lines, Phrase{"doubt: " + d.Text})
	}
	for _, v := range x.Variants {
		about.Lines = append(about.Lines, Phrase{"or: " + v.Fix + ": " + v.Reason, trying(v.Try)})
	}
	if x.Commit != "" {
		about.Lines = append(about.Lines, Phrase{"commit: ", ID(x.Commit)})
	}
	list := []Block{Table{Title: fmt.Sprintf("%d. %s", n, x.Title)}, about}
	if len(x.Speed) > 0 && (len(f.Kept) > 1 || len(f.Whole) == 0) { // the only one's are in the first table
		list = append(list, speedTable("", x.Speed))
	}
	if f.Dry {
		return append(list, Plain{x.Patch})
	}
	return append(list, Details{"the patch of " + x.Where.String(), []Block{Plain{x.Patch}}})
}

// Unproven reports whether hone prove would call a patch not proven for its own sake: something was not tried, or not often enough.
func (x *Fixed) Unproven() bool {
	return slices.ContainsFunc(x.Doubts, func(d Doubt) bool { return d.Fact != DoubtCosts && !d.OfBefore() })
}

// doubtfulBlocks shows a patch that is not proven, and was not written.
func (x *Fixed) doubtfulBlocks() []Block {
	about := Heading{Lines: []Phrase{
		{"where: " + x.Where.String() + " in " + x.Where.Function + x.inFix()},
		{fmt.Sprintf("fix: %s (%s)", x.Fix, x.Grade)},
		{"passed: " + x.Proof()},
	}}
	if x.Risk != "" && !x.Safe {
		about.Lines = append(about.Lines, Phrase{"risk: " + x.Risk})
	}
	for _, d := range x.Doubts {
		about.Lines = append(about.Lines, Phrase{"doubt: " + d.Text})
	}
	list := []Block{Table{Title: "not proven: " + x.Title}, about}
	if len(x.Speed) > 0 {
		list = append(list, speedTable("", x.Speed))
	}
	return append(list, Details{"the patch of " + x.Where.String() + ", which was not written", []Block{Plain{x.Patch}}})
}

// Proof describes in one line the checks that a patch passed.
func (x *Fixed) Proof() string {
	var parts []string
	for _, c := range x.Checks {
		if c.Outcome != Passed {
			if c.Outcome == Skipped {
				parts = append(parts, fmt.Sprintf("%s not done: %s", c.Name, firstLine(c.Detail)))
			}
			continue
		}
		text := c.Name
		if d := firstLine(c.Detail); d != "" {
			text += " (" + d + ")"
		}
		parts = append(parts, text)
	}
	if x.Calls > 0 {
		parts = append(parts, fmt.Sprintf("no difference in %d calls of both versions", x.Calls))
	}
	return strings.Join(parts, "; ")
}

// details shows the evidence against a patch.
func (x *Fixed) details() []Block {
	var list []Block
	for i := range x.Differences {
		if x.Differences[i].Grave {
			list = append(list, Plain{x.Differences[i].text()})
		}
	}
	for _, c := range x.Checks {
		if c.Outcome == Failed && strings.Contains(strings.TrimSpace(c.Detail), "\n") {
			list = append(list, Plain{c.Name + ":\n" + indented(c.Detail)})
		}
	}
	return list
}

// mostUnchanged is how many benchmarks in which nothing changed are shown beside others.
const mostUnchanged = 3

// speedTable shows how fast both versions are. Where there are many benchmarks, those are left out in which nothing changed for sure.
func speedTable(title string, rows []CompareRow) Table {
	all := make(map[string]bool) // by benchmark, whether something changed
	for i := range rows {
		r := &rows[i]
		name := r.Pkg + " " + r.Name
		all[name] = all[name] || r.Verdict != Same && r.Verdict != Undecided
	}
	changed := 0
	for _, is := range all {
		if is {
			changed++
		}
	}
	var left Phrase
	if rest := len(all) - changed; changed > 0 && rest > mostUnchanged {
		rows = slices.DeleteFunc(slices.Clone(rows), func(r CompareRow) bool { return !all[r.Pkg+" "+r.Name] })
		title = cmp.Or(title, "benchmarks") // which the summary stands beside
		left = Phrase{fmt.Sprintf("without %d benchmarks in which nothing changed for sure; ", rest), hint.Option{Name: "json"}, " has them"}
	}
	t := Table{Title: title, Summary: left, Columns: []Column{{Name: "benchmark"}, {Name: "what"}, {Name: "before"}, {Name: "after"}, {Name: "change"}, {Name: "interval", Ends: true}, {Name: "verdict"}}}
	several := slices.ContainsFunc(rows, func(r CompareRow) bool { return r.Pkg != rows[0].Pkg })
	for i := range rows {
		r := &rows[i]
		name := r.Name
		if several {
			name = r.Pkg + "." + name
		}
		t.Rows = append(t.Rows, []any{name, r.What, Measured{r.Old, r.Unit}, Measured{r.New, r.Unit}, Relative(r.Ratio), r.interval(), r.judgment()})
	}
	return t
}

func (f *Fixes) next() Commands {
	c := Commands{Title: "try next"}
	switch {
	case f.Dry:
		again := hint.Ask("fix", slices.Concat(f.Flags, f.Refs)...).For("writes them")
		if f.Picked > 0 {
			again.Args = append(again.Args, fmt.Sprint(f.Picked))
		}
		again.Behind = f.Arguments
		c.Items = append(c.Items, again)
	case f.Branch != "":
		c.Items = append(c.Items, git("log", "-p", f.Branch).For("the commits"), git("merge", f.Branch).For("merges them"))
	default:
		c.Items = append(c.Items, git("diff").For("what was written"), hint.Ask("prove").For("all of it again, with more time"))
	}
	return c
}

// git is a git command.
func git(verb string, args ...string) hint.Command {
	return hint.Command{Program: "git", Verb: verb, Args: args}
}
