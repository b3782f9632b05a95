package traceview

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
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

// atTrace has a view answer for the execution trace of the time that a question is about, where a recording has several.
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

// windowOf is the time of a trace that a question is about. A moment only says of which trace it is.
func windowOf(q query.Query) waits.Window {
	if q.At.Moment() {
		return waits.Window{}
	}
	return waits.Window{From: int64(q.At.From), To: int64(q.At.To)}
}

// TraceOf opens the execution trace that a question is about.
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
		Ref: in[0].Ref, At: q.At.String(), Go: fmt.Sprintf("Go 1.%d", t.Version), From: s.Begin, Length: s.End - s.Begin, Events: s.Events, Procs: s.Procs, Born: s.Born, Left: s.Left,
		Capacity: s.Capacity, Busy: s.Busy, GoCode: s.Go, Collector: s.Collector, IdleReady: s.IdleReady,
		Tracer: s.Tracer, Runtime: s.Runtime, OnCPU: onCPU(in[0], t, s), Running: s.Running, Ready: s.Ready, Syscall: s.Syscall, Blocked: s.Blocked, Idle: s.Idle,
		Latency: latenciesOf(s.Latency), Cycles: s.Cycles, Marking: s.Marking, Assist: spanOf(s.Assist),
		Silence: spanOf(s.Silence), AssistRunning: s.AssistRunning, AssistReady: s.AssistReady, AssistWaiting: s.AssistWaiting,
		Traces: report.NewTraceTimes(in[0].Traces()), Notes: waits.DamageNotes(t),
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

// stoppedOf adds up what goroutines lost while the world was stopped, by what for, their kind, and the handler of what they answered.
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
		byGoroutine[s.Goroutine] = of // both are in the order of time
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

// cpuAt is how many seconds of CPU time a process had had by some time. Between two measurements it is as if it had used as much all the time.
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

// Waits shows where goroutines waited for something else than work.
func Waits(in []*recording.Recording, q query.Query) (report.Report, error) {
	t, w, err := TraceOf(in, q)
	if err != nil {
		return nil, err
	}
	list, all, length, err := waits.Places(t, w)
	if err != nil {
		return nil, err
	}
	out := &report.Waits{Ref: in[0].Ref, At: q.At.String(), Total: all.Total, Count: all.Count, Length: length, Of: len(list), Traces: report.NewTraceTimes(in[0].Traces()), Notes: waits.DamageNotes(t)}
	for _, p := range rows(list, q.Limit) {
		out.Places = append(out.Places, report.WaitPlace{
			Function: p.Frame.Func, File: p.Frame.File, Line: p.Frame.Line, Reason: p.Cause.String(),
			Total: p.Total, Count: p.Count, Longest: p.Longest, At: p.At, Open: p.Open,
		})
	}
	return out, nil
}

// Idle shows what Ps had nothing to run for.
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

// finders find work in a trace.
var finders = map[report.Work]func(*exectrace.Trace) (*requests.Found, error){
	report.RequestWork: requests.Find, report.TaskWork: requests.Tasks, report.RegionWork: requests.Regions,
}

// foundOf returns the requests, tasks or regions of a trace.
func foundOf(in []*recording.Recording, work report.Work) (*requests.Found, error) {
	t, err := recording.Execution.Read(in[0])
	if err != nil {
		return nil, err
	}
	if x, ok := recording.Kept[*indexed](t, indexName); ok && work == report.RequestWork {
		return x.found, nil
	}
	return recording.Once(t, string(work), finders[work])
}

// FoundIn returns the requests, tasks or regions of a trace that a time has a part of, and the length of that time.
func FoundIn(in []*recording.Recording, work report.Work, w waits.Window) ([]requests.Request, int64, error) {
	found, err := foundOf(in, work)
	if err != nil {
		return nil, 0, err
	}
	if w.From > found.End || w.To != 0 && w.To <= found.Begin {
		return nil, 0, &waits.OutsideError{Begin: found.Begin, End: found.End}
	}
	w.From = max(w.From, found.Begin)
	length := max(0, found.End-w.From)
	if w.To != 0 && w.To < found.End {
		length = max(0, w.To-w.From)
	}
	list := found.Requests
	if w.From > found.Begin || w.To != 0 {
		list = slices.DeleteFunc(slices.Clone(list), func(r requests.Request) bool { return r.To < w.From || w.To != 0 && r.From > w.To })
	}
	return list, length, nil
}

func LineOf(r *requests.Request) report.RequestLine {
	most := r.Most()
	return report.RequestLine{Number: r.Number, At: r.From, Took: r.Took(), Handler: r.Handler, Most: most.String(), Part: r.Split[most], Begun: r.Begun, Open: r.Open}
}

func took(list []requests.Request) []int64 {
	out := make([]int64, len(list))
	for i := range list {
		out[i] = list[i].Took()
	}
	return out
}

// quantiles sorts its list.
func quantiles(list []int64) report.Latencies {
	slices.Sort(list)
	return report.Latencies{Count: int64(len(list)), P50: percentile(list, 50), P90: percentile(list, 90), P99: percentile(list, 99), Max: list[len(list)-1]}
}

