package traceview

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/requests"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/waits"
)

// executionRows is how many rows a table about an execution trace has when no limit is given.
const executionRows = 20

// atTrace runs a view with the execution trace of the queried time, if a recording has several traces.
func atTrace(run func([]*recording.Recording, query.Query) (report.Report, error)) func([]*recording.Recording, query.Query) (report.Report, error) {
	return func(in []*recording.Recording, q query.Query) (report.Report, error) {
		in, err := tracesAt(in, q)
		if err != nil {
			return nil, err
		}
		return run(in, q)
	}
}

func tracesAt(in []*recording.Recording, q query.Query) ([]*recording.Recording, error) {
	out := make([]*recording.Recording, len(in))
	for i, rec := range in {
		var err error
		switch out[i], err = rec.TraceAt(q.At.From, q.At.To); {
		case err != nil && len(in) > 1:
			return nil, fmt.Errorf("%s: %w", rec.Ref, err)
		case err != nil:
			return nil, err
		}
	}
	return out, nil
}

// windowOf returns the queried window of a trace. A moment only selects the trace.
func windowOf(q query.Query) waits.Window {
	if q.At.Moment() {
		return waits.Window{}
	}
	return waits.Window{From: int64(q.At.From), To: int64(q.At.To)}
}

// TraceOf opens the execution trace of a query.
func TraceOf(in []*recording.Recording, q query.Query) (*exectrace.Trace, waits.Window, error) {
	w := windowOf(q)
	if len(in) == 0 {
		return nil, w, errors.New("nothing to look at: name an execution trace")
	}
	t, err := recording.Execution.Read(in[0])
	switch {
	case err != nil:
		return nil, w, err
	case t == nil:
		return nil, w, fmt.Errorf("%s has no execution trace", in[0].Ref)
	}
	tr, err := t.Open()
	if err != nil {
		return nil, w, err
	}
	w.From = max(w.From, tr.Begin())
	return tr, w, nil
}

func rows[T any](list []T, limit int) []T {
	if limit == 0 {
		limit = executionRows
	}
	if limit > 0 && limit < len(list) {
		return list[:limit]
	}
	return list
}

// firstRows returns the first rows of a list, and how many it has where these are not all.
func firstRows[T any](list []T, limit int) (first []T, of int) {
	if first = rows(list, limit); len(first) < len(list) {
		of = len(list)
	}
	return first, of
}

// Execution is an overview of an execution trace.
func Execution(in []*recording.Recording, q query.Query) (report.Report, error) {
	t, w, err := TraceOf(in, q)
	if err != nil {
		return nil, err
	}
	var finder *requests.Finder
	var also *waits.Walk
	if windowOf(q) == (waits.Window{}) {
		finder = requests.NewFinder(t)
		finder.OnlyTimes()
		also = finder.Walk()
	}
	s, err := waits.Summarize(t, w, also)
	if err != nil {
		return nil, err
	}
	var times *requests.Times
	if finder != nil {
		times = finder.Times()
	} else {
		found, _, err := FoundIn(in, report.RequestWork, w)
		if err != nil {
			return nil, err
		}
		times = requests.TimesOf(found)
	}
	out := &report.Execution{
		Ref: in[0].Ref, Live: in[0].Live, At: q.At.String(), Go: fmt.Sprintf("Go 1.%d", t.Version), From: s.Begin, Length: s.End - s.Begin, Events: s.Events, Procs: s.Procs, Born: s.Born, Left: s.Left,
		Capacity: s.Capacity, Busy: s.Busy, GoCode: s.Go, Collector: s.Collector, IdleReady: s.IdleReady,
		Tracer: s.Tracer, Runtime: s.Runtime, OnCPU: onCPU(in[0], t, s), Running: s.Running, Ready: s.Ready, Syscall: s.Syscall, Blocked: s.Blocked, Idle: s.Idle,
		Latency: latenciesOf(s.Latency), Cycles: s.Cycles, Marking: s.Marking, Assist: spanOf(s.Assist),
		Silence: spanOf(s.Silence), AssistRunning: s.AssistRunning, AssistReady: s.AssistReady, AssistWaiting: s.AssistWaiting,
		Traces: report.NewTraceTimes(in[0].Traces(), q.At), Notes: waits.DamageNotes(t),
	}
	if wall := t.Wall(); wall != 0 {
		out.Started = time.Unix(0, wall+t.Begin()).UTC()
	}
	for _, c := range s.Causes {
		out.Causes = append(out.Causes, spanOf(c.RangeSum))
	}
	for _, u := range s.Mutator {
		out.Mutator = append(out.Mutator, report.MutatorUse(u))
	}
	for _, r := range s.Stops {
		out.Stops = append(out.Stops, spanOf(r))
	}
	out.Stopped, out.StoppedOf = stoppedOf(s.Stopped, times.List)
	if times.Count > 0 {
		out.Requests = times.Count
		out.Request = quantiles(times.Took)
		slowest := LineOf(&times.Slowest)
		out.Slowest = &slowest
	}
	return out, nil
}

