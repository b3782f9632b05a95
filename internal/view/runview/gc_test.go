package runview

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/gclog"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/testrun"
)

// A program is what a made-up program does from one cycle to the next.
type program struct {
	cycles int
	live   func(i int) float64 // megabytes
	rate   func(i int) float64 // megabytes allocated in a second
	work   float64             // CPUs that mark; 0 is 1
	assist float64             // part of the marking done by goroutines that allocate
	pause  func(i int) float64 // milliseconds
	gogc   float64
	over   float64 // the goal is exceeded by this part
	forced int     // every so many cycles
	every  time.Duration
	seed   uint64
}

// log writes what the runtime would.
func (p program) log(t *testing.T) *gclog.Log {
	t.Helper()
	const procs, perMB = 4, 0.3 // milliseconds to mark a megabyte
	r := rand.New(rand.NewPCG(p.seed, 1))
	var b strings.Builder
	at, spent := 0.0, 0.0
	before := 4.0
	for i := range p.cycles {
		live := p.live(i)
		goal := max(4, before*(1+p.gogc/100))
		rate, pause := 100.0, 0.05+0.05*r.Float64()
		if p.rate != nil {
			rate = p.rate(i)
		}
		if p.pause != nil {
			pause = p.pause(i)
		}
		mark := live * perMB
		work := mark * cmp.Or(p.work, 1)
		forced := ""
		if p.forced > 0 && i%p.forced == 0 {
			forced = " (forced)"
		}
		if p.every > 0 {
			at += p.every.Seconds()
		} else {
			at += (goal - before) / rate
		}
		spent += pause*procs + work + 0.04
		percent := int(100 * spent / 1000 / ((at + (mark+pause)/1000) * procs))
		fmt.Fprintf(&b, "gc %d @%.3fs %d%%: %.3f+%.1f+0.010 ms clock, %.2f+%.2f/%.2f/%.2f+0.040 ms cpu, %.0f->%.0f->%.0f MB, %.0f MB goal, 0 MB stacks, 0 MB globals, %d P%s\n",
			i+1, at, percent, pause, mark, pause*procs, work*p.assist, work*(1-p.assist), work, goal*0.95, goal*(1+p.over), live, goal, procs, forced)
		at += (mark + pause) / 1000
		before = live
	}
	log, err := gclog.Parse(strings.NewReader(b.String()))
	if err != nil || len(log.Cycles) != p.cycles {
		t.Fatalf("%d cycles, %v:\n%s", len(log.Cycles), err, b.String())
	}
	return log
}

func steady(mb float64) func(int) float64 { return func(int) float64 { return mb } }

func askGC(t *testing.T, log *gclog.Log, q query.Query) *report.GC {
	t.Helper()
	r, err := GC([]*recording.Recording{recording.GC.Of("gc.log", log)}, q)
	if err != nil {
		t.Fatal(err)
	}
	return r.(*report.GC)
}

func rulesOf(g *report.GC) string {
	var out []string
	for _, f := range g.Findings {
		out = append(out, f.Rule)
	}
	return strings.Join(out, " ")
}

