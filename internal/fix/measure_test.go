package fix

import (
	"slices"
	"testing"

	"github.com/hone-perf/hone/internal/report"
)

// What seems a little slower, where something is faster for sure, is asked once more; what is slower for sure is not.
func TestAskedAgain(t *testing.T) {
	hardly := row("b/x", "CPU time", 1.02, report.Worse)
	less := row("c", "throughput", 0.99, report.Worse)
	far := row("d", "CPU time", 1.2, report.Worse)
	rows := []report.CompareRow{row("a", "CPU time", 0.5, report.Better), hardly, row("b/x", "memory", 1.3, report.Worse), less, far}
	if got, want := hardlySlower(rows), []string{"Benchmarkb", "Benchmarkc"}; !slices.Equal(got, want) {
		t.Errorf("asked once more: %v; want %v", got, want)
	}
	if got := hardlySlower(rows[1:]); got != nil {
		t.Errorf("nothing is faster, and asked once more are %v", got)
	}
	second := []report.CompareRow{row("b/x", "CPU time", 1, report.Same), row("b/x", "memory", 1, report.Same), row("b/y", "CPU time", 1, report.Same)}
	got := askedAgain(rows, second)
	if got[1].Verdict != report.Same || got[2].Verdict != report.Worse || got[4].Verdict != report.Worse || len(got) != len(rows) {
		t.Errorf("after the second time: %+v", got)
	}
	if rows[1].Verdict != report.Worse {
		t.Error("what was measured first changed")
	}
}

// The benchmarks that were asked for come first where there are others.
func TestIsPart(t *testing.T) {
	names := []string{"BenchmarkParse", "BenchmarkParseAll", "BenchmarkPrint"}
	for pattern, want := range map[string]bool{"": false, ".": false, "Parse": true, "Parse$": true, "Parse|Print": false, "Print/small": true, "./small": true, "Other": false, "(": false} {
		if got := isPart(pattern, names); got != want {
			t.Errorf("isPart(%q) = %t, want %t", pattern, got, want)
		}
	}
}

// Of the other benchmarks counts what got worse.
func TestWorseBeside(t *testing.T) {
	first := []report.CompareRow{row("b/x", "CPU time", 0.8, report.Better)}
	rows := []report.CompareRow{
		row("b/x", "CPU time", 1, report.Undecided), row("b/y", "CPU time", 1, report.Undecided), row("b/y", "memory", 1.2, report.Worse), row("b/z", "CPU time", 1.2, report.Worse),
	}
	rows = append(rows, row("b/z", "memory", 0.5, report.Better))
	got := worseBeside(first, rows)
	if len(got) != 2 || got[0].Name != rows[2].Name || got[1].Name != rows[3].Name {
		t.Errorf("%+v", got)
	}
}
