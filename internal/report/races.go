package report

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/unit"
)

// Races is what was found when programs ran with the race detector. It is the answer of race.
type Races struct {
	Packages []string   `json:"packages"`
	Races    []DataRace `json:"races"`
	Hangs    []Hang     `json:"hangs,omitempty"`
	Failing  []string   `json:"failing,omitempty"` // tests that fail without a race
	Tried    RaceSearch `json:"tried"`
	Fixed    []RaceFix  `json:"fixed,omitempty"` // when patches were to be proven
	Notes    hint.Texts `json:"notes,omitempty"`
}

// A RaceSearch is how much was run.
type RaceSearch struct {
	Runs     int           `json:"runs"`
	CPUs     []int         `json:"cpus"`
	Seed     uint64        `json:"seed"`
	Tests    int           `json:"tests"` // runs of tests
	Requests int           `json:"requests"`
	Calls    int           `json:"calls,omitempty"`    // made up, that several goroutines made
	Programs int           `json:"programs,omitempty"` // runs of a program
	Failed   int           `json:"failed,omitempty"`   // runs of a program that ended with an exit code of its own, and no race
	Handlers []string      `json:"handlers,omitempty"` // that were asked
	Stopped  bool          `json:"stopped,omitempty"`  // the program was ended: it would have gone on
	Took     time.Duration `json:"took_nanos"`
}

// AllFailed reports whether a program was run and ended with an exit code of its own each time, most likely before it did much.
func (r *RaceSearch) AllFailed() bool { return r.Failed > 0 && r.Failed == r.Runs }

// A DataRace is two accesses to the same memory, of which one is a write, without an order between them.
type DataRace struct {
	Variable string       `json:"variable,omitempty"`
	Kind     string       `json:"kind"` // counter, map, slice, or variable
	Memory   string       `json:"memory,omitempty"`
	Accesses []RaceAccess `json:"accesses"`
	Count    int          `json:"count"`           // of reports
	Runs     int          `json:"runs"`            // that had one
	More     int          `json:"more,omitempty"`  // pairs of accesses behind the same calls, which are no races of their own
	By       string       `json:"by"`              // what showed it
	Calls    string       `json:"calls,omitempty"` // statements that make the calls which showed it, where they were made up
	CPU      int          `json:"cpu"`             // GOMAXPROCS of the run that showed it first
	Seed     uint64       `json:"seed"`
	Patch    string       `json:"patch,omitempty"`    // "" when it was told with another race about the variable
	Means    string       `json:"means,omitempty"`    // what the patch does
	NoPatch  string       `json:"no_patch,omitempty"` // why there is none
}

// A RaceAccess is one of the two.
type RaceAccess struct {
	Write   bool         `json:"write"`
	Main    bool         `json:"main,omitempty"`    // by the main goroutine
	By      string       `json:"by,omitempty"`      // the function of Go itself that made it, where the race detector does not know who called that one
	Stack   []RaceFrame  `json:"stack"`             // with By, from where a function was called that is not known
	Source  []SourceLine `json:"source,omitempty"`  // around the access
	Created []RaceFrame  `json:"created,omitempty"` // where the goroutine was started
}

// A RaceFrame is a call on a stack.
type RaceFrame struct {
	Func string `json:"func"`
	File string `json:"file"`
	Line int    `json:"line"`
}

func (f RaceFrame) String() string { return fmt.Sprintf("%s:%d", f.File, f.Line) }

// A Hang is goroutines that wait for each other, or another end that only goroutines which run at the same time bring about.
type Hang struct {
	Kind    string    `json:"kind"` // deadlock, concurrent map, or misuse of sync
	Text    string    `json:"text"`
	Waiting []Waiting `json:"waiting"`
	Count   int       `json:"count"` // of runs
	By      string    `json:"by"`
	CPU     int       `json:"cpu"`
	Seed    uint64    `json:"seed"`
}

// A Waiting is a place at which goroutines waited in the end.
type Waiting struct {
	State string `json:"state"`
	Count int    `json:"count"` // goroutines
	RaceFrame
	Text  string      `json:"text,omitempty"` // of the line
	Stack []RaceFrame `json:"stack"`
}