func TestGCFindings(t *testing.T) {
	noise := func(i int) float64 { return 5 * math.Sin(float64(i)*1.7) }
	tests := []struct {
		name string
		p    program
		want string
	}{
		{"well", program{cycles: 300, live: func(i int) float64 { return 40 + noise(i) }}, ""},
		{"well and small", program{cycles: 40, live: steady(1)}, ""},
		{"few cycles", program{cycles: 3, live: steady(40), rate: steady(5000)}, ""},
		{"a cache that fills", program{cycles: 300, live: func(i int) float64 { return 100 - 60*math.Exp(-float64(i)/30) + noise(i) }}, ""},
		{"comes and goes", program{cycles: 300, live: func(i int) float64 { return 60 + 40*math.Sin(float64(i)/20) }}, ""},
		{"grows by nearly nothing", program{cycles: 300, live: func(i int) float64 { return 100 + float64(i)/60 }}, ""},
		{"leaks", program{cycles: 300, live: func(i int) float64 { return 40 + 0.8*float64(i) + noise(i) }}, "live-heap-grows"},
		{"busy", program{cycles: 300, live: steady(200), rate: steady(1500), work: 2}, "gc-share"},
		{"busy for a while", program{cycles: 300, live: steady(100), work: 2, rate: func(i int) float64 {
			if i > 150 && i < 290 {
				return 5000
			}
			return 50
		}}, "gc-share"},
		{"assists", program{cycles: 300, live: steady(40), rate: steady(400), assist: 0.6}, "assist"},
		{"long stops", program{cycles: 100, live: steady(40), pause: func(i int) float64 { return 20 }}, "pauses"},
		{"one long stop", program{cycles: 100, live: steady(40), pause: func(i int) float64 { return max(0, float64(i-98)*20) }}, ""},
		{"forced", program{cycles: 50, live: steady(40), forced: 2}, "forced"},
		{"forced by the runtime", program{cycles: 50, live: steady(4), forced: 1, every: 2 * time.Minute}, ""},
		{"above the goal", program{cycles: 100, live: steady(40), over: 0.3}, "overshoot"},
		{"no room", program{cycles: 50, live: steady(400), gogc: 1, rate: steady(400)}, "memory-limit gc-share"},
	}
	for _, tt := range tests {
		if tt.p.gogc == 0 {
			tt.p.gogc = 100
		}
		g := askGC(t, tt.p.log(t), query.Query{})
		if got := rulesOf(g); got != tt.want {
			t.Errorf("%s: findings are %q, want %q; %+v", tt.name, got, tt.want, g.GCSummary)
		}
		for _, f := range g.Findings {
			if len(f.Next) == 0 || len(f.Numbers) == 0 || len(f.Claim) == 0 {
				t.Errorf("%s: %+v lacks something", tt.name, f)
			}
		}
	}
}

// A walk without a direction is no leak, however often one looks.
func TestGCNoFalseLeaks(t *testing.T) {
	const runs = 200
	found := 0
	for seed := range uint64(runs) {
		r := rand.New(rand.NewPCG(seed, 2))
		level := 100.0
		p := program{cycles: 300, gogc: 100, seed: seed, live: func(int) float64 {
			level += 0.1*(100-level) + 10*r.NormFloat64() // it always comes back
			return max(level, 5)
		}}
		if strings.Contains(rulesOf(askGC(t, p.log(t), query.Query{})), "live-heap-grows") {
			found++
		}
	}
	if found > runs/100 {
		t.Errorf("%d of %d logs without a leak are suspected", found, runs)
	}
}

func TestGCSummary(t *testing.T) {
	log, err := gclog.Parse(strings.NewReader(
		"gc 1 @0.100s 6%: 1.0+10+2.0 ms clock, 2.0+3.0/5.0/7.0+4.0 ms cpu, 4->5->1 MB, 4 MB goal, 2 P\n" +
			"gc 2 @0.200s 7%: 3.0+10+4.0 ms clock, 6.0+1.0/5.0/7.0+8.0 ms cpu, 9->11->2 MB, 8 MB goal, 2 P\n" +
			"scvg0: inuse: 5, idle: 1, sys: 6, released: 1, consumed: 5 (MB)\n"))
	if err != nil {
		t.Fatal(err)
	}
	const mb, ms = 1 << 20, 1e6
	want := report.GCSummary{
		Of: 2, Procs: 2, Wall: 217 * ms, CPU: 34 * ms, Capacity: 434 * ms, Assist: 4 * ms, Idle: 14 * ms,
		Stops: 4, Pause: 10 * ms, PauseP50: 2 * ms, PauseP99: 4 * ms, PauseMax: 4 * ms,
		Allocated: 15 * mb, Peak: 11 * mb, Live: 2 * mb, MaxLive: 2 * mb, Goal: 8 * mb, Over: 1, MostOver: 3 * mb, OverGoal: 8 * mb,
		Sys: 6 * mb, Released: mb,
	}
	g := askGC(t, log, query.Query{})
	want.Alloc = g.Alloc
	if g.GCSummary != want || math.Abs(float64(g.Alloc)-15*mb/0.217) > 1 {
		t.Errorf("summary is\n%+v, want\n%+v", g.GCSummary, want)
	}
	if g = askGC(t, log, query.Query{Limit: 1}); g.Shown != 1 || g.Of != 2 || g.Cycles[0].N != 2 {
		t.Errorf("with a limit: %+v", g.Cycles)
	}
	at := query.Span{From: 150 * time.Millisecond}
	if g = askGC(t, log, query.Query{At: at}); g.Of != 1 || g.From != 150*ms || g.Wall != 67*ms {
		t.Errorf("from 150ms on: %+v", g.GCSummary)
	}
}

