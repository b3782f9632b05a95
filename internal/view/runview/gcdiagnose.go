package runview

import (
	"math"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/gclog"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/stat"
)

// Thresholds of findings. The log of a healthy program has none.
const (
	muchShare    = 0.10 // of all CPUs for the collector
	muchInWindow = 0.25 // and for a while
	muchAssist   = 0.20 // of the collector's CPU time, by goroutines that allocate
	longPause    = 10 * time.Millisecond
	leastCycles  = 10          // minimum for any finding
	leastTime    = time.Second // a program is starting until then
)

// findings returns the findings, most important first.
func (r *gcRun) findings() []report.GCFinding {
	var out []report.GCFinding
	spiral := r.spiral()
	for _, found := range [][]report.GCFinding{
		r.killed(), spiral, r.share(), r.leak(), r.assist(), r.pauses(), r.forced(),
	} {
		out = append(out, found...)
	}
	if len(spiral) == 0 {
		out = append(out, r.overshoot()...)
	}
	return out
}

func number(name string, value float64, unit string) report.GCNumber {
	return report.GCNumber{Name: name, Value: value, Unit: unit}
}

func between(from, to time.Duration) report.Phrase {
	return report.Phrase{"between ", report.Nanos(from), " and ", report.Nanos(to)}
}

// sound reports whether there is enough data for findings.
func (r *gcRun) sound() bool {
	return r.timed && len(r.cycles) >= leastCycles && r.to-r.from >= leastTime
}

// share finds that the collector takes much of the CPU, all the time or for a while.
func (r *gcRun) share() []report.GCFinding {
	s := &r.sum
	next := hint.Text{"allocate less (", hint.Ask("top").With("metric", "alloc_space"), " on a heap profile), or give it more room with GOGC or GOMEMLIMIT"}
	if r.timed && s.Capacity == 0 {
		return r.countedShare(next)
	}
	if !r.sound() || s.Capacity == 0 {
		return nil
	}
	whole := float64(s.CPU) / float64(s.Capacity)
	if whole >= muchShare {
		return []report.GCFinding{{
			Rule: "gc-share", From: int64(r.from), To: int64(r.to), Next: next,
			Numbers: []report.GCNumber{number("share", whole, ""), number("cycles_per_second", float64(s.Of+r.missed())/(r.to-r.from).Seconds(), "")},
			Claim:   report.Phrase{"the collector takes ", report.Share{Part: s.CPU, Whole: s.Capacity}, " of the CPU"},
		}}
	}
	// The window that is worst, and those beside it that are nearly as bad.
	windows := r.windows(r.fineWindows())
	worst := -1
	bad := func(w *gcWindow) bool {
		return float64(w.cpu) >= muchInWindow*float64(w.capacity) && w.cycles > 0 && w.known()
	}
	for i := range windows {
		w := &windows[i]
		if bad(w) && w.to-w.from >= leastTime/10 && (worst < 0 || w.cpu > windows[worst].cpu) {
			worst = i
		}
	}
	if worst < 0 {
		return nil
	}
	begin, end := worst, worst
	for begin > 0 && bad(&windows[begin-1]) {
		begin--
	}
	for end+1 < len(windows) && bad(&windows[end+1]) {
		end++
	}
	var cpu, capacity time.Duration
	for _, w := range windows[begin : end+1] {
		cpu += w.cpu
		capacity += w.capacity
	}
	from, to := windows[begin].from, windows[end].to
	return []report.GCFinding{{
		Rule: "gc-share", From: int64(from), To: int64(to), Next: next,
		Numbers: []report.GCNumber{number("share", float64(cpu)/float64(capacity), ""), number("share_of_all_time", whole, "")},
		Claim: append(between(from, to), " the collector takes ", report.Share{Part: int64(cpu), Whole: int64(capacity)},
			" of the CPU, over the whole time ", report.Share{Part: s.CPU, Whole: s.Capacity}),
	}}
}

