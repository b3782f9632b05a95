package fix

import (
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/report"
)

// A patch that copies a function as it was before another patch changed it is not tried, and one that only stands beside it is.
func TestCopiesOld(t *testing.T) {
	const base = "package p\n\nfunc f() {\n\tb := make([]byte, 0, 64)\n\tb = append(b, 'x')\n\tw.Write(b)\n}\n\nfunc g() { f() }\n"
	const now = "package p\n\nfunc f() {\n\tb := pool.Get()\n\tb = append(b, 'x')\n\tw.Write(b)\n}\n\nfunc g() { f() }\n"
	for _, tt := range []struct {
		name, add string
		want      bool
	}{
		{"a copy", "func f2() {\n\t\tb := make([]byte, 0, 64)\n\tb = append(b, 'x')\n\tw.Write(b)\n}\n", true},
		{"a copy of what is still there", "func f2() {\n\tb = append(b, 'x')\n\tw.Write(b)\n}\n\nfunc g() { f() }\n", false},
		{"something else", "func h() {\n\tfor {\n\t\tg()\n\t}\n}\n", false},
		{"a line", "\tb := make([]byte, 0, 64)\n", false},
	} {
		if got := copiesOld([]byte(base), []byte(now), []report.Edit{{New: tt.add}}); got != tt.want {
			t.Errorf("%s: %v; want %v", tt.name, got, tt.want)
		}
		if copiesOld([]byte(base), []byte(base), []report.Edit{{New: tt.add}}) {
			t.Errorf("%s: nothing was changed since", tt.name)
		}
	}
}

// What gives memory away and takes it back has to be called, or to be gone through by tests.
func TestUnreached(t *testing.T) {
	for _, tt := range []struct {
		grade report.Grade
		fn    report.Tried
		want  bool
	}{
		{report.Ownership, report.Tried{Changed: true, Blocks: 5, Reached: 1}, false},
		{report.Ownership, report.Tried{Changed: true, Blocks: 5, Tested: 3}, false},
		{report.Ownership, report.Tried{Changed: true, Blocks: 5, Tested: 2}, true},
		{report.Ownership, report.Tried{Changed: true, Blocks: 5}, true},
		{report.Ownership, report.Tried{Blocks: 5}, false},
		{report.Mechanical, report.Tried{Changed: true, Blocks: 5}, false},
	} {
		y := &trial{fix: &report.Fix{Grade: tt.grade}, proof: &report.Proof{Functions: []report.Tried{tt.fn}}}
		if got := y.unreached(); (got != "") != tt.want {
			t.Errorf("%s, %+v: %q; want a reason %v", tt.grade, tt.fn, got, tt.want)
		}
	}
}

// A patch that does not build beside one that was kept since the advice is made anew, and not refused for good.
func TestStale(t *testing.T) {
	for _, moved := range []bool{false, true} {
		y := &trial{moved: moved, proof: &report.Proof{Checks: []report.Check{report.BuildCheck(report.Failed, "text redeclared")}}}
		y.judge()
		if y.reason == "" || y.stale != moved || y.decided == moved {
			t.Errorf("changed since the advice %v: %q, stale %v, decided %v", moved, y.reason, y.stale, y.decided)
		}
	}
}

