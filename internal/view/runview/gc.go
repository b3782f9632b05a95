package runview

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/gclog"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// gcRows is the default number of cycles that are listed.
const gcRows = 10

// GC shows the cycles of the garbage collector, their cost, and findings.
func GC(in []*recording.Recording, q query.Query) (report.Report, error) {
	if q.At.Moment() {
		return nil, &MomentError{q.At}
	}
	if len(in) == 0 {
		return nil, errors.New("nothing to look at: name a log")
	}
	log := recording.GC.In(in[0])
	if log == nil || len(log.Cycles) == 0 {
		return nil, ErrNoCycles
	}
	process, err := chosenProcess(log, q.Process)
	if err != nil {
		return nil, err
	}
	run := gcRun{at: q.At}
	for i := range log.Cycles {
		if c := &log.Cycles[i]; c.Process == process {
			run.all = append(run.all, c)
		}
	}
	if err := run.within(); err != nil {
		return nil, err
	}
	if len(log.Processes) == 1 && log.Dropped == 0 {
		run.lasts(recording.Metrics.In(in[0]))
	}
	out := &report.GC{Ref: in[0].Ref, Format: run.formats()}
	if len(log.Processes) > 1 {
		out.Process = process + 1
		for i, p := range log.Processes {
			out.Processes = append(out.Processes, report.GCProcess{Process: i + 1, Cycles: p.Cycles, First: p.First, Last: p.Last, Line: p.Line})
		}
		if q.Process == 0 {
			out.Notes = append(out.Notes, fmt.Sprintf("the log has several processes; this is the one with the most cycles, %d of %d", len(run.all), len(log.Cycles)))
		}
	}
	if log.Ending != nil && run.endsWith(log) {
		run.ending, run.lines = log.Ending, log.Lines
	}
	run.summarize()
	out.Missing, out.RuntimePercent, out.Unlike = run.missing, run.runtimePercent(), run.unlike
	if len(log.Processes) == 1 {
		run.sum.Sys, run.sum.Released = log.Scavenger.Sys, log.Scavenger.Released
	}
	if len(log.Processes) == 1 {
		run.sum.NextGoal = run.nextGoal(recording.Metrics.In(in[0]))
	}
	out.GCSummary = run.sum
	out.Findings = run.findings()
	for _, f := range out.Findings {
		if f.Rule == "gc-share" && run.sum.Capacity > 0 {
			out.WhatIf = run.whatIf()
		}
	}
	out.Charts = run.charts()
	rows := q.Limit
	if rows == 0 {
		rows = gcRows
	}
	shown := run.cycles
	if rows > 0 && rows < len(shown) {
		shown = shown[len(shown)-rows:]
	}
	out.Shown = len(shown)
	out.Cycles = make([]report.GCCycle, 0, len(shown))
	for _, c := range shown {
		out.Cycles = append(out.Cycles, report.CycleOf(c))
	}
	for _, s := range log.Skipped {
		out.Skipped = append(out.Skipped, report.GCSkipped{What: s.What, Lines: s.Lines, First: s.First})
	}
	if log.Dropped > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("only the first %d cycles were kept; %d more are left out", gclog.MaxCycles, log.Dropped))
	}
	if c := log.Recorder; c != nil && c.Process == process && q.At.Holds(c.Start) {
		out.Notes = append(out.Notes, fmt.Sprintf("cycle %d, at the end, is left out: the recorder had the garbage collected, which took %s, to see what is live", c.N, unit.Time(c.Wall())))
	}
	if cpu, ok := run.timeline(); ok && run.sum.Capacity > 0 && float64(cpu) < 0.9*float64(run.sum.CPU) {
		out.Notes = append(out.Notes, fmt.Sprintf("the timeline shows %s of CPU time for the collector: it leaves out the time in which threads waited for a core, or goroutines ran on until they stopped for a pause", unit.Time(cpu)))
	}
	if !run.timed {
		out.Notes = append(out.Notes, "these lines do not say when a cycle began: rates and shares are unknown")
	}
	if !run.live {
		out.Notes = append(out.Notes, "in Go 1.3 and 1.4 sweeping follows the cycle: the live heap is unknown")
	}
	return out, nil
}

