package report

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/unit"
)

// A Verdict is what was found out about a change.
type Verdict string

// The verdicts.
const (
	Proven    Verdict = "proven"          // nothing was found against it, and all of it was tried
	Unchanged Verdict = "nothing changed" // that is built
	NotProven Verdict = "not proven"      // nothing was found against it, but not all of it could be tried
	Different Verdict = "different"       // it does something else than before
	Slower    Verdict = "slower"          // nothing was found against what it does, but it takes longer
	Heavier   Verdict = "heavier"         // nothing was found against what it does, but it needs more memory, and is not faster for it
)

// A Pace is how fast the new version is, against the old one.
type Pace string

// The paces.
const (
	PaceFaster  Pace = "faster"  // in some benchmark, and slower in none
	PaceSame    Pace = "as fast" // in all that are decided
	PaceSlower  Pace = "slower"  // in some benchmark
	PaceHeavier Pace = "heavier" // it needs more memory in some benchmark, and is not faster there
	PaceUnknown Pace = "unknown" // there was nothing to run, or it did not show in the time there was
)

// A Proof is the verdict on a change, and what it rests on.
type Proof struct {
	Verdict     Verdict       `json:"verdict"`
	Reasons     []string      `json:"reasons,omitempty"` // for a verdict other than proven
	Old         string        `json:"old"`
	New         string        `json:"new"`
	Checks      []Check       `json:"checks"`
	Differences []Difference  `json:"differences"`
	Functions   []Tried       `json:"functions"`
	Executions  int           `json:"executions"`                // calls of both versions that were compared in full
	Partly      int           `json:"partly_compared,omitempty"` // others, of which results vary, and only the rest was compared
	Took        time.Duration `json:"took_nanos"`
	Calling     time.Duration `json:"calling_nanos,omitempty"` // of that, for making the calls
	Racing      time.Duration `json:"racing_nanos,omitempty"`  // and for the benchmarks
	Seed        uint64        `json:"seed"`
	Regression  *Regression   `json:"regression,omitempty"` // tests of the differences, when they were asked for
	Masked      []string      `json:"masked,omitempty"`     // what the old version does not say the same each time
	Notes       hint.Texts    `json:"notes,omitempty"`

	Doubts  []Doubt `json:"doubts,omitempty"` // what keeps it from being proven; their texts are among the Reasons
	Untried bool    `json:"-"`                // the tests of what changed take longer than they may
	Unpaced error   `json:"-"`                // why it was not found out how fast both are, though that was asked for

	// When it was asked how fast both are:
	Pace      Pace            `json:"pace,omitempty"`
	Speed     *Compare        `json:"speed,omitempty"`     // nil when there was nothing to run
	Generated []GeneratedCode `json:"generated,omitempty"` // the benchmarks in Speed, when no benchmark there is reaches what changed
}

// A Regression is a file with tests that pass in the old version and fail in the new one.
type Regression struct {
	Package string `json:"package"` // they belong to
	Folder  string `json:"folder"`  // of it, in both versions
	Tests   int    `json:"tests"`
	Source  string `json:"source"`
}

// A GeneratedCode is a benchmark that was made of calls which both versions answer alike.
type GeneratedCode struct {
	Function string `json:"function"`
	Name     string `json:"name"`
	Calls    int    `json:"calls"` // of the function, in an operation
	Source   string `json:"source"`
}

// A Check is something that a change has to pass: building, vet, tests.
type Check struct {
	Kind    CheckKind     `json:"-"` // code decides by it
	Name    string        `json:"name"`
	Outcome Outcome       `json:"outcome"`
	Detail  string        `json:"detail,omitempty"`
	Took    time.Duration `json:"took_nanos,omitempty"` // since the check before it
}

// A CheckKind tells checks apart that code treats in its own way. People read the name of a check.
type CheckKind int

// The kinds of checks.
const (
	OtherCheck  CheckKind = iota
	BuildsCheck           // the new version compiles
)

// BuildCheck returns the check that the new version compiles.
func BuildCheck(o Outcome, detail string) Check {
	return Check{Kind: BuildsCheck, Name: "builds", Outcome: o, Detail: detail}
}

