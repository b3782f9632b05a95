package report

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/unit"
)

// A Compare is the changes between two versions, by benchmark. Values are in base units, such as seconds and bytes.
type Compare struct {
	Old        CompareSide     `json:"old"`
	New        CompareSide     `json:"new"`
	Paired     bool            `json:"paired"`                // old and new ran side by side
	Alpha      float64         `json:"alpha"`                 // chance of a false verdict in a row
	Within     float64         `json:"within"`                // changes below this share count as none
	Surely     bool            `json:"surely,omitempty"`      // the user set Within: changes that are not surely larger do not count
	BuiltOnce  bool            `json:"built_once,omitempty"`  // both sides are one program, run with different settings
	Noise      float64         `json:"noise,omitempty"`       // difference between runs of the same program, as a share
	NoisePairs int             `json:"noise_pairs,omitempty"` // number of pairs behind Noise
	Rows       []CompareRow    `json:"rows"`
	Means      []CompareMean   `json:"geometric_means,omitempty"`
	Why        []CompareWhy    `json:"why,omitempty"`
	Identical  []string        `json:"identical,omitempty"` // packages whose programs are byte for byte the same on both sides
	Missing    []CompareAbsent `json:"missing,omitempty"`
	Failed     []CompareAbsent `json:"failed,omitempty"`
	Notes      hint.Texts      `json:"notes,omitempty"`

	Next []hint.Command `json:"-"` // what to try next, in a first look
}

// A CompareSide is a version.
type CompareSide struct {
	Name  string   `json:"name"`
	Rev   string   `json:"rev,omitempty"`
	Dirty bool     `json:"dirty,omitempty"`
	Go    string   `json:"go,omitempty"`    // Go version of the build
	Env   []string `json:"env,omitempty"`   // environment variables of the comparison, NAME=value
	Flags []string `json:"flags,omitempty"` // build flags of the comparison
}

// Verdicts of a CompareRow. Better and Worse need a unit for which hone knows whether more is better.
const (
	Better    = "better"
	Worse     = "worse"
	Higher    = "higher" // for units that may be better or worse
	Lower     = "lower"
	Same      = "same"
	Undecided = "undecided"
)

// A CompareRow is one benchmark in one unit.
type CompareRow struct {
	Pkg      string    `json:"pkg,omitempty"`
	Name     string    `json:"name"`
	What     Dimension `json:"what"`
	Unit     string    `json:"unit"`
	Old      float64   `json:"old"`
	New      float64   `json:"new"`
	Change   *float64  `json:"change"` // as a share of the old value; null if that is zero
	Low      *float64  `json:"low"`    // lower limit of Change
	High     *float64  `json:"high"`   // upper limit of Change; null with too few values
	P        *float64  `json:"p,omitempty"`
	N        int       `json:"n"`
	Exact    bool      `json:"exact,omitempty"` // all runs gave the same value
	How      string    `json:"how,omitempty"`
	Verdict  string    `json:"verdict"`
	Words    string    `json:"words"`               // Verdict in words
	SameCode bool      `json:"same_code,omitempty"` // the machine code is the same, so the measured change in time is one of its place in memory
	Warnings []string  `json:"warnings,omitempty"`

	Ratio, Lo, Hi float64 `json:"-"`
}

// A CompareMean is the geometric mean of the changes of rows in one unit.
type CompareMean struct {
	What   Dimension `json:"what"`
	Change float64   `json:"change"`
	Of     int       `json:"of"`
}

// A CompareAbsent is a benchmark without a row.
type CompareAbsent struct {
	Pkg   string `json:"pkg,omitempty"`
	Name  string `json:"name"`
	Side  string `json:"side,omitempty"`  // the side that fails, or the only side with the benchmark: old or new
	Cause string `json:"cause,omitempty"` // cause of a failure
	Why   string `json:"why"`             // the reason as a sentence
}

// Fails says that a benchmark fails on one of the sides.
func Fails(pkg, name, side, cause string) CompareAbsent {
	return CompareAbsent{pkg, name, side, cause, "fails on the " + side + " side: " + cause}
}

// OnlyOn says that only one side has a benchmark, or has benchmarks at all.
func OnlyOn(pkg, name, side string) CompareAbsent {
	what := "is"
	if name == "*" {
		what = "has benchmarks"
	}
	return CompareAbsent{Pkg: pkg, Name: name, Side: side, Why: what + " on the " + side + " side only"}
}

// FailedByChange returns the benchmarks that fail now but did not fail before.
func (c *Compare) FailedByChange() []CompareAbsent {
	return slices.DeleteFunc(slices.Clone(c.Failed), func(a CompareAbsent) bool { return a.Side == OldSide })
}

// Sides of a comparison.
const (
	OldSide = "old"
	NewSide = "new"
)

// A CompareWhy lists the functions that cause a difference. Values are per operation.
type CompareWhy struct {
	Pkg  string          `json:"pkg,omitempty"`
	Name string          `json:"name"`
	What Dimension       `json:"what"`
	Unit string          `json:"unit"`
	Rows []CompareWhyRow `json:"rows"`                  // none if only the code shows why
	Code []CompareCode   `json:"code,omitempty"`        // code changes of the functions with the highest cost
	Old  string          `json:"old_profile,omitempty"` // names of the profiles for other commands
	New  string          `json:"new_profile,omitempty"`
}