// stoppedOf sums up the time that goroutines lost to stop-the-world pauses, by reason, kind of goroutine, and handler.
func stoppedOf(list []waits.Stopped, found []requests.Brief) (sums []report.StoppedRow, of int) {
	const most = 10
	byGoroutine := map[int64][]*requests.Brief{}
	if len(list) > 0 {
		for i := range found {
			byGoroutine[found[i].Goroutine] = append(byGoroutine[found[i].Goroutine], &found[i])
		}
	}
	type key struct{ why, kind, handler string }
	at := map[key]int{}
	for _, s := range list {
		k := key{s.Why, s.Kind, ""}
		of := byGoroutine[s.Goroutine]
		for len(of) > 0 && of[0].To <= s.From {
			of = of[1:]
		}
		if len(of) > 0 && of[0].From <= s.From {
			k.handler = of[0].Handler
		}
		byGoroutine[s.Goroutine] = of // both are in time order
		i, ok := at[k]
		if !ok {
			i = len(sums)
			at[k] = i
			sums = append(sums, report.StoppedRow{Kind: s.Kind, Handler: k.handler, Lost: report.ExecutionSpan{Name: s.Why}})
		}
		lost := &sums[i].Lost
		lost.Count++
		lost.Total += s.To - s.From
		if d := s.To - s.From; d > lost.Longest || lost.Count == 1 {
			lost.Longest, lost.At = d, s.From
		}
	}
	order.Stable(sums, func(a, b report.StoppedRow) int { return cmp.Compare(b.Lost.Total, a.Lost.Total) })
	return sums[:min(len(sums), most)], len(sums)
}

// onCPU is the CPU time of the process while a trace was recorded, 0 where it is not known: as its recording measured it, or by the samples of a
// CPU profile that are in the trace, of which there are a hundred for a second.
func onCPU(rec *recording.Recording, t *exectrace.Trace, s *waits.Summary) int64 {
	const (
		manySamples  = 100
		samplePeriod = 10 * time.Millisecond
	)
	if m := recording.Metrics.In(rec); m != nil && (recording.WholeTrace(rec) || t.Begin() > 0) {
		from, ok := cpuAt(m, time.Duration(s.Begin))
		to, ok2 := cpuAt(m, time.Duration(s.End))
		if ok && ok2 && to > from {
			return int64((to - from) * 1e9)
		}
	}
	if s.Samples >= manySamples {
		return s.Samples * int64(samplePeriod)
	}
	return 0
}

// cpuAt returns the CPU time in seconds that a process had used at a time. It interpolates between measurements.
func cpuAt(m *recording.Series, at time.Duration) (float64, bool) {
	var t0 time.Duration
	var v0 float64
	for i, t := range m.Times {
		v, ok := m.At(recording.ProcessCPU, i)
		if !ok {
			continue
		}
		if t >= at {
			if t == t0 {
				return v, true
			}
			return v0 + (v-v0)*float64(at-t0)/float64(t-t0), true
		}
		t0, v0 = t, v
	}
	// The last measurement is when the program ends.
	return v0, t0 > 0 && at-t0 < max(t0/10, 100*time.Millisecond)
}

func latenciesOf(l waits.Latency) report.Latencies {
	return report.Latencies{Count: l.Count, P50: l.P50, P90: l.P90, P99: l.P99, Max: l.Max}
}