// countedShare is share for a log that lacks too many cycles. It uses the count of the runtime.
func (r *gcRun) countedShare(next hint.Text) []report.GCFinding {
	percent := r.runtimePercent()
	if float64(percent)/100 < muchShare || r.cycles[len(r.cycles)-1].N < leastCycles || r.last < leastTime {
		return nil
	}
	return []report.GCFinding{{
		Rule: "gc-share", To: int64(r.last), Next: next,
		Numbers: []report.GCNumber{number("runtime_share", float64(percent)/100, "")},
		Claim:   report.Phrase{"the collector takes ", percent, "% of the CPU, by the runtime's own count since the program began"},
	}}
}

// killed finds that the program was killed, probably because memory ran out.
func (r *gcRun) killed() []report.GCFinding {
	const (
		near     = 20 // lines from the end of the log; after more of them, the program went on
		growth   = 1.2
		minBytes = 8 << 20
		full     = 0.8 // of the largest live heap, at the end
	)
	e := r.ending
	if e == nil || !r.timed {
		return nil
	}
	s := &r.sum
	last := r.cycles[len(r.cycles)-1]
	early := make([]int64, 0, len(r.cycles)/3+1)
	for _, c := range r.cycles[:len(r.cycles)/3+1] {
		early = append(early, c.Live)
	}
	slices.Sort(early)
	from, to := early[(len(early)-1)/2], last.Live
	grown := len(r.cycles) >= 3 && float64(to) >= growth*float64(from) && to-from >= minBytes && float64(to) >= full*float64(s.MaxLive)
	if e.How == gclog.Killed && (!grown || r.lines-e.Line > near && e.Line > 0) {
		return nil
	}
	said := "the log ends with \"" + e.Text + "\""
	if e.Line == 0 {
		said = "the program was killed (SIGKILL)"
	}
	claim := report.Phrase{said, " while the live heap was ", report.Bytes(to)}
	if grown {
		claim = report.Phrase{said, " when the live heap had grown from ", report.Bytes(from), " to ", report.Bytes(to)}
	}
	numbers := []report.GCNumber{number("line", float64(e.Line), ""), number("live_at_first", float64(from), "bytes"), number("live_at_last", float64(to), "bytes")}
	switch percent := r.runtimePercent(); {
	case s.Capacity > 0:
		numbers = append(numbers, number("share", float64(s.CPU)/float64(s.Capacity), ""))
		claim = append(claim, " and the collector took ", report.Share{Part: s.CPU, Whole: s.Capacity}, " of the CPU")
	case percent > 0:
		numbers = append(numbers, number("runtime_share", float64(percent)/100, ""))
		claim = append(claim, " and the collector took ", percent, "% of the CPU")
	}
	next := hint.Text{"find what holds memory with a heap profile (", hint.Ask("top").With("metric", "inuse_space"), "), or give the program more memory"}
	switch e.How {
	case gclog.Killed:
		claim = append(claim, ": the kernel probably killed the program, out of memory")
		next = hint.Text{"dmesg, or kubectl describe pod, says whether it was the kernel; ", next}
	case gclog.OOMKilled:
		claim = append(claim, ": it was killed, out of memory")
	case gclog.OutOfMemory:
		claim = append(claim, ": the system gave the program no more memory")
	}
	return []report.GCFinding{{Rule: "killed", From: int64(r.from), To: int64(r.to), Numbers: numbers, Next: next, Claim: claim}}
}