// percentile is the least of a sorted list that so many percent of it do not exceed.
func percentile(list []int64, percent int) int64 { return list[(len(list)*percent+99)/100-1] }

// Requests shows the requests of a trace by handler, and what the slow ones have more of.
func Requests(in []*recording.Recording, q query.Query) (report.Report, error) {
	return workIn(in, q, report.RequestWork)
}

// Tasks shows the tasks of a trace by name.
func Tasks(in []*recording.Recording, q query.Query) (report.Report, error) {
	return workIn(in, q, report.TaskWork)
}

// Regions shows the regions of a trace by name.
func Regions(in []*recording.Recording, q query.Query) (report.Report, error) {
	return workIn(in, q, report.RegionWork)
}

// noHandlerNote says why some requests have no handler.
const noHandlerNote = "some requests have no handler: a trace shows the handler only of a request that waited or made a system call in it, so rows of handlers miss requests that only compute. " +
	"In programs that hone builds and records, all requests have theirs"

func workIn(in []*recording.Recording, q query.Query, work report.Work) (report.Report, error) {
	if len(in) > 1 {
		return requestDiff(in, q, work)
	}
	t, w, err := TraceOf(in, q)
	if err != nil {
		return nil, err
	}
	list, length, err := FoundIn(in, work, w)
	if err != nil {
		return nil, err
	}
	found, err := foundOf(in, work)
	if err != nil {
		return nil, err
	}
	out := &report.Requests{Work: work, Ref: in[0].Ref, At: q.At.String(), Length: length, Of: len(list), Slowest: []report.RequestLine{}, Handlers: []report.HandlerRow{}, Traces: report.NewTraceTimes(in[0].Traces()), Notes: slices.Clone(found.Notes)}
	for what := range requests.Whats {
		out.Whats = append(out.Whats, what.String())
	}
	if len(list) == 0 {
		out.Notes = append(out.Notes, map[report.Work]string{
			report.RequestWork: "no requests were found; hone finds those of net/http, HTTP/2, gRPC and fasthttp servers",
			report.TaskWork:    "the trace has no tasks; programs create them with trace.NewTask (runtime/trace)",
			report.RegionWork:  "the trace has no regions; programs create them with trace.StartRegion or trace.WithRegion (runtime/trace)",
		}[work])
		return out, nil
	}
	type sums struct {
		report.HandlerRow
		took, whole []int64
	}
	by := map[string]*sums{}
	for i := range list {
		r := &list[i]
		sum := by[r.Handler]
		if sum == nil {
			sum = &sums{HandlerRow: report.HandlerRow{Handler: r.Handler, Split: make([]int64, requests.Whats)}}
			by[r.Handler] = sum
		}
		took := r.Took()
		sum.Total += took
		for what, v := range r.Split {
			sum.Split[what] += v
		}
		if sum.took = append(sum.took, took); !r.Begun && !r.Open {
			sum.whole = append(sum.whole, took)
		}
	}
	if of := by[""]; of != nil && work == report.RequestWork {
		out.Unnamed = len(of.took)
	}
	for _, sum := range by {
		sum.Unfinished = len(sum.took) - len(sum.whole)
		out.Unfinished += sum.Unfinished
		if len(sum.whole) == 0 {
			sum.whole = sum.took // better than nothing
		}
		sum.Latencies = quantiles(sum.whole)
		out.Handlers = append(out.Handlers, sum.HandlerRow)
	}
	order.Stable(out.Handlers, func(a, b report.HandlerRow) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Handler, b.Handler))
	})
	if out.Unnamed > 0 {
		out.Notes = append(out.Notes, noHandlerNote)
	}
	if slow, middle, of := requests.Compared(list); slow != nil {
		paths, err := pathsOf(in, t, slices.Concat(slow, middle))
		if err != nil {
			return nil, err
		}
		if tail := requests.TailOf(paths[:len(slow)], paths[len(slow):]); tail != nil {
			out.Tail = tailOf(tail, q.Limit)
			out.Tail.Of = of
		}
	}
	const few = 10
	limit := q.Limit
	if limit == 0 {
		limit = few
	}
	slowest := make([]*requests.Request, len(list))
	for i := range list {
		slowest[i] = &list[i]
	}
	for _, r := range order.First(slowest, limit, func(a, b *requests.Request) int {
		return cmp.Or(cmp.Compare(b.Took(), a.Took()), cmp.Compare(a.Number, b.Number))
	}) {
		out.Slowest = append(out.Slowest, LineOf(r))
	}
	return out, nil
}

// pathsOf returns the critical paths of requests. Where somebody looked at a picture of the trace, its index is there, and the rest need not be read.
func pathsOf(in []*recording.Recording, t *exectrace.Trace, list []requests.Request) (paths [][]requests.Segment, err error) {
	of, err := recording.Execution.Read(in[0])
	if err != nil {
		return nil, err
	}
	x, ok := recording.Kept[*indexed](of, indexName)
	if !ok {
		return requests.Paths(t, nil, list)
	}
	err = x.index.Read(func(t *exectrace.Trace, _ *waits.Names) error {
		paths, err = requests.Paths(t, x.index.Index, list)
		return err
	})
	return paths, err
}

