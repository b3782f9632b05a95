package cli

import (
	"testing"

	"github.com/hone-perf/hone/internal/report"
)

// TestFixResult holds that the line about a kept patch names its time gain if that is large enough, and its largest gain otherwise.
func TestFixResult(t *testing.T) {
	row := func(name string, what report.Dimension, ratio float64, verdict string) report.CompareRow {
		return report.CompareRow{Name: name, What: what, Ratio: ratio, Verdict: verdict}
	}
	for _, tt := range []struct {
		rows []report.CompareRow
		want string
	}{
		{[]report.CompareRow{row("a", "memory", 0.99, report.Better), row("b", "memory", 0.2, report.Better), row("b", "CPU time", 0.5, report.Better)}, ": CPU time of b -50%"},
		{[]report.CompareRow{row("a", "memory", 0.99, report.Better), row("b", "allocations", 0.958, report.Better), row("b", "CPU time", 0.98, report.Better)}, ": allocations of b -4.2%"},
		{[]report.CompareRow{row("a", "CPU time", 0.1, report.Undecided), row("a", "allocations", 0, report.Better)}, ": allocations of a -100%"},
		{[]report.CompareRow{row("a", "throughput", 1.25, report.Better)}, ": throughput of a +25%"},
		{nil, ""},
	} {
		if got := fixResult(&report.Fixed{Speed: tt.rows}, true, flagSpeller{}); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.rows, got, tt.want)
		}
	}
	if got := fixResult(&report.Fixed{Reason: "tests failed\nmore"}, false, flagSpeller{}); got != ": tests failed" {
		t.Errorf("not kept: %q", got)
	}
}