// A RaceFix is a patch that was tried.
type RaceFix struct {
	Variable string   `json:"variable"`
	Patch    string   `json:"patch"`
	Proven   bool     `json:"proven"`
	Checks   []Check  `json:"checks"`
	Written  []string `json:"written,omitempty"` // files
}

// Blocks says how many there are, then each with both accesses, then what was tried.
func (r *Races) Blocks() iter.Seq[Block] {
	title := "no data race found"
	switch n, h := len(r.Races), len(r.Hangs); {
	case n > 0 && h > 0:
		title = unit.Counted(n, "data race") + r.variables() + "; " + r.hangs()
	case n > 0:
		title = unit.Counted(n, "data race") + r.variables()
	case h > 0:
		title = r.hangs()
	}
	list := []Block{Title{title}, Heading{Lines: []Phrase{{r.Tried.String()}}}}
	for i := range r.Races {
		d := &r.Races[i]
		list = append(list, Plain{d.text()})
		if d.Patch != "" {
			list = append(list, Plain{"patch: " + d.Means + "\n\n" + d.Patch})
		} else if d.Means != "" {
			list = append(list, Note{Phrase{d.Means}})
		} else if d.NoPatch != "" {
			list = append(list, Note{Phrase{"no patch for " + d.name() + " is known: " + d.NoPatch}})
		}
	}
	for i := range r.Hangs {
		list = append(list, Plain{r.Hangs[i].text()})
	}
	for _, f := range r.Fixed {
		t := Table{Title: f.title(), Columns: []Column{{Name: "outcome"}, {Name: "check"}, {Name: ""}}}
		for _, c := range f.Checks {
			t.Rows = append(t.Rows, []any{string(c.Outcome), c.Name, firstLine(c.Detail)})
		}
		list = append(list, t)
		if len(f.Written) > 0 {
			list = append(list, Note{Phrase{"written: " + strings.Join(f.Written, ", ")}})
		}
	}
	for _, n := range r.Notes {
		list = append(list, Note{Phrase{n}})
	}
	return blocks(list)
}