// ErrNoCycles says that a log has no line about a cycle.
var ErrNoCycles = errors.New("there are no garbage collection lines")

// chosenProcess returns the process that a question is about: the one that has the number n, or the one with the most
// cycles.
func chosenProcess(log *gclog.Log, n int) (int, error) {
	if n > len(log.Processes) {
		return 0, fmt.Errorf("there is no process %d; the log has %d", n, len(log.Processes))
	}
	if n > 0 {
		return n - 1, nil
	}
	best := 0
	for i := range log.Processes {
		if log.Processes[i].Cycles > log.Processes[best].Cycles {
			best = i
		}
	}
	return best, nil
}

// A gcRun is the cycles of a query.
type gcRun struct {
	all    []*gclog.Cycle // of the process
	cycles []*gclog.Cycle // those that it is about
	at     query.Span
	timed  bool // all cycles have a start time
	live   bool // all cycles have the live heap
	from   time.Duration
	last   time.Duration     // end of the last cycle, or of the queried time
	to     time.Duration     // the same, or later, where metrics say that the program ran on
	series *recording.Series // metrics of that run; nil if there are none
	sum    report.GCSummary

	missing *report.GCMissing // cycles that the log lacks; nil when it has all
	unlike  bool              // the share of the CPU that the runtime counted differs from the sum of the lines
	ending  *gclog.Ending     // of the program; nil when the log does not say
	lines   int               // of the log
}

// within keeps the cycles of the queried time.
func (r *gcRun) within() error {
	r.cycles = r.all
	r.timed, r.live = true, true
	for _, c := range r.all {
		r.timed = r.timed && c.Format.Timed()
		r.live = r.live && c.Format.Live()
	}
	if !r.timed {
		if r.at != (query.Span{}) {
			return errors.New("cannot select a time: lines of Go 1.4 and before do not say when a cycle began")
		}
		return nil
	}
	first, last := r.all[0], r.all[len(r.all)-1]
	if first.N > 1 {
		r.from = first.Start // the log does not go back to the start of the process
	}
	r.last = last.Start + last.Wall()
	r.to = r.last
	if r.at == (query.Span{}) {
		return nil
	}
	r.cycles = nil
	for _, c := range r.all {
		if r.at.Holds(c.Start) {
			r.cycles = append(r.cycles, c)
		}
	}
	if len(r.cycles) == 0 {
		return fmt.Errorf("no cycle began within %v; the first did at %s, the last at %s", r.at, unit.Time(first.Start), unit.Time(last.Start))
	}
	r.from = max(r.from, r.at.From)
	if r.at.To > 0 {
		r.last = min(r.last, r.at.To)
		r.to = r.last
	}
	return nil
}

// lasts takes from metrics how long the program ran: a log ends with its last cycle. It does not if the log lacks the last cycles.
func (r *gcRun) lasts(s *recording.Series) {
	if s == nil || len(s.Times) == 0 || !r.timed {
		return
	}
	i := len(s.Times) - 1
	if n, ok := s.At(metricCycles, i); ok && int(n) > r.all[len(r.all)-1].N {
		return
	}
	end := s.Times[i]
	if r.at.To > 0 {
		end = min(end, r.at.To)
	}
	r.series, r.to = s, max(r.to, end)
}

// counted returns by how much a metric that counts from the start of the program grew.
func (r *gcRun) counted(name string) (float64, bool) {
	if r.series == nil {
		return 0, false
	}
	from, ok := 0.0, true
	if r.from > 0 {
		from, ok = r.series.On(name, r.from)
	}
	to, known := r.series.On(name, r.to)
	return max(0, to-from), ok && known
}

// timeline returns the CPU time of the collector as Timeline counts it, where metrics say so.
func (r *gcRun) timeline() (time.Duration, bool) {
	cpu, ok := r.counted(recording.ProcessCPU)
	if _, known := r.counted(metricGC); !ok || !known {
		return 0, false
	}
	return time.Duration(nanos(collecting(cpu, func(name string) float64 {
		v, _ := r.counted(name)
		return v
	}))), true
}