func spanOf(r waits.RangeSum) report.ExecutionSpan {
	return report.ExecutionSpan{Name: r.Name, Count: r.Count, Total: r.Total, Longest: r.Longest, At: r.At}
}

// Waits shows where goroutines waited, except for work.
func Waits(in []*recording.Recording, q query.Query) (report.Report, error) {
	t, w, err := TraceOf(in, q)
	if err != nil {
		return nil, err
	}
	list, all, length, err := waits.Places(t, w)
	if err != nil {
		return nil, err
	}
	out := &report.Waits{Ref: in[0].Ref, Live: in[0].Live, At: q.At.String(), Total: all.Total, Count: all.Count, Length: length, Of: len(list), Traces: report.NewTraceTimes(in[0].Traces(), q.At), Notes: waits.DamageNotes(t)}
	for _, p := range rows(list, q.Limit) {
		out.Places = append(out.Places, report.WaitPlace{
			Function: p.Frame.Func, File: p.Frame.File, Line: p.Frame.Line, Reason: p.Cause.String(),
			Total: p.Total, Count: p.Count, Longest: p.Longest, At: p.At, Open: p.Open,
		})
	}
	return out, nil
}

// Idle shows why Ps were idle.
func Idle(in []*recording.Recording, q query.Query) (report.Report, error) {
	t, w, err := TraceOf(in, q)
	if err != nil {
		return nil, err
	}
	x, err := waits.IdleTimes(t, w)
	if err != nil {
		return nil, err
	}
	out := &report.Idle{
		Ref: in[0].Ref, At: q.At.String(), Length: x.Length, Capacity: x.Capacity, Idle: x.Idle, Ready: x.Ready, All: x.All, Of: len(x.Sums),
		Rows: []report.IdleRow{}, Notes: waits.DamageNotes(t),
	}
	for _, s := range rows(x.Sums, q.Limit) {
		out.Rows = append(out.Rows, report.IdleRow{
			For: s.Name, Function: s.Frame.Func, File: s.Frame.File, Line: s.Frame.Line, Kind: s.Kind, Times: s.Count, Total: s.Total, Longest: s.Longest, At: s.At,
		})
	}
	return out, nil
}

// Blame shows who ended the waits at functions that match.
func Blame(in []*recording.Recording, q query.Query) (report.Report, error) {
	t, w, err := TraceOf(in, q)
	if err != nil {
		return nil, err
	}
	rx, err := regexp.Compile(q.Arg)
	if err != nil {
		return nil, err
	}
	list, all, err := waits.Wakers(t, w, rx.MatchString)
	if err != nil {
		return nil, err
	}
	if all.Count == 0 {
		return nil, &view.NoMatch{Arg: q.Arg}
	}
	out := &report.Blame{Ref: in[0].Ref, Arg: q.Arg, Total: all.Total, Count: all.Count, Of: len(list), Notes: waits.DamageNotes(t)}
	for _, x := range rows(list, q.Limit) {
		out.Rows = append(out.Rows, report.BlameRow{
			Waker: x.Name, File: x.Frame.File, Line: x.Frame.Line, Kind: x.Kind, Waits: x.Count, Total: x.Total, Longest: x.Longest, At: x.At,
		})
	}
	return out, nil
}

// Kinds shows the goroutines of a trace by purpose.
func Kinds(in []*recording.Recording, q query.Query) (report.Report, error) {
	t, w, err := TraceOf(in, q)
	if err != nil {
		return nil, err
	}
	list, length, err := waits.Kinds(t, w)
	if err != nil {
		return nil, err
	}
	out := &report.Kinds{Ref: in[0].Ref, Length: length, Of: len(list), Notes: waits.DamageNotes(t)}
	for _, k := range list {
		out.Goroutines += k.Count
	}
	for _, k := range rows(list, q.Limit) {
		row := report.KindRow{
			Kind: k.Kind, Created: k.Created.Func, File: k.Created.File, Line: k.Created.Line, Count: k.Count, Born: k.Born, Ended: k.Ended, Life: latenciesOf(k.Life),
			Running: k.Running, Ready: k.Ready, Syscall: k.Syscall, Blocked: k.Blocked, Idle: k.Idle,
		}
		if k.Since > 0 {
			row.Waiting, row.Since = k.Waiting.String(), k.Since
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}