// An Outcome is how a check ended.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Skipped Outcome = "not done"
)

// A Difference is a call that the two versions do not answer alike.
type Difference struct {
	Layer    string   `json:"layer"` // A to F, the gravest first
	Kind     string   `json:"kind"`  // what the layer is called
	Grave    bool     `json:"grave"` // it makes the change a different one
	Function string   `json:"function"`
	File     string   `json:"file,omitempty"`
	Line     int      `json:"line,omitempty"`
	Call     string   `json:"call"` // statements that compile in a test of the package, with Imports
	Imports  []string `json:"imports,omitempty"`
	What     string   `json:"what"` // result, status, body…
	Old      string   `json:"old"`
	New      string   `json:"new"`
	Shared   bool     `json:"shared,omitempty"` // What says that values share memory; Old and New say whether they do
	Note     string   `json:"note,omitempty"`
	Cause    string   `json:"cause,omitempty"`   // what changed, that the function uses, and that the difference is most likely due to
	Unclear  []string `json:"unclear,omitempty"` // functions that Cause uses, which changed as well, and cannot be compared by themselves
	Also     []string `json:"also,omitempty"`    // other functions that differ for the same cause, without Cause
	Calls    int      `json:"calls"`             // it took, about the function
}

// A Tried is a function that the change touches, and how far it was tried.
type Tried struct {
	Name       string `json:"name"`
	File       string `json:"file"`
	Line       int    `json:"line"`
	Changed    bool   `json:"changed"`                   // itself, not only what it uses
	Executions int    `json:"executions"`                // calls that were compared in full
	Partly     int    `json:"partly_compared,omitempty"` // others, of which results vary, and only the rest was compared
	Blocks     int    `json:"blocks"`                    // of code in the new version
	Reached    int    `json:"reached"`
	Tested     int    `json:"tested,omitempty"` // blocks that the tests of its package reach, where nothing else does
	Why        string `json:"why,omitempty"`    // it was not called
}

// Blocks says the verdict first, then what speaks against the change, then what was tried.
func (p *Proof) Blocks() iter.Seq[Block] {
	h := Heading{Lines: []Phrase{{p.Old + " against " + p.New}}}
	for _, r := range p.Reasons {
		h.Lines = append(h.Lines, Phrase{r})
	}
	list := []Block{Title{"verdict: " + p.headline()}, h}
	for _, d := range p.Differences {
		list = append(list, Plain{d.text()})
	}
	if len(p.Checks) > 0 {
		t := Table{Title: "checks", Columns: []Column{{Name: "outcome"}, {Name: "check"}, {Name: ""}}}
		for _, c := range p.Checks {
			t.Rows = append(t.Rows, []any{string(c.Outcome), c.Name, firstLine(c.Detail)})
		}
		list = append(list, t)
		for _, c := range p.Checks {
			if c.Outcome == Failed && strings.Contains(strings.TrimSpace(c.Detail), "\n") {
				list = append(list, Plain{c.Name + ":\n" + indented(c.Detail)})
			}
		}
	}
	if len(p.Functions) > 0 {
		t := Table{Title: "functions", Columns: []Column{{Name: "calls"}, {Name: "blocks reached"}, {Name: "function", Path: true}, {Name: ""}}}
		for _, f := range p.Functions {
			why := f.Why
			if why == "" && !f.Changed {
				why = "uses what changed"
			}
			reached := any(nil)
			if f.Blocks > 0 {
				reached = fmt.Sprintf("%d of %d", f.Reached, f.Blocks)
			}
			if f.Tested > 0 {
				reached = fmt.Sprintf("%d of %d; %d by tests", f.Reached, f.Blocks, f.Tested)
			}
			if f.Partly > 0 {
				why = strings.TrimPrefix(why+"; "+unit.Counted(f.Partly, "more call")+" compared in part: results vary", "; ")
			}
			t.Rows = append(t.Rows, []any{f.Executions, reached, f.Name, why})
		}
		list = append(list, Details{fmt.Sprintf("what was tried: %d calls of both versions", p.Executions+p.Partly), []Block{t}})
	}
	if p.Speed != nil {
		list = append(list, p.speed()...)
	}
	for _, n := range p.Notes {
		list = append(list, Note{Phrase{n}})
	}
	return blocks(list)
}