// spiral finds cycles that follow each other at once, because the live heap is as large as the goal that a memory limit
// or a low GOGC leaves.
func (r *gcRun) spiral() []report.GCFinding {
	const (
		least = 4   // cycles in a row
		room  = 1.1 // goal over live heap
		rest  = 0.25
	)
	if !r.timed {
		return nil
	}
	var best, run []*gclog.Cycle
	for i, c := range r.cycles {
		tight := c.Goal > 8<<20 && float64(c.Goal) <= room*float64(c.Live) && c.Trigger == gclog.ByHeap
		if tight && len(run) > 0 {
			before := r.cycles[i-1]
			gap := c.Start - (before.Start + before.Wall())
			tight = c.N == before.N+1 && float64(gap) <= rest*float64(before.Wall())
			if !tight {
				run = nil
				tight = true // it may begin another
			}
		}
		if !tight {
			run = nil
			continue
		}
		run = append(run, c)
		if len(run) > len(best) {
			best = run
		}
	}
	if len(best) < least {
		return nil
	}
	first, last := best[0], best[len(best)-1]
	from, to := first.Start, last.Start+last.Wall()
	var busy, cpu time.Duration
	live := int64(0)
	for _, c := range best {
		busy += c.Wall()
		cpu += c.CPU.Total()
		live = max(live, c.Live)
	}
	return []report.GCFinding{{
		Rule: "memory-limit", From: int64(from), To: int64(to),
		Next: hint.Text{"raise GOMEMLIMIT (or GOGC, where that is very low) well above the live heap and what is not heap, or find what holds memory with a heap profile"},
		Numbers: []report.GCNumber{
			number("cycles", float64(len(best)), ""), number("time_collecting", float64(busy)/float64(to-from), ""),
			number("live", float64(live), "bytes"), number("goal", float64(last.Goal), "bytes"),
		},
		Claim: append(between(from, to), " ", len(best), " cycles follow each other at once and take ",
			report.Share{Part: int64(busy), Whole: int64(to - from)}, " of the time: with ", report.Bytes(live),
			" live there is no room below the goal of ", report.Bytes(last.Goal), ", which looks like a memory limit that is too low"),
	}}
}

// leak finds a live heap that grows all the time.
func (r *gcRun) leak() []report.GCFinding {
	const (
		cycles   = 24
		parts    = 24
		least    = 12 // of the parts with a cycle
		chance   = 0.001
		growth   = 0.2
		minBytes = 8 << 20
		lasting  = 10 * time.Second
		slowing  = 0.4 // the last quarter grows by this much of the average
	)
	if !r.timed || !r.live || len(r.cycles) < cycles || r.last-r.from < lasting {
		return nil
	}
	// A program fills its caches at first. What it keeps is the least that is live at some time.
	from := r.from + (r.last-r.from)/5
	length := (r.last - from) / parts
	floor := make([]int64, parts)
	for i := range floor {
		floor[i] = -1
	}
	for _, c := range r.cycles {
		if c.Start < from {
			continue
		}
		i := min(int((c.Start-from)/length), parts-1)
		if floor[i] < 0 || c.Live < floor[i] {
			floor[i] = c.Live
		}
	}
	var values []float64
	for _, v := range floor {
		if v >= 0 {
			values = append(values, float64(v))
		}
	}
	n := len(values)
	if n < least {
		return nil
	}
	t := stat.TrendOf(values)
	quarter := func(i int) float64 {
		part := slices.Sorted(slices.Values(values[i*n/4 : (i+1)*n/4]))
		return part[len(part)/2]
	}
	q := [4]float64{quarter(0), quarter(1), quarter(2), quarter(3)}
	grown := q[3] - q[0]
	switch {
	case t.P > chance || t.Lo <= 0:
		return nil
	case grown < max(growth*q[0], minBytes):
		return nil
	case q[1] <= q[0] || q[2] <= q[1] || q[3]-q[2] < slowing*grown/3:
		return nil // the growth has stopped
	}
	perSecond := 1 / ((r.last - from).Seconds() / float64(n))
	rate := func(slope float64) report.Value { return report.Bytes(int64(slope * perSecond * 60)) }
	return []report.GCFinding{{
		Rule: "live-heap-grows", From: int64(from), To: int64(r.last),
		Next: hint.Text{"it may leak: take two heap profiles some minutes apart and compare them with ", hint.Ask("diff", "OLD", "NEW").With("metric", "inuse_space")},
		Numbers: []report.GCNumber{
			number("growth", t.Slope*perSecond, "bytes/second"), number("growth_low", t.Lo*perSecond, "bytes/second"),
			number("growth_high", t.Hi*perSecond, "bytes/second"), number("p", t.P, ""),
			number("live_at_first", q[0], "bytes"), number("live_at_last", q[3], "bytes"),
		},
		Claim: append(append(report.Phrase{"the live heap grows "}, between(from, r.last)...), " from about ", report.Bytes(int64(q[0])),
			" to ", report.Bytes(int64(q[3])), ", by ", rate(t.Slope), " per minute (95% interval ", rate(t.Lo), " to ", rate(t.Hi),
			"; by chance less than once in a thousand logs)"),
	}}
}