// A share of the CPU is told of the time of which the log has all cycles; else it is the runtime's own.
func TestGCMissing(t *testing.T) {
	whole := program{cycles: 300, live: steady(200), rate: steady(1500), work: 2, gogc: 100}.log(t)
	share := func(g *report.GC) float64 { return float64(g.CPU) / float64(g.Capacity) }
	want := share(askGC(t, whole, query.Query{}))
	without := func(drop func(n int) bool) *gclog.Log {
		log := *whole
		log.Cycles = slices.DeleteFunc(slices.Clone(whole.Cycles), func(c gclog.Cycle) bool { return drop(c.N) })
		return &log
	}
	tests := []struct {
		name                        string
		drop                        func(n int) bool
		cycles, gaps, after, before int
		share                       bool
	}{
		{"a few of them", func(n int) bool { return n == 7 || 100 <= n && n < 120 }, 21, 2, 99, 120, true},
		{"nearly all", func(n int) bool { return n > 2 && n < 295 }, 292, 1, 2, 295, false},
		{"all but every tenth", func(n int) bool { return n%10 != 1 }, 261, 29, 1, 11, false},
		{"the first, which is not a gap", func(n int) bool { return n < 50 }, 0, 0, 0, 0, true},
	}
	for _, tt := range tests {
		g := askGC(t, without(tt.drop), query.Query{})
		m := report.GCMissing{}
		if g.Missing != nil {
			m = *g.Missing
		}
		if m.Cycles != tt.cycles || m.Gaps != tt.gaps || m.After != tt.after || m.Before != tt.before || g.Unlike {
			t.Errorf("%s: %+v is missing", tt.name, m)
		}
		if (g.Capacity > 0) != tt.share || tt.share && math.Abs(share(g)-want) > 0.02*want {
			t.Errorf("%s: the share is %.3f, want %.3f", tt.name, share(g), want)
		}
		if got := rulesOf(g); got != "gc-share" {
			t.Errorf("%s: findings are %q: the runtime counted %d%%", tt.name, got, g.RuntimePercent)
		}
	}

	// Without a gap in the numbers, the runtime's own count tells.
	lied := *whole
	lied.Cycles = slices.Clone(whole.Cycles)
	lied.Cycles[299].Share = 2
	if g := askGC(t, &lied, query.Query{}); !g.Unlike || g.Capacity != 0 {
		t.Errorf("with another share at the end: %+v", g.GCSummary)
	}
	if g := askGC(t, &lied, query.Query{At: query.Span{To: time.Second}}); g.Unlike || g.Capacity == 0 {
		t.Errorf("a part of the time is not what the runtime counted: %+v", g.GCSummary)
	}
}