// headline is the verdict on what it does, and on how fast it is: neither hides the other.
func (p *Proof) headline() string {
	v := string(p.Verdict)
	switch {
	case p.Pace == "", v == string(p.Pace), p.Verdict == Unchanged:
		return v
	case p.Pace == PaceUnknown:
		return v + "; speed unknown"
	case p.Verdict == NotProven && p.Pace == PaceFaster:
		return v + ", but faster"
	}
	return v + ", and " + string(p.Pace)
}

// speed cuts the comparison down: whose versions these are was said, and why it changed is for those who ask.
func (p *Proof) speed() []Block {
	var list, why []Block
	for b := range p.Speed.Blocks() {
		switch b := b.(type) {
		case Heading:
			if len(b.Lines) > 1 {
				list = append(list, Heading{Lines: b.Lines[1:]})
			}
		case Table:
			if b.Group == "why" {
				why = append(why, b)
				continue
			}
			list = append(list, b)
		case Details: // the code of what made the difference
			why = append(why, b)
		default:
			list = append(list, b)
		}
	}
	if len(why) == 0 {
		return list
	}
	at := slices.IndexFunc(list, func(b Block) bool { _, ok := b.(Note); return ok })
	if at < 0 {
		at = len(list)
	}
	return slices.Insert(list, at, Block(Details{"why it changed", why}))
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

func indented(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ") + "\n"
}

// text writes a difference as people compare: the call, and what it gave before and gives now.
func (d *Difference) text() string {
	var b strings.Builder
	head := "different"
	if !d.Grave {
		head = "to note"
	}
	fmt.Fprintf(&b, "%s: %s", head, d.Kind)
	if d.File != "" {
		fmt.Fprintf(&b, ", %s:%d", d.File, d.Line)
	}
	b.WriteByte('\n')
	if len(d.Imports) > 0 {
		fmt.Fprintf(&b, "  // imports %s\n", strings.Join(d.Imports, ", "))
	}
	fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(d.Call, "\n", "\n  "))
	fmt.Fprintf(&b, "    %s\n", d.Change())
	if d.Note != "" {
		fmt.Fprintf(&b, "    %s\n", d.Note)
	}
	b.WriteString(d.others())
	return b.String()
}

// others names what differs for the same cause.
func (d *Difference) others() string {
	const most = 12
	names := d.Also
	if len(names) > most {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("… (the JSON names all %d)", len(d.Also)))
	}
	list := strings.Join(names, ", ")
	functions := "1 other function that uses"
	if len(d.Also) > 1 {
		functions = fmt.Sprintf("%d other functions that use", len(d.Also))
	}
	cause, also := "", ""
	switch {
	case d.Cause != "" && len(d.Unclear) > 0:
		cause = fmt.Sprintf("    most likely caused by the change to %s, or to a function it uses that cannot be compared by itself: %s\n", d.Cause, strings.Join(d.Unclear, ", "))
	case d.Cause != "" && len(d.Also) > 0:
		return fmt.Sprintf("    most likely caused by the change to %s, which also shows in %s it: %s\n", d.Cause, functions, list)
	case d.Cause != "":
		cause = fmt.Sprintf("    most likely caused by the change to %s\n", d.Cause)
	}
	if len(d.Also) > 0 {
		also = fmt.Sprintf("    also in %s %s: %s\n", functions, cmp.Or(d.Cause, "it"), list)
	}
	return cause + also
}

// Change is what differs: what the call gave before, and what it gives now.
func (d *Difference) Change() string {
	switch {
	case d.Shared && d.New == "true":
		return "only in the new version: " + d.What
	case d.Shared && d.Old == "true":
		return "only in the old version: " + d.What
	}
	return fmt.Sprintf("%s: %s → %s", d.What, shortened(d.Old), shortened(d.New))
}

// OneLine is the call within a sentence.
func (d *Difference) OneLine() string { return strings.ReplaceAll(d.Call, "\n", "; ") }

// shortened cuts the middle out of long results.
func shortened(s string) string {
	const most = 300
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most/2], "") + " … " + strings.ToValidUTF8(s[len(s)-most/2:], "")
}