// A patch that is not decided says what it passed, how long that took, and for how long benchmarks ran; one that is refused for good
// says why alone.
func TestUndecidedSaysWhatPassed(t *testing.T) {
	proof := func(rows ...report.CompareRow) *report.Proof {
		return &report.Proof{
			Checks: []report.Check{
				{Name: "builds", Outcome: report.Passed, Took: 1300 * time.Millisecond}, {Name: "vet", Outcome: report.Passed, Took: 420 * time.Millisecond},
				{Name: "tests, with -race", Outcome: report.Passed, Took: 12 * time.Second}, {Name: "race detector", Outcome: report.Passed},
				{Name: "old tests on new code", Outcome: report.Skipped},
			},
			Executions: 300, Calling: 8 * time.Second, Racing: 40*time.Second + 200*time.Millisecond, Speed: &report.Compare{Rows: rows},
		}
	}
	const passed = "passed: builds in 1.30s, vet in 420ms, tests with -race in 12s, race detector, 300 calls without a difference in 8s"
	open := row("a", "CPU time", 1.01, report.Undecided)
	for _, tt := range []struct {
		name string
		y    *trial
		want string
	}{
		{"open", &trial{proof: proof(open)}, "(-1.0% to +3.0%); " + passed + "; 40.20s of benchmarks did not decide"},
		{"no benchmark", &trial{proof: proof()}, "none could be generated; " + passed},
		{"refused", &trial{proof: proof(row("a", "CPU time", 1.2, report.Worse))}, "slower: CPU time of a +20% (+18% to +22%)"},
	} {
		tt.y.fix = &report.Fix{Grade: report.Mechanical}
		if tt.y.judge(); !strings.HasSuffix(tt.y.reason, tt.want) {
			t.Errorf("%s: %q; want it to end %q", tt.name, tt.y.reason, tt.want)
		}
	}
	untried := &trial{proof: proof(row("a", "CPU time", 0.8, report.Better)), fix: &report.Fix{Grade: report.Mechanical}}
	untried.proof.Untried = true
	if untried.judge(); !strings.HasSuffix(untried.reason, passed+"; 40.20s of benchmarks show that it helps") || untried.decided {
		t.Errorf("with tests that take too long: %q, decided: %v", untried.reason, untried.decided)
	}
	y := &trial{proof: proof(), doing: "comparing how fast they are", since: time.Now().Add(-30 * time.Second)}
	y.proof.Racing = 0
	want := "time ran out while it was tried: comparing how fast they are took 30s so far; " + passed
	if got := y.cutShort(); got != want {
		t.Errorf("cut short: %q; want %q", got, want)
	}
	if got := (&trial{}).cutShort(); got != "time ran out while it was tried" {
		t.Errorf("before anything was tried: %q", got)
	}
}

// A patch that helps and is not proven is set apart, one that may be different is refused, and what got a little worse is no such doubt.
func TestDoubtful(t *testing.T) {
	for _, tt := range []struct {
		fact     report.DoubtFact
		doubtful bool
		refused  bool
	}{
		{"", false, false},
		{report.DoubtFewCalls, true, false},
		{report.DoubtRacesBefore, false, false},
		{report.DoubtFlaky, false, false},
		{report.DoubtReachedInPart, true, false},
		{report.DoubtVaries, true, false},
		{report.DoubtOpenDifference, false, true},
		{report.DoubtStaleState, false, true},
	} {
		y := &trial{fix: &report.Fix{Grade: report.Mechanical}, proof: &report.Proof{Speed: &report.Compare{Rows: []report.CompareRow{row("a", "CPU time", 0.8, report.Better)}}}}
		if tt.fact != "" {
			y.proof.Verdict, y.proof.Doubts = report.NotProven, []report.Doubt{{Fact: tt.fact, Text: "a doubt"}}
		}
		y.judge()
		if y.doubtful != tt.doubtful || (y.reason != "") != tt.refused || y.decided {
			t.Errorf("%s: doubtful: %v, %q, decided: %v", tt.fact, y.doubtful, y.reason, y.decided)
		}
	}
	costs := &report.Fixed{Doubts: []report.Doubt{{Fact: report.DoubtCosts}}}
	few := &report.Fixed{Doubts: []report.Doubt{{Fact: report.DoubtFewCalls}}}
	if costs.Unproven() || !few.Unproven() {
		t.Error("what got a little worse makes a patch not proven, or too few calls don't")
	}
	proven, doubtful := &trial{score: 0.8}, &trial{score: 0.5, doubtful: true}
	if doubtful.better(proven, Options{}) || !proven.better(doubtful, Options{}) || !doubtful.better(proven, Options{Doubts: true}) || !doubtful.better(nil, Options{}) {
		t.Error("a patch that is proven is preferred to one that is not, unless that may be written, too")
	}
}
