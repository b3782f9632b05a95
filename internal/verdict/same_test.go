package verdict

import (
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// A benchmark that runs the same code on both sides is not slower, whatever a clock says. What it allocates is counted, and stands.
func TestSameCode(t *testing.T) {
	for _, same := range []bool{false, true} {
		b := recording.DuelBenchmark{Name: "A", How: recording.Duet, Unit: "cpu-ns/op", SameCode: same}
		for i := range 40 {
			b.Pairs = append(b.Pairs, recording.DuelPair{
				Old: map[string]float64{b.Unit: 100 + float64(i%3), "B/op": 8}, New: map[string]float64{b.Unit: 130 + float64(i%3), "B/op": 16},
			})
		}
		c := Judge(&recording.Duel{Benchmarks: []recording.DuelBenchmark{b}})
		if len(c.Rows) != 2 {
			t.Fatalf("%+v", c.Rows)
		}
		worse, _ := c.Worst()
		said := false
		for _, n := range c.Notes {
			said = said || strings.Contains(n.String(), "where the code is in memory")
		}
		if r := c.Rows[0]; (r.Verdict == report.Same) != same || (r.Words == "same code") != same || r.SameCode != same || said != same || *r.Change < 0.2 {
			t.Errorf("%v: %+v, %v", same, r, c.Notes)
		}
		if mean := c.Means[0].Change; (mean == 0) != same {
			t.Errorf("%v: the geometric mean of time has changed by %g", same, mean)
		}
		if want := map[bool]int{false: 2, true: 1}[same]; worse != want {
			t.Errorf("%v: %d rows are worse, want %d", same, worse, want)
		}
	}
}

// Where only init functions changed, a change in time may be one of its place in memory, so it is none until layouts show it.
func TestSameOwnCode(t *testing.T) {
	for _, own := range []bool{false, true} {
		b := recording.DuelBenchmark{Name: "A", How: recording.Duet, Unit: "cpu-ns/op", SameOwn: own}
		for i := range 40 {
			b.Pairs = append(b.Pairs, recording.DuelPair{
				Old: map[string]float64{b.Unit: 100 + float64(i%3), "B/op": 8}, New: map[string]float64{b.Unit: 112 + float64(i%3), "B/op": 16},
			})
		}
		c := Judge(&recording.Duel{Benchmarks: []recording.DuelBenchmark{b}})
		worse, undecided := c.Worst()
		if want := map[bool][2]int{false: {2, 0}, true: {1, 1}}[own]; worse != want[0] || undecided != want[1] {
			t.Errorf("own %v: %d worse, %d undecided: %+v", own, worse, undecided, c.Rows)
		}
		if said := strings.Contains(c.Notes.String(), "but for init functions"); said != own {
			t.Errorf("own %v: the notes are %v", own, c.Notes)
		}
	}
}
