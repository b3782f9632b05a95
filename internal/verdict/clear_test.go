package verdict

import (
	"math"
	"testing"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// TestClear holds when a few pairs are enough, and what is said of them then.
func TestClear(t *testing.T) {
	pairs := func(cpu, memory, rate float64, more ...float64) *recording.DuelBenchmark {
		b := &recording.DuelBenchmark{Name: "B", Unit: "cpu-ns/op"}
		for _, noise := range append([]float64{1, 1.1, 0.9}, more...) {
			p := recording.DuelPair{
				Old: map[string]float64{"cpu-ns/op": 100, "B/op": 64, "answers/s": 50},
				New: map[string]float64{"cpu-ns/op": 100 * cpu * noise, "B/op": 64 * memory * noise, "answers/s": 50 * rate},
			}
			if math.IsNaN(memory) {
				p.Old["B/op"], p.New["B/op"] = 0, 0
			}
			b.Pairs = append(b.Pairs, p)
		}
		return b
	}
	without := func(b *recording.DuelBenchmark) *recording.DuelBenchmark {
		delete(b.Pairs[1].New, "B/op")
		return b
	}
	for _, tt := range []struct {
		name   string
		of     *recording.DuelBenchmark
		want   bool
		first  string // words about the CPU time
		memory string
	}{
		{"three pairs", pairs(0.1, 1, 2), false, report.Undecided, report.Undecided},
		{"four pairs", pairs(0.1, 1, 2, 1.05), true, "faster in each of 4 pairs", report.Undecided},
		{"memory of three", without(pairs(0.1, 0.1, 2, 1.05)), false, report.Undecided, report.Undecided},
		{"memory of four of five", without(pairs(0.1, 0.1, 2, 1.05, 1)), true, "faster in each of 5 pairs", "less in each of 4 pairs"},
		{"no memory", pairs(0.1, math.NaN(), 2, 1), true, "faster in each of 4 pairs", report.Same},
		{"all of it", pairs(0.1, 0.1, 2, 1.05), true, "faster in each of 4 pairs", "less in each of 4 pairs"},
		{"slower", pairs(10, 1, 0.5, 1), true, "slower in each of 4 pairs", report.Undecided},
		{"half as much in most", pairs(0.48, 1, 1, 1.2), false, report.Undecided, report.Undecided},
		{"more memory", pairs(0.1, 1.5, 1, 1), false, report.Undecided, report.Undecided},
		{"fewer answers", pairs(0.1, 1, 0.8, 1), false, report.Undecided, report.Undecided},
		{"slower with less memory", pairs(10, 0.3, 1, 1), false, report.Undecided, report.Undecided},
	} {
		if got := Clear(tt.of); got != tt.want {
			t.Errorf("%s: clear is %v", tt.name, got)
		} else if got {
			tt.of.Stop = "clear"
		}
		for _, r := range Judge(&recording.Duel{Benchmarks: []recording.DuelBenchmark{*tt.of}}).Rows {
			want := map[report.Dimension]string{report.CPUTime: tt.first, report.Memory: tt.memory}[r.What]
			if want != "" && r.Words != want {
				t.Errorf("%s: %s is %s, want %s", tt.name, r.What, r.Words, want)
			}
			if r.What == report.CPUTime && got(r) != tt.want {
				t.Errorf("%s: the interval is %v to %v", tt.name, r.Low, r.High)
			}
		}
	}
}

// got reports whether a row has an interval around its change.
func got(r report.CompareRow) bool {
	return r.Low != nil && r.High != nil && *r.Low <= *r.Change && *r.Change <= *r.High && r.P == nil
}
