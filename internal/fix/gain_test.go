package fix

import (
	"math"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

func row(name string, what report.Dimension, ratio float64, verdict string) report.CompareRow {
	low, high := ratio-1.02, ratio-0.98
	return report.CompareRow{Name: name, What: what, Old: 100, New: 100 * ratio, Ratio: ratio, Lo: ratio - 0.02, Hi: ratio + 0.02, Low: &low, High: &high, Verdict: verdict, Words: verdict}
}

// TestGains holds that nothing is kept that did not get better somewhere, or got worse anywhere.
func TestGains(t *testing.T) {
	open := row("a", "CPU time", 1.01, report.Undecided)
	open.Hi = 1.2
	wide := row("a", "time", 1.01, report.Undecided)
	wide.Hi = 1.8
	far := row("c", "CPU time", 0.93, report.Undecided)
	far.Hi = 1.14
	few := row("c", "CPU time", 0.93, report.Undecided)
	few.Low, few.High, few.Lo, few.Hi = nil, nil, 0, math.Inf(1)
	hardly := row("b", "CPU time", 1.005, report.Worse)
	hardly.Hi = 1.011
	one := row("a", "allocations", 199.0/200, report.Better)
	one.Old, one.New = 200, 199
	tests := []struct {
		name    string
		rows    []report.CompareRow
		reason  string
		decided bool
	}{
		{"nothing", nil, "it is unknown whether it helps", false},
		{"faster", []report.CompareRow{row("a", "CPU time", 0.5, report.Better)}, "", false},
		{"hardly faster", []report.CompareRow{row("a", "CPU time", 0.98, report.Better)}, "it gains little", true},
		{"a little faster", []report.CompareRow{row("a", "CPU time", 0.964, report.Better)}, "it gains little", true},
		{"hardly faster, and open elsewhere", []report.CompareRow{row("a", "CPU time", 0.98, report.Better), row("b", "CPU time", 1, report.Undecided)}, "it gains little", false},
		{"hardly faster, with some bytes less", []report.CompareRow{row("a", "CPU time", 0.98, report.Better), row("a", "memory", 0.998, report.Better)}, "it gains little", true},
		{"hardly faster, with less memory", []report.CompareRow{row("a", "CPU time", 0.98, report.Better), row("a", "memory", 0.98, report.Better)}, "", false},
		{"hardly faster, with one allocation less", []report.CompareRow{row("a", "CPU time", 0.98, report.Better), one}, "", false},
		{"as fast", []report.CompareRow{row("a", "CPU time", 1, report.Same), row("a", "memory", 1, report.Same)}, "no gain", true},
		{"open", []report.CompareRow{row("a", "CPU time", 1, report.Undecided)}, "too little time", false},
		{"fewer allocations", []report.CompareRow{row("a", "CPU time", 1, report.Same), row("a", "allocations", 0.5, report.Better)}, "", false},
		{"fewer allocations, time open but close", []report.CompareRow{row("a", "CPU time", 1, report.Undecided), row("a", "allocations", 0.5, report.Better)}, "", false},
		{"fewer allocations, time open and far", []report.CompareRow{open, row("a", "allocations", 0.5, report.Better)}, "whether it is slower", false},
		{"slower elsewhere", []report.CompareRow{row("a", "CPU time", 0.5, report.Better), row("b", "CPU time", 1.1, report.Worse)}, "slower: CPU time of b +10% (+8.0% to +12%)", true},
		{"hardly slower elsewhere", []report.CompareRow{row("a", "CPU time", 0.5, report.Better), hardly}, "", false},
		{"hardly slower, and only fewer allocations", []report.CompareRow{hardly, row("a", "allocations", 0.5, report.Better)}, "slower: CPU time of b +0.50%", true},
		{"memory for time", []report.CompareRow{row("a", "CPU time", 0.5, report.Better), row("a", "memory", 2, report.Worse)}, "", false},
		{"memory for a little time", []report.CompareRow{row("a", "CPU time", 0.96, report.Better), row("a", "memory", 1.4, report.Worse)}, "it needs more", true},
		{"memory for a little time, and much elsewhere", []report.CompareRow{row("a", "CPU time", 0.96, report.Better), row("a", "memory", 1.4, report.Worse), row("b", "CPU time", 0.6, report.Better)}, "", false},
		{"memory for nothing", []report.CompareRow{row("a", "CPU time", 1, report.Same), row("a", "memory", 2, report.Worse), row("b", "CPU time", 0.5, report.Better)}, "it needs more", true},
		{"memory for time that shows elsewhere", []report.CompareRow{row("a", "CPU time", 0.5, report.Better), row("b", "time", 0.7, report.Undecided), row("b", "memory", 2, report.Worse)}, "", false},
		{"memory for time that shows nowhere", []report.CompareRow{row("b", "time", 0.7, report.Undecided), row("b", "memory", 2, report.Worse), row("b", "allocations", 0.5, report.Better)}, "it needs more", true},
		{"fewer allocations, one is decided, one seems slower", []report.CompareRow{row("b", "CPU time", 1, report.Same), row("c", "CPU time", 1.04, report.Undecided), row("a", "allocations", 0.5, report.Better)}, "whether it is slower", false},
		{"fewer allocations, one is decided, one seems faster", []report.CompareRow{row("b", "CPU time", 1, report.Same), row("c", "CPU time", 0.96, report.Undecided), row("a", "allocations", 0.5, report.Better)}, "", false},
		{"fewer allocations, one takes 4 % longer at most, one is far from known", []report.CompareRow{row("b", "CPU time", 0.99, report.Undecided), far, row("a", "allocations", 0.5, report.Better)}, "", false},
		{"fewer allocations, of one next to nothing is known", []report.CompareRow{few, row("a", "allocations", 0.5, report.Better)}, "whether it is slower", false},
		{"fewer allocations, one that waits is open", []report.CompareRow{row("b", "CPU time", 1, report.Same), wide, row("a", "allocations", 0.5, report.Better)}, "", false},
		{"fewer allocations, all that wait are open", []report.CompareRow{wide, row("a", "allocations", 0.5, report.Better)}, "whether it is slower", false},
		{"a byte more", []report.CompareRow{row("a", "CPU time", 1, report.Same), row("a", "memory", 1.0001, report.Worse), row("a", "allocations", 0.5, report.Better)}, "", false},
		{"more and smaller", []report.CompareRow{row("a", "CPU time", 1, report.Same), row("a", "memory", 0.5, report.Better), row("a", "allocations", 1.5, report.Worse)}, "", false},
		{"more is held, less is allocated", []report.CompareRow{row("a", "CPU time", 1, report.Same), row("a", "memory", 0.5, report.Better), row("a", "live heap", 1.5, report.Worse)}, "it needs more", true},
		{"less throughput", []report.CompareRow{row("a", "throughput", 0.9, report.Worse), row("a", "allocations", 0.5, report.Better)}, "slower", true},
	}
	for _, tt := range tests {
		y := &trial{proof: &report.Proof{Speed: &report.Compare{Rows: tt.rows}}}
		y.gains()
		if (y.reason == "") != (tt.reason == "") || !strings.Contains(y.reason, tt.reason) || y.decided != tt.decided {
			t.Errorf("%s: %q, decided %v; want %q, %v", tt.name, y.reason, y.decided, tt.reason, tt.decided)
		}
	}
	for _, tt := range []struct {
		name, reason string
		rows         []report.CompareRow
	}{
		{"less is held", "", []report.CompareRow{row("a", "CPU time", 1, report.Same), row("a", "live heap", 0.1, report.Better), row("b", "live heap", 1, report.Same)}},
		{"faster", "", []report.CompareRow{row("a", "CPU time", 0.5, report.Better), row("a", "live heap", 1, report.Same)}},
		{"less is allocated, as much is held", "no gain: live heap of a", []report.CompareRow{row("a", "CPU time", 1, report.Same), row("a", "memory", 0.97, report.Better), row("a", "live heap", 1, report.Same)}},
		{"less is held, a little slower in one, and faster on the whole", "", []report.CompareRow{row("a", "CPU time", 1.01, report.Worse), row("b", "CPU time", 0.7, report.Better), row("b", "live heap", 0.1, report.Better)}},
		{"less is held, slower in one, and faster on the whole", "slower", []report.CompareRow{row("a", "CPU time", 1.1, report.Worse), row("b", "CPU time", 0.7, report.Better), row("b", "live heap", 0.1, report.Better)}},
		{"less is held, a little slower on the whole", "slower", []report.CompareRow{row("a", "CPU time", 1.01, report.Worse), row("b", "CPU time", 1, report.Same), row("b", "live heap", 0.1, report.Better)}},
		{"as much is held, a little slower in one", "slower", []report.CompareRow{row("a", "CPU time", 1.01, report.Worse), row("b", "CPU time", 0.7, report.Better), row("b", "live heap", 1, report.Same)}},
		{"less is held, slower", "slower", []report.CompareRow{row("a", "CPU time", 1.2, report.Worse), row("a", "live heap", 0.1, report.Better)}},
		{"less is held, time open and far", "whether it is slower", []report.CompareRow{open, row("a", "live heap", 0.1, report.Better)}},
	} {
		y := &trial{finding: &report.Finding{Live: true}, proof: &report.Proof{Speed: &report.Compare{Rows: tt.rows}}}
		y.gains()
		if (y.reason == "") != (tt.reason == "") || !strings.Contains(y.reason, tt.reason) {
			t.Errorf("of what holds too much, %s: %q; want %q", tt.name, y.reason, tt.reason)
		}
	}
	same := &trial{proof: &report.Proof{Speed: &report.Compare{Identical: []string{"p"}}}}
	if same.gains(); !strings.Contains(same.reason, "byte for byte") || !same.decided {
		t.Errorf("the same program: %q", same.reason)
	}
}

// TestMinGain holds that what is proven is kept only where it gains what a reader would merge it for, and that --min-gain 0 keeps all of it.
func TestMinGain(t *testing.T) {
	few := row("a", "allocations", 1912.0/1915, report.Better)
	few.Old, few.New = 1915, 1912
	same := row("a", "CPU time", 1, report.Same)
	open := row("a", "CPU time", 0.99, report.Undecided)
	for _, tt := range []struct {
		name    string
		rows    []report.CompareRow
		least   float64
		reason  string
		decided bool
	}{
		{"three objects of two thousand", []report.CompareRow{same, few}, 0.03, "gains 0.16% of objects, but the minimum is 3%", true},
		{"three objects of two thousand, if that is enough", []report.CompareRow{same, few}, 0, "", false},
		{"three objects of two thousand, of which 0.1 % are enough", []report.CompareRow{same, few}, 0.001, "", false},
		{"three objects of two thousand, and time is open", []report.CompareRow{open, few}, 0.03, "gains 0.16% of objects, but the minimum is 3%; there was too little time to see whether it is faster", false},
		{"bytes enough", []report.CompareRow{same, few, row("a", "memory", 0.97, report.Better)}, 0.03, "", false},
		{"bytes not enough", []report.CompareRow{same, few, row("a", "memory", 0.9712, report.Better)}, 0.03, "gains 2.88% of bytes, but the minimum is 3%", true},
		{"objects enough in one of two", []report.CompareRow{same, few, row("b", "allocations", 0.5, report.Better)}, 0.03, "", false},
		{"time enough, and an object less", []report.CompareRow{row("a", "CPU time", 0.964, report.Better), few}, 0.03, "", false},
		{"time enough, and not certain", []report.CompareRow{row("a", "CPU time", 0.9, report.Undecided), few}, 0.03, "gains 0.16% of objects", false},
		{"time not enough", []report.CompareRow{row("a", "CPU time", 0.92, report.Better), few}, 0.1, "gains 8% of CPU time, but the minimum is 10%", true},
		{"throughput enough", []report.CompareRow{row("a", "throughput", 1.2, report.Better)}, 0.1, "", false},
		{"throughput not enough", []report.CompareRow{row("a", "throughput", 1.1, report.Better)}, 0.125, "gains 9.09% of time, but the minimum is 12.5%", true},
		{"next to nothing", []report.CompareRow{same, {Name: "a", What: "allocations", Old: 1e9, New: 1e9 - 1, Ratio: 1 - 1e-9, Exact: true, Verdict: report.Better}}, 0.03, "gains less than 0.001% of objects", true},
		{"slower is said first", []report.CompareRow{row("b", "CPU time", 1.2, report.Worse), few}, 0.03, "slower", true},
		{"nothing won is said as before", []report.CompareRow{same}, 0.03, "no gain", true},
	} {
		y := &trial{least: tt.least, proof: &report.Proof{Speed: &report.Compare{Rows: tt.rows}}}
		y.gains()
		if !strings.HasPrefix(y.reason, tt.reason) || tt.reason == "" && y.reason != "" || y.decided != tt.decided {
			t.Errorf("%s: %q, decided %v; want %q, %v", tt.name, y.reason, y.decided, tt.reason, tt.decided)
		}
		if y.short != strings.HasPrefix(y.reason, "gains ") {
			t.Errorf("%s: that it gains too little is said to be %v", tt.name, y.short)
		}
	}
	held := &trial{finding: &report.Finding{Live: true}, least: 0.03, proof: &report.Proof{Speed: &report.Compare{Rows: []report.CompareRow{
		same, row("a", "memory", 0.5, report.Better), row("a", "live heap", 0.98, report.Better),
	}}}}
	if held.gains(); !strings.HasPrefix(held.reason, "gains 2% of the live heap") {
		t.Errorf("of what holds too much, and as much with the patch: %q", held.reason)
	}
}

// TestScore holds that of two patches the one wins that leaves less, of time first.
func TestScore(t *testing.T) {
	score := func(rows ...report.CompareRow) float64 {
		y := &trial{proof: &report.Proof{Speed: &report.Compare{Rows: rows}}}
		y.gains()
		return y.score
	}
	half := score(row("a", "CPU time", 0.5, report.Better))
	third := score(row("a", "CPU time", 0.33, report.Better), row("b", "CPU time", 1, report.Same))
	less := score(row("a", "CPU time", 0.5, report.Better), row("a", "allocations", 0.5, report.Better))
	none := score(row("a", "CPU time", 0.5, report.Better), row("a", "allocations", 0, report.Better))
	if !(none < less && less < half && half < third) {
		t.Errorf("none %v, less %v, half %v, a third in one of two %v", none, less, half, third)
	}
}

// TestLittleMayBecomeEnough holds that a patch that gained too little is tried again where others have made the benchmark so much cheaper that it is
// enough then.
func TestLittleMayBecomeEnough(t *testing.T) {
	objects := func(old, new float64) report.CompareRow {
		return report.CompareRow{Pkg: "p", Name: "a", What: "allocations", Old: old, New: new, Ratio: new / old, Exact: true, Verdict: report.Better}
	}
	y := made("F", twoFuncs, "x")
	r := &run{opt: Options{MinGain: 0.03}, little: map[string]report.CompareRow{y.again(): objects(44, 43)}, latest: map[string]float64{}}
	for _, tt := range []struct {
		now  float64
		want bool
	}{{0, false}, {43, false}, {34, false}, {33, true}, {4, true}} {
		if row := objects(44, tt.now); tt.now > 0 {
			r.latest[rowKey(&row)] = tt.now
		}
		if got := r.mayBeEnough(y); got != tt.want {
			t.Errorf("one object of 44, of which %v are left: %v, want %v", tt.now, got, tt.want)
		}
	}
	if r.mayBeEnough(made("G", twoFuncs, "x")) {
		t.Error("a patch that did not gain too little is tried again")
	}
}

// Of several patches of a finding the one that gains most is kept, and the one that comes first, which is the shortest, where they are close.
func TestBeats(t *testing.T) {
	for _, tt := range []struct {
		score, best float64
		want        bool
	}{{0.5, 0.6, true}, {0.6, 0.5, false}, {0.5, 0.5, false}, {0.49, 0.5, false}, {0.48, 0.5, true}} {
		if got := (&trial{score: tt.score}).beats(&trial{score: tt.best}, 0.03); got != tt.want {
			t.Errorf("%v after %v: %v", tt.score, tt.best, got)
		}
	}
	if !(&trial{score: 1}).beats(nil, 0.03) {
		t.Error("the first is not taken")
	}
}

// What is known to be in vain while benchmarks run ends them: a patch for memory alone that saves none, and one that slows one of them down.
func TestEnough(t *testing.T) {
	pair := func(ns, bytes, allocs float64) recording.DuelPair {
		return recording.DuelPair{Old: map[string]float64{"cpu-ns/op": 100, "B/op": 1000, "allocs/op": 10}, New: map[string]float64{"cpu-ns/op": ns, "B/op": bytes, "allocs/op": allocs}}
	}
	times := func(stop string, p recording.DuelPair) (b recording.DuelBenchmark) {
		b = recording.DuelBenchmark{Name: "A", How: recording.Duet, Unit: "cpu-ns/op", Stop: stop, Iters: 100}
		for range 20 {
			b.Pairs = append(b.Pairs, p)
		}
		return b
	}
	memory := []report.Saving{{Metric: "alloc_space"}, {Metric: "alloc_objects"}}
	both := append([]report.Saving{{Metric: "cpu"}}, memory...)
	none := recording.DuelBenchmark{Name: "B"}
	for _, tt := range []struct {
		name    string
		savings []report.Saving
		live    bool
		rows    []recording.DuelBenchmark
		want    string
	}{
		{"as many allocations", memory, false, []recording.DuelBenchmark{times("", pair(100, 1000, 10))}, "no gain: allocations of A are the same"},
		{"a few bytes less", memory, false, []recording.DuelBenchmark{times("", pair(100, 995, 10))}, "no gain: allocations of A are the same"},
		{"fewer allocations", memory, false, []recording.DuelBenchmark{times("", pair(100, 1000, 9))}, ""},
		{"fewer bytes", memory, false, []recording.DuelBenchmark{times("", pair(100, 900, 10))}, ""},
		{"fewer in another benchmark", memory, false, []recording.DuelBenchmark{times("", pair(100, 1000, 10)), times("", pair(100, 1000, 9))}, ""},
		{"another benchmark did not run yet", memory, false, []recording.DuelBenchmark{times("", pair(100, 1000, 10)), none}, ""},
		{"it is to save time as well", both, false, []recording.DuelBenchmark{times("", pair(100, 1000, 10))}, ""},
		{"it is about what is held", memory, true, []recording.DuelBenchmark{times("", pair(100, 1000, 10))}, ""},
		{"slower, not decided", both, false, []recording.DuelBenchmark{times("", pair(150, 1000, 9))}, ""},
		{"slower", both, false, []recording.DuelBenchmark{times("decided", pair(150, 1000, 9)), none}, "slower: CPU time of A +50%"},
		{"a little slower", both, false, []recording.DuelBenchmark{times("decided", pair(103, 1000, 9)), none}, ""},
		{"slower, and about what is held", memory, true, []recording.DuelBenchmark{times("decided", pair(150, 1000, 9)), none}, ""},
	} {
		y := &trial{finding: &report.Finding{Savings: tt.savings, Live: tt.live}, least: 0.03}
		enough := y.enough(&recording.Duel{Within: 0.01, Alpha: 0.05, Benchmarks: tt.rows})
		if enough != (tt.want != "") || !strings.HasPrefix(y.vain, tt.want) {
			t.Errorf("%s: %v, %q; want %q", tt.name, enough, y.vain, tt.want)
		}
		if y.proof = new(report.Proof); enough {
			if y.gains(); y.reason != y.vain || !y.decided {
				t.Errorf("%s: refused for %q, decided %v", tt.name, y.reason, y.decided)
			}
		}
	}
}