// A program that was killed while its heap grew was probably killed for it.
func TestGCKilled(t *testing.T) {
	grows := func(i int) float64 { return 40 + 20*float64(i) }
	for _, tt := range []struct {
		name   string
		live   func(int) float64
		ending gclog.Ending
		after  int // lines after it
		want   string
	}{
		{"killed", grows, gclog.Ending{How: gclog.Killed, Text: "Killed"}, 1, "killed"},
		{"killed, and much was said after it", grows, gclog.Ending{How: gclog.Killed, Text: "Killed"}, 100, ""},
		{"killed with a steady heap", steady(200), gclog.Ending{How: gclog.Killed, Text: "Killed"}, 0, ""},
		{"killed by the kernel with a steady heap", steady(200), gclog.Ending{How: gclog.OOMKilled, Text: "OOMKilled"}, 0, "killed"},
		{"out of memory", grows, gclog.Ending{How: gclog.OutOfMemory, Text: "runtime: out of memory"}, 1000, "killed"},
	} {
		log := program{cycles: 23, live: tt.live, gogc: 100}.log(t)
		log.Ending, log.Lines = &tt.ending, 24+tt.after
		log.Ending.Line = 24
		if got := rulesOf(askGC(t, log, query.Query{})); got != tt.want {
			t.Errorf("%s: findings are %q, want %q", tt.name, got, tt.want)
		}
		if got := rulesOf(askGC(t, log, query.Query{At: query.Span{To: log.Cycles[20].Start}})); got != "" {
			t.Errorf("%s: findings of the time before are %q", tt.name, got)
		}
	}
}

// What GOGC would change follows from what it is.
func TestGCWhatIf(t *testing.T) {
	for _, gogc := range []float64{50, 100, 200} {
		g := askGC(t, program{cycles: 300, live: steady(200), rate: steady(4000), work: 3, gogc: gogc}.log(t), query.Query{})
		if len(g.WhatIf) != 4 || float64(g.WhatIf[0].GOGC) != gogc || !g.WhatIf[0].Now || g.WhatIf[0].CPU != g.CPU {
			t.Errorf("GOGC=%v: %+v", gogc, g.WhatIf)
			continue
		}
		twice := askGC(t, program{cycles: 300, live: steady(200), rate: steady(4000), work: 3, gogc: 2 * gogc}.log(t), query.Query{})
		got := float64(g.WhatIf[1].CPU) / float64(g.Allocated) // for the same work
		want := float64(twice.CPU) / float64(twice.Allocated)
		if math.Abs(got-want) > 0.1*want {
			t.Errorf("GOGC=%v: twice of it would take %g, and takes %g", gogc, got, want)
		}
	}
}

// The shares of windows add up to the share of all.
func TestGCWindows(t *testing.T) {
	log := program{cycles: 100, live: steady(100), rate: steady(500), gogc: 100}.log(t)
	r := gcRun{}
	for i := range log.Cycles {
		r.all = append(r.all, &log.Cycles[i])
	}
	if err := r.within(); err != nil {
		t.Fatal(err)
	}
	r.summarize()
	for _, n := range []int{1, 7, 33} {
		sum, cycles := time.Duration(0), 0
		for _, w := range r.windows(n) {
			sum += w.cpu
			cycles += w.cycles
		}
		if math.Abs(float64(int64(sum)-r.sum.CPU)) > 1e-6*float64(r.sum.CPU) || cycles != 100 {
			t.Errorf("%d windows have %v and %d cycles, want %v and 100", n, sum, cycles, time.Duration(r.sum.CPU))
		}
	}
}

// TestGCCorpus asks about every log there is, and about each of its processes.
func TestGCCorpus(t *testing.T) {
	for _, name := range testrun.Corpus(t, "gctrace") {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		log, err := gclog.Parse(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		for p := range log.Processes {
			g := askGC(t, log, query.Query{Process: p + 1, Limit: -1})
			if len(slices.Collect(g.Blocks())) == 0 || g.Of != log.Processes[p].Cycles || len(g.Tables()) == 0 {
				t.Errorf("%s: %+v", filepath.Base(name), g.GCSummary)
			}
			if got := rulesOf(g); (strings.Contains(name, "death-spiral")) != strings.Contains(got, "memory-limit") {
				t.Errorf("%s: findings are %s", filepath.Base(name), got)
			}
		}
	}
}
