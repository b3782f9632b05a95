package verdict

import (
	"testing"

	"github.com/hone-perf/hone/internal/report"
)

// TestPace holds that nothing that got worse is hidden by what got better.
func TestPace(t *testing.T) {
	row := func(name string, what report.Dimension, verdict string) report.CompareRow {
		return report.CompareRow{Name: name, What: what, Verdict: verdict}
	}
	tests := []struct {
		name  string
		rows  []report.CompareRow
		want  report.Pace
		notes int
	}{
		{"nothing", nil, report.PaceUnknown, 0},
		{"undecided", []report.CompareRow{row("a", "CPU time", report.Undecided)}, report.PaceUnknown, 0},
		{"same", []report.CompareRow{row("a", "CPU time", report.Same), row("b", "time", report.Undecided)}, report.PaceSame, 1},
		{"same in each", []report.CompareRow{row("a", "CPU time", report.Same), row("a", "time", report.Undecided)}, report.PaceSame, 0},
		{"faster", []report.CompareRow{row("a", "CPU time", report.Better), row("b", "CPU time", report.Same)}, report.PaceFaster, 1},
		{"faster in each", []report.CompareRow{row("a", "CPU time", report.Better), row("b", "CPU time", report.Better)}, report.PaceFaster, 0},
		{"slower", []report.CompareRow{row("a", "CPU time", report.Worse), row("b", "CPU time", report.Same)}, report.PaceSlower, 1},
		{"slower in one", []report.CompareRow{row("a", "CPU time", report.Better), row("b", "throughput", report.Worse)}, report.PaceSlower, 1},
		{"memory for nothing", []report.CompareRow{row("a", "CPU time", report.Same), row("a", "memory", report.Worse)}, report.PaceHeavier, 0},
		{"memory for another", []report.CompareRow{row("a", "CPU time", report.Better), row("b", "allocations", report.Worse)}, report.PaceHeavier, 0},
		{"memory for time", []report.CompareRow{row("a", "CPU time", report.Better), row("a", "memory", report.Worse)}, report.PaceFaster, 1},
	}
	for _, tt := range tests {
		if got, notes := Pace(&report.Compare{Rows: tt.rows}); got != tt.want || len(notes) != tt.notes {
			t.Errorf("%s: %q, %q; want %q and %d notes", tt.name, got, notes, tt.want, tt.notes)
		}
	}
}