// A CompareWhyRow is a function whose cost changed more than by chance.
type CompareWhyRow struct {
	Function string  `json:"function"`
	Flat     float64 `json:"flat"`
	Before   float64 `json:"flat_before"`
	Cum      float64 `json:"cum"`
	CumWas   float64 `json:"cum_before"`
}

// A CompareCode is how the code of a function differs.
type CompareCode struct {
	Function string   `json:"function"`
	Diff     string   `json:"diff,omitempty"`
	Gained   []string `json:"gained,omitempty"` // new compiler remarks about inlining and escapes
	Lost     []string `json:"lost,omitempty"`
}

// Changed reports whether the row shows a change.
func (r *CompareRow) Changed() bool { return r.Verdict != Same && r.Verdict != Undecided }

// Worst returns the number of rows that are worse, and of undecided rows, for gates.
func (c *Compare) Worst() (worse, undecided int) {
	for _, r := range c.Rows {
		switch r.Verdict {
		case Worse:
			worse++
		case Undecided:
			undecided++
		}
	}
	return worse, undecided
}

// Unclear returns the number of rows that changed in units for which it is unknown whether more is better.
func (c *Compare) Unclear() int {
	n := 0
	for _, r := range c.Rows {
		if r.Verdict == Higher || r.Verdict == Lower {
			n++
		}
	}
	return n
}

// TimeDecided reports whether the change of some time is known, or there were only exact values.
func (c *Compare) TimeDecided() bool {
	timed := false
	for _, r := range c.Rows {
		if r.What.IsTime() {
			timed = true
			if r.Verdict != Undecided {
				return true
			}
		}
	}
	return !timed && len(c.Rows) > 0
}

// Blocks shows a table for each unit, and the benchmarks without results.
func (c *Compare) Blocks() iter.Seq[Block] {
	list := []Block{Heading{c.heading()}}
	several := c.several()
	var whats []Dimension
	for _, r := range c.Rows {
		if !slices.Contains(whats, r.What) {
			whats = append(whats, r.What)
		}
	}
	for _, what := range whats {
		list = append(list, c.table(what, several))
	}
	shown := make(map[string]bool)
	for _, w := range c.Why {
		if len(w.Rows) > 0 {
			list = append(list, w.table())
		} else {
			list = append(list, Note{w.onlyCode()})
		}
		list = append(list, w.code(shown)...)
	}
	for _, s := range c.Identical {
		list = append(list, Note{Phrase{s, ": the same program on both sides, byte for byte; there is nothing to measure"}})
	}
	for _, a := range c.Failed {
		list = append(list, Note{Phrase{a.full(), " ", a.Why}})
	}
	for _, a := range c.Missing {
		list = append(list, Note{Phrase{a.full(), " ", a.Why}})
	}
	warned := map[string]bool{}
	for _, r := range c.Rows {
		for _, w := range r.Warnings {
			if text := r.Name + ": " + w; !warned[text] {
				warned[text] = true
				list = append(list, Note{Phrase{text}})
			}
		}
	}
	for _, n := range c.Notes {
		list = append(list, Note{Phrase{n}})
	}
	if len(c.Next) > 0 {
		list = append(list, Commands{Title: "try next", Items: c.Next})
	}
	return slices.Values(list)
}

// several reports whether the benchmarks are in several packages.
func (c *Compare) several() bool {
	return slices.ContainsFunc(c.Rows, func(r CompareRow) bool { return r.Pkg != c.Rows[0].Pkg })
}

func (a CompareAbsent) full() string {
	if a.Name == "*" {
		return "package " + a.Pkg
	}
	return a.Name
}

func (c *Compare) heading() []Phrase {
	first := Phrase{"new: "}
	first = append(first, c.New.phrase()...)
	first = append(first, Sep{}, "old: ")
	first = append(first, c.Old.phrase()...)
	lines := []Phrase{first}
	if len(c.Rows) > 0 && !c.several() && c.Rows[0].Pkg != "" {
		lines = append(lines, Phrase{"package " + c.Rows[0].Pkg})
	}
	if c.BuiltOnce {
		line := Phrase{"both sides are one program"}
		if c.New.Go != "" {
			line = append(line, ", built once with ", c.New.Go)
		}
		lines = append(lines, line)
	}
	if !c.Paired && slices.ContainsFunc(c.Rows, func(r CompareRow) bool { return !r.Exact }) {
		lines = append(lines, Phrase{fmt.Sprintf("old and new are medians, and change is the middle of the ratios of each new value to each old one; changes below %s count as none", unit.Share(c.Within))})
	}
	counts := fmt.Sprintf("many pairs together show changes down to %s, and smaller ones count as none", unit.Share(c.Within))
	if c.Surely {
		counts = fmt.Sprintf("only changes that are surely larger than %s count", unit.Share(c.Within))
	}
	if c.Paired && c.NoisePairs > 0 {
		lines = append(lines, Phrase{fmt.Sprintf("single runs of the same program differ by %s here (%d pairs); %s; at most %s of verdicts are false",
			unit.Share(c.Noise), c.NoisePairs, counts, unit.Share(c.Alpha))})
	}
	return lines
}