func tailOf(t *requests.Tail, limit int) *report.RequestTail {
	out := &report.RequestTail{Slow: t.Slow, Middle: t.Middle, SlowTook: t.SlowTook, MiddleTook: t.MiddleTook}
	for _, c := range t.Causes {
		// What is the same in both is no reason.
		if d := max(c.Slow-c.Middle, c.Middle-c.Slow); limit >= 0 && d*100 < max(t.SlowTook-t.MiddleTook, 1) {
			continue
		}
		out.Causes = append(out.Causes, report.TailCauseOf{What: c.What.String(), Kind: c.Kind, Slow: c.Slow, Middle: c.Middle})
	}
	return out
}

// A NoRequestError says that a trace has no request of that number.
type NoRequestError struct {
	Work report.Work
	Arg  string
	Of   int

	Damaged bool // a part of the trace could not be read
}

func (e *NoRequestError) Error() string {
	if e.Of == 0 && e.Damaged {
		return fmt.Sprintf("no %ss were found in the part of the trace that can be read", e.Work)
	}
	if e.Of == 0 {
		return fmt.Sprintf("no %ss were found in the trace", e.Work)
	}
	return fmt.Sprintf("there is no %s %s; they are numbered from 1 to %d", e.Work, e.Arg, e.Of)
}

// Slowest is the argument of Request that asks for the slowest one.
const Slowest = "slowest"

// Request shows what the time of one request went into.
func Request(in []*recording.Recording, q query.Query) (report.Report, error) {
	return pathIn(in, q, report.RequestWork)
}

// Task shows what the time of one task went into.
func Task(in []*recording.Recording, q query.Query) (report.Report, error) {
	return pathIn(in, q, report.TaskWork)
}

// Region shows what the time of one region went into.
func Region(in []*recording.Recording, q query.Query) (report.Report, error) {
	return pathIn(in, q, report.RegionWork)
}

func pathIn(in []*recording.Recording, q query.Query, work report.Work) (report.Report, error) {
	t, w, err := TraceOf(in, q)
	if err != nil {
		return nil, err
	}
	list, _, err := FoundIn(in, work, w)
	if err != nil {
		return nil, err
	}
	found, err := foundOf(in, work)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, &NoRequestError{Work: work, Damaged: len(found.Notes) > 0}
	}
	var r *requests.Request
	if n, err := strconv.Atoi(q.Arg); err == nil {
		i := slices.IndexFunc(list, func(r requests.Request) bool { return r.Number == n })
		if i < 0 {
			return nil, &NoRequestError{Work: work, Arg: q.Arg, Of: list[len(list)-1].Number}
		}
		r = &list[i]
	} else if q.Arg == Slowest {
		r = &requests.TimesOf(list).Slowest
	} else {
		return nil, &NoRequestError{Work: work, Arg: q.Arg, Of: list[len(list)-1].Number}
	}
	paths, err := pathsOf(in, t, []requests.Request{*r})
	if err != nil {
		return nil, err
	}
	out := &report.RequestPath{
		Work: work, Ref: in[0].Ref, RequestLine: LineOf(r), Goroutine: r.Goroutine, Of: len(paths[0]), Segments: []report.PathSegment{}, Traces: report.NewTraceTimes(in[0].Traces()), Notes: found.Notes,
	}
	sums := map[int64]*report.RequestGoroutine{}
	for _, s := range paths[0] {
		g := sums[s.Goroutine]
		if g == nil {
			g = &report.RequestGoroutine{Goroutine: s.Goroutine, Kind: s.Kind, Own: s.Goroutine == r.Goroutine}
			sums[s.Goroutine] = g
		}
		g.Took += s.Took()
		out.Segments = append(out.Segments, report.PathSegment{
			At: s.From - r.From, Took: s.Took(), What: s.What.String(), Goroutine: s.Goroutine, Kind: s.Kind,
			Function: s.Place.Func, File: s.Place.File, Line: s.Place.Line, Depth: s.Depth,
		})
	}
	for _, g := range sums {
		out.Goroutines = append(out.Goroutines, *g)
	}
	order.Stable(out.Goroutines, func(a, b report.RequestGoroutine) int {
		return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(a.Goroutine, b.Goroutine))
	})
	const most = 40
	limit := cmp.Or(q.Limit, most)
	if limit > 0 && len(out.Segments) > limit {
		least := slices.Clone(out.Segments)
		order.Stable(least, func(a, b report.PathSegment) int { return cmp.Compare(b.Took, a.Took) })
		out.Segments = least[:limit]
		order.Stable(out.Segments, func(a, b report.PathSegment) int { return cmp.Compare(a.At, b.At) })
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

// Kinds shows the goroutines of a trace by what they are for.
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
