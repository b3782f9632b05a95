package prove

import (
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/report"
)

func TestRenamed(t *testing.T) {
	p := &profile.Profile{Tables: profile.Tables{Functions: []profile.Function{{Name: "m/v1.f"}, {Name: "m/v1.(*T).g"}, {Name: "m/v10.f"}, {Name: "fmt.Print"}}}}
	q := renamed(p, map[string]string{"m/v1": "m/v2"})
	for i, want := range []string{"m/v2.f", "m/v2.(*T).g", "m/v10.f", "fmt.Print"} {
		if got := q.Functions[i].Name; got != want {
			t.Errorf("%s became %s; want %s", p.Functions[i].Name, got, want)
		}
	}
	if p.Functions[0].Name != "m/v1.f" {
		t.Error("the profile itself was changed")
	}
}

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
		{"same", []report.CompareRow{row("a", "CPU time", report.Same), row("b", "time", report.Undecided)}, report.PaceSame, 0},
		{"faster", []report.CompareRow{row("a", "CPU time", report.Better), row("b", "CPU time", report.Same)}, report.PaceFaster, 0},
		{"slower in one", []report.CompareRow{row("a", "CPU time", report.Better), row("b", "throughput", report.Worse)}, report.PaceSlower, 1},
		{"memory for nothing", []report.CompareRow{row("a", "CPU time", report.Same), row("a", "memory", report.Worse)}, report.PaceHeavier, 0},
		{"memory for another", []report.CompareRow{row("a", "CPU time", report.Better), row("b", "allocations", report.Worse)}, report.PaceHeavier, 0},
		{"memory for time", []report.CompareRow{row("a", "CPU time", report.Better), row("a", "memory", report.Worse)}, report.PaceFaster, 1},
	}
	for _, tt := range tests {
		if got, notes := PaceOf(&report.Compare{Rows: tt.rows}); got != tt.want || len(notes) != tt.notes {
			t.Errorf("%s: %q, %q; want %q and %d notes", tt.name, got, notes, tt.want, tt.notes)
		}
	}
}