// assist finds that goroutines which allocate do much of the collector's work.
func (r *gcRun) assist() []report.GCFinding {
	const share = 0.02 // of all CPUs; below that it does not matter
	s := &r.sum
	if !r.sound() || float64(s.Assist) < muchAssist*float64(s.CPU) || float64(s.CPU) < share*float64(s.Capacity) {
		return nil
	}
	return []report.GCFinding{{
		Rule: "assist", Next: hint.Text{"allocate less at a time, or raise GOGC so that cycles begin earlier before the goal"},
		Numbers: []report.GCNumber{number("share", float64(s.Assist)/float64(s.CPU), ""), number("assist", float64(s.Assist), "nanoseconds")},
		Claim: report.Phrase{"goroutines that allocate did ", report.Share{Part: s.Assist, Whole: s.CPU},
			" of the collector's work, ", report.Nanos(s.Assist), ": they allocate faster than it marks, so they have to help"},
	}}
}

// pauses finds long stop-the-world pauses.
func (r *gcRun) pauses() []report.GCFinding {
	s := &r.sum
	if len(r.cycles) < leastCycles || time.Duration(s.PauseP99) < longPause {
		return nil
	}
	f := report.GCFinding{
		Rule: "pauses",
		Next: hint.Text{"look for threads that do not get a CPU: a CPU limit below GOMAXPROCS, an overloaded machine, or, before Go 1.14, loops without calls"},
		Numbers: []report.GCNumber{
			number("p99", float64(s.PauseP99), "nanoseconds"), number("max", float64(s.PauseMax), "nanoseconds"),
		},
		Claim: report.Phrase{"stop-the-world pauses are long: p99 ", report.Nanos(s.PauseP99), ", max ", report.Nanos(s.PauseMax)},
	}
	if !r.timed {
		f.Next = hint.Text{"before Go 1.5 the world was stopped for the whole cycle: build with a newer Go"}
	}
	return []report.GCFinding{f}
}

// forced finds that the program forces cycles.
func (r *gcRun) forced() []report.GCFinding {
	const (
		least  = 3
		share  = 0.2 // of the cycles
		period = 120 * time.Second
	)
	s := &r.sum
	if s.ByProgram < least || float64(s.ByProgram) < share*float64(s.Of) {
		return nil
	}
	var gaps []time.Duration
	var last *gclog.Cycle
	cost := time.Duration(0)
	for _, c := range r.cycles {
		if c.Trigger != gclog.ByProgram {
			continue
		}
		if last != nil {
			gaps = append(gaps, c.Start-last.Start)
		}
		last = c
		cost += c.CPU.Total()
	}
	claim := report.Phrase{"the program forced ", s.ByProgram, " of ", s.Of, " cycles"}
	numbers := []report.GCNumber{number("forced", float64(s.ByProgram), ""), number("cpu", float64(cost), "nanoseconds")}
	next := hint.Text{"find who calls runtime.GC or debug.FreeOSMemory: ", hint.Ask("peek").Of("^runtime[.]GC$|FreeOSMemory"), " on a CPU profile; heap profiles with gc=1 also do"}
	if r.timed {
		slices.Sort(gaps)
		every := gaps[len(gaps)/2]
		numbers = append(numbers, number("every", float64(every), "nanoseconds"))
		claim = append(claim, ", about every ", report.Nanos(every))
		if (every - period).Abs() < period/20 {
			// Lines of go1.19 before its release carried the mark of the program, too: golang.org/issue/52515.
			return nil
		}
	}
	return []report.GCFinding{{
		Rule: "forced", Numbers: numbers, Next: next,
		Claim: append(claim, ", for ", report.Nanos(cost), " of CPU time"),
	}}
}