func (s CompareSide) phrase() Phrase {
	p := Phrase{s.Name}
	switch {
	case s.Rev == "" || strings.HasPrefix(s.Rev, s.Name):
	case s.Dirty:
		p = append(p, " (", ID(s.Rev), " and changes)")
	default:
		p = append(p, " (", ID(s.Rev), ")")
	}
	return p
}

// leastP is the smallest p-value to print; smaller ones are "<".
const leastP = 0.001

// table shows all rows of a dimension, or one line if nothing changed.
func (c *Compare) table(what Dimension, several bool) Block {
	t := Table{Group: "what", Title: string(what)}
	if several {
		t.Columns = append(t.Columns, Column{Name: "package", Path: true})
	}
	for _, name := range []string{"benchmark", "old", "new", "change", "interval", "p", "n", "verdict"} {
		t.Columns = append(t.Columns, Column{Name: name, Ends: name == "interval"})
	}
	add := func(pkg, name any, rest ...any) {
		var row []any
		if several {
			row = append(row, pkg)
		}
		t.Rows = append(t.Rows, append(append(row, name), rest...))
	}
	for _, r := range c.Rows {
		if r.What != what {
			continue
		}
		add(r.Pkg, r.Name, Measured{r.Old, r.Unit}, Measured{r.New, r.Unit}, Relative(r.Ratio), r.interval(), r.p(), r.N, r.judgment())
	}
	for _, m := range c.Means {
		if m.What == what && m.Of > 1 {
			add(nil, fmt.Sprintf("geometric mean of %d", m.Of), nil, nil, Relative(1+m.Change), nil, nil, nil, nil)
		}
	}
	return t
}

func (w *CompareWhy) table() Block {
	t := Table{Group: "why", Title: "why " + w.Name + ": " + string(w.What) + " of functions, per operation", Columns: []Column{
		{Name: "old cum"}, {Name: "new cum"}, {Name: "cum delta"}, {Name: "flat delta"}, {Name: "function", Path: true},
	}}
	for _, r := range w.Rows {
		t.Rows = append(t.Rows, []any{Measured{r.CumWas, w.Unit}, Measured{r.Cum, w.Unit}, Delta{r.Cum - r.CumWas, w.Unit},
			Delta{r.Flat - r.Before, w.Unit}, Name{Text: r.Function}})
	}
	return t
}

// How much code to show: the first functions, and the first lines of each.
const (
	codeShown = 2
	codeLines = 30
)

// onlyCode names functions whose code changed, where profiles show no other reason.
func (w *CompareWhy) onlyCode() Phrase {
	const most = 3
	var names []string
	for _, c := range w.Code[:min(len(w.Code), most)] {
		names = append(names, c.Function)
	}
	text := strings.Join(names, ", ")
	if n := len(w.Code) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return Phrase{fmt.Sprintf("%s: in the profiles, no function's %s changed by more than chance; the code of functions that ran changed: %s", w.Name, w.What, text)}
}

// code shows the first changes of the code, as far as no other benchmark has shown them.
func (w *CompareWhy) code(shown map[string]bool) (list []Block) {
	for _, c := range w.Code[:min(len(w.Code), codeShown)] {
		id := fmt.Sprint(c)
		if shown[id] {
			continue
		}
		shown[id] = true
		var b strings.Builder
		title := "the code of " + c.Function
		b.WriteString("\n" + title + "\n")
		for i, line := range slices.Collect(strings.Lines(c.Diff)) {
			if i == codeLines {
				b.WriteString("…\n")
				break
			}
			b.WriteString(line)
		}
		for _, m := range c.Lost {
			b.WriteString("no longer: " + m + "\n")
		}
		for _, m := range c.Gained {
			b.WriteString("now: " + m + "\n")
		}
		list = append(list, Details{Title: title, Blocks: []Block{Plain{b.String()}}})
	}
	if n := len(w.Code) - codeShown; n > 0 {
		list = append(list, Note{Phrase{unit.Counted(n, "function"), " more changed in the code; ", hint.Option{Name: "json"}, " has all"}})
	}
	return list
}

// interval returns the limits of the change, unless it is exact.
func (r *CompareRow) interval() any {
	if r.Exact {
		return nil
	}
	return Interval{r.Lo, r.Hi}
}

func (r *CompareRow) p() any {
	switch {
	case r.P == nil:
		return nil
	case *r.P < leastP:
		return Phrase{"<", Measured{leastP, ""}}
	}
	return Measured{*r.P, ""}
}

func (r *CompareRow) judgment() Judgment {
	j := Judgment{Text: r.Words}
	switch r.Verdict {
	case Better:
		j.Good = 1
	case Worse:
		j.Good = -1
	}
	return j
}

// Finite returns x, or nil for infinities and NaN, which JSON does not support.
func Finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