func (r *gcRun) formats() string {
	var names []string
	for _, c := range r.cycles {
		if name := c.Format.String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

func (r *gcRun) summarize() {
	s := &r.sum
	s.Of = len(r.cycles)
	var stops []time.Duration
	for i, c := range r.cycles {
		switch c.Trigger {
		case gclog.ByProgram:
			s.ByProgram++
		case gclog.ByTime:
			s.ByTime++
		}
		stops = append(stops, c.Stops()...)
		s.Pause += int64(c.Pause())
		s.Peak = max(s.Peak, c.Before, c.End)
		s.MaxLive = max(s.MaxLive, c.Live)
		s.Live, s.Goal, s.Procs = c.Live, c.Goal, c.Procs
		if over := c.End - c.Goal; c.Format.Timed() && over > 0 {
			if overshoots(c) {
				s.Over++
			}
			if s.OverGoal == 0 || float64(over)/float64(c.Goal) > float64(s.MostOver)/float64(s.OverGoal) {
				s.MostOver, s.OverGoal = over, c.Goal
			}
		}
		if i > 0 && r.live {
			if before := r.cycles[i-1]; before.N == c.N-1 {
				s.Allocated += max(0, c.End-before.Live)
			}
		} else if c.N == 1 && r.timed {
			s.Allocated += c.End
		}
	}
	slices.Sort(stops)
	s.Stops = len(stops)
	s.PauseP50, s.PauseP99 = int64(quantile(stops, 50)), int64(quantile(stops, 99))
	s.PauseMax = int64(stops[len(stops)-1])
	if !r.timed {
		s.Allocated = r.allocatedBefore15()
		return
	}
	s.From, s.Wall = int64(r.from), int64(max(0, r.to-r.from))
	r.cost()
	if all, ok := r.counted(metricAllocs); ok && r.missing == nil && s.Wall > 0 {
		s.Allocated, s.Alloc = int64(all), int64(all/time.Duration(s.Wall).Seconds())
	}
}

// allocatedBefore15 returns what was allocated between cycles of Go 1.0 to 1.2. Those stop the world, so nothing is
// allocated during a cycle.
func (r *gcRun) allocatedBefore15() int64 {
	sum := int64(0)
	for i, c := range r.cycles {
		if i > 0 && r.live && r.cycles[i-1].N == c.N-1 {
			sum += max(0, c.Before-r.cycles[i-1].Live)
		}
	}
	return sum
}

// nextGoal returns the goal that the end of the last cycle set, as it was measured after that, or 0 where it was not. The log has it only
// with the next cycle.
func (r *gcRun) nextGoal(s *recording.Series) int64 {
	if s == nil || !r.timed {
		return 0
	}
	last := r.cycles[len(r.cycles)-1]
	goal := int64(0)
	for i, t := range s.Times {
		if v, ok := s.At(metricGoal, i); ok && t > last.Start+last.Wall() && r.at.Holds(t) {
			goal = int64(v)
		}
	}
	return goal
}

// overshoots reports whether a cycle ended more than a tenth above its goal. Sizes are whole megabytes.
func overshoots(c *gclog.Cycle) bool {
	const megabyte = 1 << 20
	return c.End > c.Goal+c.Goal/10+megabyte
}

// quantile returns the smallest of sorted values that is not below p percent of them.
func quantile[T any](sorted []T, p int) T {
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

// A gcWindow is a part of the time, and the CPU time of the collector in it.
type gcWindow struct {
	from, to      time.Duration
	cpu, capacity time.Duration
	cycles        int
	lost          time.Duration // of which the log has no cycles
}

// known reports whether the log covers enough of the window for a share.
func (w *gcWindow) known() bool { return w.lost <= (w.to-w.from)/2 }

// windows cuts the time into n parts of the same length. A cycle that goes on from one to the next is shared.
func (r *gcRun) windows(n int) []gcWindow {
	if !r.timed || r.to <= r.from || n < 1 {
		return nil
	}
	out := make([]gcWindow, n)
	length := (r.to - r.from) / time.Duration(n)
	if length <= 0 {
		return nil
	}
	for i := range out {
		out[i].from = r.from + time.Duration(i)*length
		out[i].to = out[i].from + length
	}
	for i, c := range r.cycles {
		begin, end := c.Start, max(c.Start+c.Wall(), c.Start+1)
		if r.gapBefore(i) {
			lose(out, r.lastEnd(i), end)
			continue
		}
		i := min(max(int((begin-r.from)/length), 0), n-1)
		out[i].cycles++
		for ; i < n && out[i].from < end; i++ {
			part := min(end, out[i].to) - max(begin, out[i].from)
			if i == n-1 {
				part = end - max(begin, out[i].from)
			}
			out[i].cpu += time.Duration(float64(c.CPU.Total()) * float64(max(part, 0)) / float64(end-begin))
		}
	}
	for i := range out {
		out[i].capacity = (length - out[i].lost) * time.Duration(max(r.sum.Procs, 1))
	}
	return out
}

// charts are the pictures: the heap, how long cycles stopped the world, and the share of the collector.
func (r *gcRun) charts() []report.Chart {
	x := func(c *gclog.Cycle, after time.Duration) int64 {
		if r.timed {
			return int64(c.Start + after)
		}
		return int64(c.N)
	}
	var heap, live, goal, stopped, end []report.Point
	longest := int64(0)
	for i, c := range r.cycles {
		begin, over := x(c, 0), x(c, c.Wall())
		if i > 0 {
			begin = max(begin, heap[len(heap)-1].X) // the log rounds times
		}
		over = max(over, begin)
		heap = append(heap, report.Point{X: begin, Y: c.Before})
		if r.timed {
			heap = append(heap, report.Point{X: over, Y: c.End})
		} else {
			end = append(end, report.Point{X: over, Y: c.End})
		}
		if r.live {
			heap = append(heap, report.Point{X: over, Y: c.Live})
			if n := len(live); n > 0 {
				live = append(live, report.Point{X: over, Y: live[n-1].Y})
			}
			live = append(live, report.Point{X: over, Y: c.Live})
		}
		if r.timed {
			since := begin // a goal is set when the cycle before ends
			if n := len(goal); n > 0 {
				since = goal[n-1].X
			}
			goal = append(goal, report.Point{X: since, Y: c.Goal}, report.Point{X: over, Y: c.Goal})
		}
		stopped = append(stopped, report.Point{X: begin, Y: int64(c.Pause())})
		longest = max(longest, int64(c.Pause()))
	}
	axis := &report.Measure{}
	count := "cycle"
	if r.timed {
		axis = &report.Measure{Unit: "nanoseconds", Total: int64(r.to)}
		count = ""
	}
	size := &report.Measure{Unit: "bytes", Total: max(r.sum.Peak, r.sum.Goal)}
	first := report.Chart{Title: "heap", X: axis, Count: count, From: int64(r.from), To: int64(r.to), Y: size, Series: []report.Series{{Name: "in use", Draw: report.Area, Points: heap}}}
	if r.live {
		first.Series = append(first.Series, report.Series{Name: "live", Draw: report.Area, Points: live})
	} else {
		first.Series = append(first.Series, report.Series{Name: "after", Draw: report.Line, Points: end})
	}
	if r.timed {
		first.Series = append(first.Series, report.Series{Name: "goal", Draw: report.Line, Points: goal})
	}
	out := []report.Chart{first, {
		Title: "world stopped", X: axis, Count: count, From: int64(r.from), To: int64(r.to), Y: &report.Measure{Unit: "nanoseconds", Total: longest},
		Series: []report.Series{{Name: "by each cycle", Draw: report.Bars, Points: stopped}},
	}}
	if windows := r.windows(r.fineWindows()); len(windows) > 1 && r.sum.Capacity > 0 {
		var share []report.Point
		const whole = 1_000_000
		for _, w := range windows {
			if !w.known() {
				continue
			}
			y := int64(float64(w.cpu) / float64(w.capacity) * whole)
			share = append(share, report.Point{X: int64(w.from), Y: y}, report.Point{X: int64(w.to), Y: y})
		}
		out = append(out, report.Chart{
			Title: "CPU of the collector", X: axis, From: int64(r.from), To: int64(r.to), Whole: whole,
			Series: []report.Series{{Name: "share of all cores", Draw: report.Area, Points: share}},
		})
	}
	return out
}

// fineWindows is the number of windows: enough to see a change, and few enough that most windows have cycles.
func (r *gcRun) fineWindows() int { return min(max(len(r.cycles)/3, 1), 60) }
