package verdict

import (
	"testing"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// A threshold that the user sets holds for all rows: what is not surely beyond it is not worse.
func TestWithinOfUser(t *testing.T) {
	pairs := func(change, bytes float64) recording.DuelBenchmark {
		b := recording.DuelBenchmark{Name: "B", How: recording.Duet, Unit: "cpu-ns/op"}
		for i := range 60 {
			noise := 0.5 * float64(1+i/2%3) * float64(1-2*(i%2))
			b.Pairs = append(b.Pairs, recording.DuelPair{
				Old: map[string]float64{b.Unit: 100, "B/op": 1000}, New: map[string]float64{b.Unit: 100*(1+change) + noise, "B/op": 1000 * (1 + bytes)},
			})
		}
		b.Counts = []recording.DuelPair{{Old: map[string]float64{recording.Instructions: 1000}, New: map[string]float64{recording.Instructions: 1000 * (1 + bytes)}}}
		return b
	}
	for _, tt := range []struct {
		name               string
		change, bytes      float64
		within             float64
		surely             bool
		time, memory, work string
	}{
		{"below what the machine tells", 0.009, 0.009, 0.01, false, report.Undecided, report.Worse, report.Same},
		{"above it", 0.012, 0.012, 0.01, false, report.Worse, report.Worse, report.Worse},
		{"below what was set", 0.06, 0.06, 0.07, true, report.Same, report.Same, report.Same},
		{"as much", 0.07, 0.0701, 0.07, true, report.Undecided, report.Worse, report.Worse},
		{"above what was set", 0.08, 0.08, 0.07, true, report.Worse, report.Worse, report.Worse},
		{"less", -0.08, -0.05, 0.07, true, report.Better, report.Same, report.Same},
	} {
		d := &recording.Duel{Within: tt.within, Surely: tt.surely, Benchmarks: []recording.DuelBenchmark{pairs(tt.change, tt.bytes)}}
		for _, r := range Judge(d).Rows {
			want := map[report.Dimension]string{report.CPUTime: tt.time, report.Memory: tt.memory, report.Instructions: tt.work}[r.What]
			if r.Verdict != want {
				t.Errorf("%s: %s is %s, %v to %v; want %s", tt.name, r.What, r.Words, *r.Low, *r.High, want)
			}
		}
	}
}

// A few bytes that the runtime allocates during some run do not make memory undecided where there is none.
func TestStrayBytes(t *testing.T) {
	b := recording.DuelBenchmark{Name: "B", How: recording.Duet, Unit: "cpu-ns/op"}
	for i := range 20 {
		p := recording.DuelPair{Old: map[string]float64{b.Unit: 100, "B/op": 0}, New: map[string]float64{b.Unit: 101, "B/op": 0}}
		if i == 7 {
			p.New["B/op"] = 16
		}
		b.Pairs = append(b.Pairs, p)
	}
	for _, r := range Judge(&recording.Duel{Benchmarks: []recording.DuelBenchmark{b}}).Rows {
		if r.What == report.Memory && (r.Words != "same" || r.Change == nil || *r.Change != 0 || r.Old != 0 || r.New != 0 || len(r.Warnings) > 0) {
			t.Errorf("%+v", r)
		}
	}
}