// variables says what the races are about, when that is known of all.
func (r *Races) variables() string {
	var names []string
	for i := range r.Races {
		name := r.Races[i].Variable
		if name == "" {
			return ""
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return ", about " + strings.Join(names, ", ")
}

func (r *Races) hangs() string {
	var deadlocks, crashes int
	for _, h := range r.Hangs {
		if h.Kind == "deadlock" {
			deadlocks++
		} else {
			crashes++
		}
	}
	crashed := unit.Counted(crashes, "crash")
	if crashes > 1 {
		crashed = fmt.Sprintf("%d crashes", crashes)
	}
	switch {
	case deadlocks == 0:
		return crashed
	case crashes == 0:
		return unit.Counted(deadlocks, "deadlock")
	}
	return unit.Counted(deadlocks, "deadlock") + ", " + crashed
}

func (f *RaceFix) title() string {
	if f.Proven {
		return "the patch of " + f.Variable + " is proven"
	}
	return "the patch of " + f.Variable + " is not proven"
}

// String says how much was run.
func (t RaceSearch) String() string {
	parts := []string{unit.Counted(t.Runs, "run")}
	if t.Tests > 0 {
		parts = append(parts, unit.Counted(t.Tests, "test")+" in shuffled orders")
	}
	if t.Requests > 0 {
		parts = append(parts, unit.Counted(t.Requests, "request")+" to "+unit.Counted(len(t.Handlers), "handler")+", 8 at a time")
	}
	if t.Calls > 0 {
		parts = append(parts, unit.Counted(t.Calls, "call")+" made up, by 8 goroutines")
	}
	if t.Programs > 0 {
		what := unit.Counted(t.Programs, "run") + " of the program"
		if t.Stopped {
			what += ", ended when the time was over"
		}
		parts[0] = what
	}
	cpus := make([]string, len(t.CPUs))
	for i, n := range t.CPUs {
		cpus[i] = fmt.Sprint(n)
	}
	return strings.Join(parts, ", ") + ", with GOMAXPROCS " + strings.Join(cpus, ", ") + ", in " + unit.Time(t.Took)
}

func (d *DataRace) name() string {
	if d.Variable != "" {
		return d.Variable
	}
	return "it"
}

// text writes a race as people compare: both accesses with their lines.
func (d *DataRace) text() string {
	var b strings.Builder
	name := d.Variable
	if name == "" {
		name = "a variable of unknown name"
	}
	fmt.Fprintf(&b, "data race: %s", name)
	if d.Memory != "" {
		fmt.Fprintf(&b, ", %s", d.Memory)
	}
	fmt.Fprintf(&b, "\n%s, in %s; first by %s with GOMAXPROCS %d\n", unit.Counted(d.Count, "report"), unit.Counted(d.Runs, "run"), d.By, d.CPU)
	if d.More > 0 {
		fmt.Fprintf(&b, "%s of accesses race behind the same calls\n", unit.Counted(d.More, "more pair"))
	}
	for i := range d.Accesses {
		a := &d.Accesses[i]
		what := "read"
		if a.Write {
			what = "write"
		}
		if i > 0 {
			what = "against a " + what
		}
		who := ""
		if a.Main {
			who = " by the main goroutine"
		}
		if a.By != "" {
			what += " by " + a.By
		}
		switch {
		case len(a.Stack) == 0 && a.By != "":
			fmt.Fprintf(&b, "\n  %s%s: the race detector does not say where\n", what, who)
			continue
		case len(a.Stack) == 0:
			fmt.Fprintf(&b, "\n  %s%s: the race detector could not restore its stack\n", what, who)
			continue
		case a.By != "":
			fmt.Fprintf(&b, "\n  %s%s, in a function called from %s in %s\n", what, who, a.Stack[0], a.Stack[0].Func)
		default:
			fmt.Fprintf(&b, "\n  %s%s at %s in %s\n", what, who, a.Stack[0], a.Stack[0].Func)
		}
		writeSource(&b, a.Source, a.Stack[0].Line)
		for _, f := range a.Stack[1:] {
			fmt.Fprintf(&b, "    called from %s in %s\n", f, f.Func)
		}
		if len(a.Created) > 0 {
			fmt.Fprintf(&b, "    goroutine started at %s in %s\n", a.Created[0], a.Created[0].Func)
		}
	}
	if d.Calls != "" {
		b.WriteString("\n  these calls show it, in a test of the package with -race:\n")
		for line := range strings.SplitSeq(d.Calls, "\n") {
			b.WriteString(strings.TrimRight("    "+strings.ReplaceAll(line, "\t", "    "), " ") + "\n")
		}
	}
	return b.String()
}

func writeSource(b *strings.Builder, lines []SourceLine, at int) {
	for _, l := range lines {
		mark := " "
		if l.Line == at {
			mark = ">"
		}
		fmt.Fprintf(b, "    %s %4d  %s\n", mark, l.Line, tabless(l.Text))
	}
}

func (h *Hang) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\nin %s; first by %s with GOMAXPROCS %d\n", h.Kind, h.Text, unit.Counted(h.Count, "run"), h.By, h.CPU)
	for _, w := range h.Waiting {
		verb := "waits"
		if w.Count != 1 {
			verb = "wait"
		}
		if h.Kind == "deadlock" {
			fmt.Fprintf(&b, "\n  %s %s (%s) at %s in %s\n", unit.Counted(w.Count, "goroutine"), verb, w.State, w.RaceFrame, w.Func)
		} else {
			fmt.Fprintf(&b, "\n  at %s in %s\n", w.RaceFrame, w.Func)
		}
		if w.Text != "" {
			fmt.Fprintf(&b, "    > %4d  %s\n", w.Line, tabless(w.Text))
		}
		for _, f := range w.Stack[min(1, len(w.Stack)):] {
			fmt.Fprintf(&b, "    called from %s in %s\n", f, f.Func)
		}
	}
	return b.String()
}
