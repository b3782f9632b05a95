package runview

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// A MomentError means that a query names a moment where it needs a range of time.
type MomentError struct{ At query.Span }

func (e *MomentError) Error() string {
	const around = time.Second
	part := query.Span{From: max(0, e.At.From-around), To: e.At.To + around}
	return fmt.Sprintf("%s is a moment; want a part of the time, such as %s", e.At, part)
}

// Timeline shows cores, memory and goroutines over a run.
func Timeline(in []*recording.Recording, q query.Query) (report.Report, error) {
	if q.At.Moment() {
		return nil, &MomentError{q.At}
	}
	s, err := seriesOf(in)
	if err != nil {
		return nil, err
	}
	out := &report.Timeline{Ref: in[0].Ref, End: s.Times[len(s.Times)-1], Notes: s.Notes}
	cpus := 0
	if m := in[0].Manifest; m != nil {
		if m.Program != nil {
			cpus = m.Program.MaxProcs
		}
		if m.Machine != nil {
			cpus = cmp.Or(cpus, m.Machine.CPUs)
			out.Quota = m.Machine.Quota()
		}
	}
	out.CPUs = cpus
	out.NoCPU = s.Values(recording.ProcessCPU) == nil
	out.NoGC = s.Values(metricGC) == nil
	shown, between := measured(s.Times, q.At)
	switch {
	case q.At.From > out.End:
		return nil, fmt.Errorf("%s: there are no metrics in %s; the recording ends after %s", in[0].Ref, q.At, unit.Time(out.End))
	case between:
		out.Notes = append(slices.Clone(s.Notes), fmt.Sprintf("nothing was measured in %s; the lines are of the times before and after", q.At))
	}
	for i := shown[0]; i < shown[1]; i++ {
		t, before := s.Times[i], i-1
		p := report.TimePoint{At: t}
		whole := func(name string) int64 {
			v, _ := s.At(name, i)
			return int64(v)
		}
		p.RSS, p.Heap, p.Goal = whole(recording.ProcessRSS), whole(metricObjects), whole(metricGoal)
		p.Goroutines, p.Threads = cmp.Or(whole(recording.NumGoroutine), whole(metricGoroutines)), whole(recording.ProcessThreads)
		p.Live, p.Alloc = whole(recording.HeapLive), rate(s, metricAllocs, before, i)
		p.CPU = rate(s, recording.ProcessCPU, before, i)
		p.Periods, p.Throttled = gained(s, recording.GroupPeriods, before, i), gained(s, recording.GroupThrottled, before, i)
		spent := func(name string) float64 { return rate(s, name, before, i) }
		p.GC = collecting(p.CPU, spent)
		if out.NoCPU {
			p.GC = max(0, spent(metricGC)-spent(metricIdleGC))
		}
		out.Points = append(out.Points, p)
	}
	if m := in[0].Manifest; m != nil {
		for _, e := range m.Events {
			if q.At == (query.Span{}) || q.At.Holds(e.At) {
				out.Events = append(out.Events, report.NewTimeEvent(e))
			}
		}
	}
	out.Next = afterTrouble(in[0], out.Events)
	out.Charts = timeCharts(out.Points, cpus, !out.NoCPU, !out.NoGC)
	if c := memChart(s); len(c.Series) > 0 && q.At == (query.Span{}) {
		out.Charts = append(out.Charts[:min(1, len(out.Charts))], append([]report.Chart{c}, out.Charts[min(1, len(out.Charts)):]...)...)
	}
	for i := range out.Charts {
		markEvents(&out.Charts[i], out.Events)
	}
	return out, nil
}

// late is how long after its time a recorder may measure: a measurement so shortly after a range is that of its end.
const late = 100 * time.Millisecond

// measured returns which of the times lie in a range, as the first one and the one after the last; if none does, those around it, and true.
func measured(times []time.Duration, at query.Span) (shown [2]int, between bool) {
	from, _ := slices.BinarySearch(times, at.From)
	to := len(times)
	if at.To != 0 {
		to, _ = slices.BinarySearch(times, at.To+1) // the measurement at its end ends its last interval
	}
	if from < to {
		if at.To != 0 && to < len(times) && times[to]-at.To < late {
			to++
		}
		return [2]int{from, to}, false
	}
	return [2]int{max(0, from-1), min(len(times), to+1)}, true
}

// markEvents marks events in charts.
func markEvents(c *report.Chart, events []report.TimeEvent) {
	top := c.Whole
	if c.Y != nil {
		top = c.Y.Total
	}
	marks := report.Series{Name: "trouble", Draw: report.Bars}
	for _, e := range events {
		marks.Points = append(marks.Points, report.Point{X: int64(e.At), Y: top})
	}
	if len(marks.Points) > 0 && top > 0 {
		c.Series = append(c.Series, marks)
	}
}