// overshoot finds that the heap grows beyond its goal.
func (r *gcRun) overshoot() []report.GCFinding {
	const (
		share = 0.1 // of the cycles
		small = 16 << 20
	)
	over, most, goal := 0, int64(0), int64(0)
	for _, c := range r.cycles {
		if c.Format.Timed() && c.Trigger == gclog.ByHeap && c.Goal >= small && overshoots(c) {
			over++
			if c.End-c.Goal > most {
				most, goal = c.End-c.Goal, c.Goal
			}
		}
	}
	if !r.sound() || float64(over) < share*float64(len(r.cycles)) {
		return nil
	}
	return []report.GCFinding{{
		Rule:    "overshoot",
		Next:    hint.Text{"leave room for that in memory limits, or allocate less at a time: large allocations and bursts outpace marking"},
		Numbers: []report.GCNumber{number("cycles", float64(over), ""), number("over", float64(most), "bytes"), number("goal", float64(goal), "bytes")},
		Claim: report.Phrase{over, " of ", len(r.cycles), " cycles ended more than a tenth above their goal, at most ", report.Bytes(most),
			" above ", report.Bytes(goal)},
	}}
}

// whatIf says what other values of GOGC would change. A cycle costs the same for the same live heap; with twice the
// room there are half as many.
func (r *gcRun) whatIf() []report.GCWhatIf {
	gogc := r.gogc()
	if gogc <= 0 {
		return nil
	}
	// The heap is allowed to grow by GOGC percent of what is live, of stacks and of globals.
	live, roots := int64(0), int64(0)
	for _, c := range r.cycles {
		if c.Live > live {
			live, roots = c.Live, c.Stacks+c.Globals
		}
	}
	var out []report.GCWhatIf
	for _, factor := range []float64{1, 2, 4, 8} {
		g := factor * float64(gogc)
		const least = 4 << 20 // the smallest heap, for GOGC=100
		room := max(g/100*float64(live+roots), g/100*least-float64(live))
		out = append(out, report.GCWhatIf{
			GOGC: int(g), CPU: int64(min(float64(r.sum.CPU)/factor, float64(r.sum.Capacity))), Peak: live + int64(room), Now: factor == 1,
		})
	}
	return out
}

// gogc returns what GOGC seems to be, or 0. Where a memory limit is at work, it is what that comes to.
func (r *gcRun) gogc() int {
	var list []float64
	for i, c := range r.cycles {
		if i == 0 || !c.Format.Timed() || r.cycles[i-1].N != c.N-1 {
			continue
		}
		before := r.cycles[i-1]
		const small = 8 << 20 // sizes are whole megabytes
		if before.Live < small || c.Goal <= before.Live {
			continue
		}
		list = append(list, 100*float64(c.Goal-before.Live)/float64(before.Live+before.Stacks+before.Globals))
	}
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	g := list[len(list)/2]
	// GOGC is usually a round number.
	for _, round := range []float64{25, 50, 75, 100, 150, 200, 300, 400, 500, 800, 1000} {
		if math.Abs(g-round) < 0.1*round {
			return int(round)
		}
	}
	return int(math.Round(g))
}