// afterTrouble returns commands about the first event.
func afterTrouble(rec *recording.Recording, events []report.TimeEvent) []hint.Command {
	if len(events) == 0 {
		return nil
	}
	var out []hint.Command
	e := events[0]
	from := max(0, e.At-10*time.Second)
	if len(rec.Parts[recording.CPU]) > 0 {
		out = append(out, hint.Ask("top", rec.Ref).With("at", seconds(from)+".."+seconds(e.At)).For("what ran before the first event"))
	}
	at := rec.Ref + "@" + seconds(firstAfter(rec.Parts[recording.Heap], e.At))
	if len(rec.Parts[recording.Heap]) > 0 {
		out = append(out, hint.Ask("top", at).With("metric", "inuse_space").For("what was live at that time"))
	}
	if len(rec.Parts[recording.Goroutine]) > 0 {
		out = append(out, hint.Ask("goroutines", rec.Ref+"@"+seconds(firstAfter(rec.Parts[recording.Goroutine], e.At))).For("what its goroutines were doing"))
	}
	return out
}

// firstAfter returns the time of the first profile at or after a time: the one that was taken because of the event.
func firstAfter(parts []recording.Part, at time.Duration) time.Duration {
	for _, p := range parts {
		if p.To >= at.Truncate(time.Millisecond) {
			return p.To
		}
	}
	return at
}

// seconds formats a time for a command line.
func seconds(d time.Duration) string { return d.Round(time.Millisecond).String() }

// rate returns the growth of a metric per second between two times, or 0 if it is unknown.
func rate(s *recording.Series, name string, from, to int) float64 {
	a, okA := s.At(name, from)
	b, okB := s.At(name, to)
	if !okA || !okB || s.Times[to] == s.Times[from] {
		return 0
	}
	return max(0, (b-a)/(s.Times[to]-s.Times[from]).Seconds())
}

// gained returns by how much a count grew between two times.
func gained(s *recording.Series, name string, from, to int) int64 {
	a, okA := s.At(name, from)
	b, okB := s.At(name, to)
	if !okA || !okB {
		return 0
	}
	return int64(max(0, b-a))
}

// collecting returns how much of cpu, the CPU time of the process, the garbage collector used, without idle-priority marking. The runtime counts
// the time on a P, including the time that a thread waits for a core; on a busy machine, this is a multiple of the CPU time. So collecting uses
// only the share of the collector in the count of the runtime.
func collecting(cpu float64, counted func(metric string) float64) float64 {
	idle := counted(metricIdleGC)
	gc := max(0, counted(metricGC)-idle)
	if spent := counted(metricCPU) - counted(metricIdle) - idle; spent > 0 {
		gc *= cpu / spent
	}
	return min(gc, cpu)
}

// timeCharts shows goroutines over time, and cores, where it is known how many were busy, and collected garbage.
func timeCharts(points []report.TimePoint, cpus int, known, knownGC bool) []report.Chart {
	if len(points) == 0 {
		return nil
	}
	axis := &report.Measure{Unit: "nanoseconds", Total: int64(points[len(points)-1].At)}
	chart := func(title string) report.Chart {
		return report.Chart{Title: title, X: axis, From: int64(points[0].At), To: axis.Total}
	}
	const milli = 1000 // of a core
	busy := chart("cores")
	busy.Whole = int64(max(1, cpus)) * milli
	var all, gc, goroutines []report.Point
	var most int64
	for i, p := range points {
		if i > 0 {
			// A rate is that of the time before.
			all = append(all, report.Point{X: int64(points[i-1].At), Y: int64(p.CPU * milli)}, report.Point{X: int64(p.At), Y: int64(p.CPU * milli)})
			gc = append(gc, report.Point{X: int64(points[i-1].At), Y: int64(p.GC * milli)}, report.Point{X: int64(p.At), Y: int64(p.GC * milli)})
		}
		goroutines = append(goroutines, report.Point{X: int64(p.At), Y: p.Goroutines})
		most = max(most, p.Goroutines)
	}
	busy.Series = []report.Series{{Name: "busy", Draw: report.Area, Points: all}}
	if knownGC {
		busy.Series = append(busy.Series, report.Series{Name: "collecting garbage", Draw: report.Line, Points: gc})
	}
	var out []report.Chart
	if known {
		out = append(out, busy)
	}
	if most > 0 {
		c := chart("goroutines")
		c.Y = &report.Measure{Unit: "goroutines", Total: most}
		c.Series = []report.Series{{Name: "goroutines", Draw: report.Line, Points: goroutines}}
		out = append(out, c)
	}
	return out
}
