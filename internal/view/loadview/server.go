package loadview

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/requests"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/view/traceview"
	"github.com/hone-perf/hone/internal/waits"
)

// Names of runtime/metrics.
const (
	metricAllocBytes   = "/gc/heap/allocs:bytes"
	metricAllocObjects = "/gc/heap/allocs:objects"
	metricCycles       = "/gc/cycles/total:gc-cycles"
)

// A serverRun is the steady part of a load run, on the clock of the recording of the server.
type serverRun struct {
	rec      *recording.Recording
	series   *recording.Series // nil when there are none
	log      *latency.Log
	from, to time.Duration
	out      *report.LoadServer
	table    *costTable
}

// loadServer returns the cost of requests in the server, or nil if the server was not recorded.
func loadServer(rec *recording.Recording) *report.LoadServer {
	series, log := recording.Metrics.In(rec), recording.LoadRun.In(rec)
	if len(rec.Parts) == 0 && series == nil || rec.Manifest == nil || rec.Manifest.How == recording.Loaded {
		return nil
	}
	s := &serverRun{rec: rec, series: series, log: log, out: &report.LoadServer{}, table: newCostTable()}
	from, to, ok := log.Steady()
	if !ok {
		s.doubt("the server was not recorded after the warm-up")
		return s.out
	}
	s.from, s.to = from+log.Offset, to+log.Offset
	s.out.From, s.out.To = s.from, s.to
	s.cpu()
	s.memory()
	s.waiting()
	s.collector()
	s.states()
	s.balance()
	if c := s.out.CPU; c != nil {
		bytes, blocked := 0.0, 0.0
		for _, r := range s.table.rows {
			bytes, blocked = bytes+r.Bytes, blocked+r.Blocked
			r.Error = sampleError(r.CPU, c.All, c.Samples)
		}
		for _, r := range s.table.calls {
			r.Error = sampleError(r.CPU, c.All, c.Samples)
		}
		s.out.Functions, s.out.Left = dearest(s.table.rows, c.All, bytes, blocked)
		s.out.Calls, _ = dearest(s.table.calls, c.All, bytes, blocked)
	}
	s.out.Doubts = append(s.out.Doubts, rec.Manifest.Notes...)
	s.next()
	return s.out
}

func (s *serverRun) doubt(format string, args ...any) {
	s.out.Doubts = append(s.out.Doubts, fmt.Sprintf(format, args...))
}

// requests returns how many requests were answered between two times of the recording.
func (s *serverRun) requests(from, to time.Duration) float64 {
	return s.log.AnsweredBy(to-s.log.Offset) - s.log.AnsweredBy(from-s.log.Offset)
}

// lines returns the indexes of the first and the last line in the steady time that has a metric.
func (s *serverRun) lines(name string) (first, last int, ok bool) {
	first, last = -1, -1
	if s.series == nil {
		return first, last, false
	}
	for i, t := range s.series.Times {
		if _, known := s.series.At(name, i); !known || t < s.from || t > s.to {
			continue
		}
		if first < 0 {
			first = i
		}
		last = i
	}
	return first, last, first >= 0 && last > first
}

// perRequest returns the growth of a counter per request.
func (s *serverRun) perRequest(name string) (each, requests float64, ok bool) {
	first, last, ok := s.lines(name)
	if !ok {
		return 0, 0, false
	}
	a, _ := s.series.At(name, first)
	b, _ := s.series.At(name, last)
	n := s.requests(s.series.Times[first], s.series.Times[last])
	if n < 1 {
		return 0, 0, false
	}
	return (b - a) / n, n, true
}

// parts returns the times of the first and the last profile of a kind in the steady time.
func (s *serverRun) parts(kind string) (first, last time.Duration, ok bool) {
	first = -1
	for _, p := range s.rec.Profiles(kind).Parts() {
		if p.From < s.from || p.To > s.to {
			continue
		}
		if first < 0 {
			first = p.From
		}
		last = p.To
	}
	return first, last, first >= 0 && first < last
}

func (s *serverRun) cpu() {
	first, last, ok := s.parts(recording.CPU)
	if !ok {
		s.doubt("there is no CPU profile between the warm-up and the end: load the server for longer")
		return
	}
	var requests float64
	var length time.Duration
	for _, p := range s.rec.Profiles(recording.CPU).Parts() {
		if p.From >= first && p.To <= last {
			requests += s.requests(p.From, p.To)
			length += p.To - p.From
		}
	}
	p, typ, err := s.rec.Profiles(recording.CPU).Between("", first, last)
	if err != nil {
		s.doubt("%v", err)
		return
	}
	if took := p.DurationNanos; took > 0 && took < int64(length) {
		// Fetching a profile takes longer than the profile covers.
		requests *= float64(took) / float64(length)
		length = durationOf(took)
	}
	if requests < 1 {
		s.doubt("no request was answered during the CPU profiles")
		return
	}
	c := &report.ServerCPU{From: first, To: last, Requests: requests, For: length}
	if k := slices.IndexFunc(p.SampleTypes, func(t profile.ValueType) bool { return t.Type == typ }); k >= 0 {
		for _, v := range p.Values(k) {
			c.Sampled += float64(v) / requests
		}
	}
	if p.Period > 0 {
		c.Samples = int64(math.Round(c.Sampled * requests / float64(p.Period)))
	}
	if c.Samples > 0 {
		c.Error = 1.96 * c.Sampled / math.Sqrt(float64(c.Samples))
	}
	const few = 200
	if c.Samples < few {
		s.doubt("the profiles have only %d samples in this time: a function's cost is known to within %s of the total at best; load the server for longer", c.Samples, unit.Share(1/math.Sqrt(float64(max(c.Samples, 1)))))
	}
	factor := 1 / requests
	if s.rec.Manifest.How != recording.Fetched { // for fetched profiles, the CPU time of the process is unknown
		if kernel, _, ok := s.perRequest(recording.ProcessCPU); ok && kernel > 0 && c.Sampled > 0 {
			kernel *= 1e9
			c.Counted, c.Unseen = true, max(0, kernel-c.Sampled)
			factor *= min(kernel/c.Sampled, 1)
			if kernel > c.Sampled*mostUnseen || c.Sampled > kernel*mostUnseen {
				s.doubt("the kernel counted %s of CPU time per request, the profiles %s", unit.Time(durationOf(kernel)), unit.Time(durationOf(c.Sampled)))
			}
		}
		if each, _, ok := s.perRequest(recording.ProcessDelay); ok {
			c.Delayed = max(0, each*1e9)
		}
	}
	sum := s.table.add(p, typ, factor, false,
		func(f *report.FunctionCost) *float64 { return &f.CPU }, func(f *report.FunctionCost) *float64 { return &f.With })
	if c.Unseen > 0 {
		row := s.table.row(rowUnseen)
		row.CPU, row.With = c.Unseen, c.Unseen
	}
	c.All, c.Serving, c.Assisting, c.Other = sum.all+c.Unseen, sum.serving, sum.assisting, sum.other
	c.Collecting, c.Scheduling, c.Recording = sum.collecting, sum.scheduling, sum.recording
	s.out.CPU = c
}

// mostUnseen is the ratio of the CPU times of the kernel and of the profiles, in either direction, above which there is a doubt. In a
// server that mostly reads and writes, profiles miss a tenth of the CPU time. Half of that is sysmon, which has no samples. The rest
// is threads that run for a moment at a time: the kernel checks profiling timers only at its clock ticks, when these threads often
// do not run. The missing time is not distributed among functions: a profiler that misses nothing confirms the costs from samples.
const mostUnseen = 1.5

func durationOf[T int64 | float64](ns T) time.Duration { return time.Duration(ns) }

func (s *serverRun) memory() {
	first, last, ok := s.parts(recording.Heap)
	if !ok {
		if len(s.rec.Parts[recording.Heap]) > 0 {
			s.doubt("allocation and waiting need two profiles between the warm-up and the end: load the server for three seconds or more")
		}
		return
	}
	p, _, err := s.rec.Profiles(recording.Heap).Between("alloc_space", first, last)
	requests := s.requests(first, last)
	if err != nil || requests < 1 {
		return
	}
	m := &report.ServerMemory{Requests: requests}
	where := func(f *report.FunctionCost) *float64 { return &f.Bytes }
	m.Sampled = newCostTable().add(p, "alloc_space", 1/requests, false, where, where).all
	// The runtime counts exactly; the profile is a sample, as of the previous collection, and only gives shares. This works for bytes, not
	// for objects: one sample can stand for very many small objects, which would distort the shares of all others.
	factor := 1 / requests
	bytes, n, counted := s.perRequest(metricAllocBytes)
	if counted = counted && s.rec.Manifest.How != recording.Fetched && m.Sampled > 0; counted {
		m.Counted, m.Requests = true, n
		factor *= bytes / m.Sampled
	}
	m.Bytes = s.table.add(p, "alloc_space", factor, false,
		func(f *report.FunctionCost) *float64 { return &f.Bytes }, func(f *report.FunctionCost) *float64 { return &f.AllB }).all
	m.Objects = s.table.add(p, "alloc_objects", factor, false,
		func(f *report.FunctionCost) *float64 { return &f.Objects }, func(f *report.FunctionCost) *float64 { return &f.AllO }).all
	if number, _, ok := s.perRequest(metricAllocObjects); ok && counted {
		m.Objects = number
	}
	s.out.Memory = m
}

func (s *serverRun) waiting() {
	w := &report.ServerWaiting{}
	if first, last, ok := s.parts(recording.Block); ok {
		if w.Requests = s.requests(first, last); w.Requests < 1 {
			return
		}
		p, typ, err := s.rec.Profiles(recording.Block).Between("", first, last)
		if err == nil {
			sum := s.table.add(p, typ, 1/w.Requests, true,
				func(f *report.FunctionCost) *float64 { return &f.Blocked }, func(f *report.FunctionCost) *float64 { return &f.AllW })
			w.Blocked, w.Locks = sum.serving, sum.locks
			w.Off = p.NumSamples() == 0
		}
		w.Contended = s.contended()
		w.Queued = s.queued()
		s.out.Waiting = w
	}
}

// contended returns how long goroutines waited for mutexes, per request. Its profiles have times of their own: hone fetches those of a server one
// after the other.
func (s *serverRun) contended() float64 {
	first, last, ok := s.parts(recording.Mutex)
	requests := s.requests(first, last)
	if !ok || requests < 1 {
		return 0
	}
	p, typ, err := s.rec.Profiles(recording.Mutex).Between("", first, last)
	if err != nil {
		return 0
	}
	where := func(f *report.FunctionCost) *float64 { return &f.Blocked }
	return newCostTable().add(p, typ, 1/requests, false, where, where).all
}

// queued returns how long goroutines waited for a P, per request: the mean number of waiting goroutines, divided by the rate of
// requests.
func (s *serverRun) queued() float64 {
	first, last, ok := s.lines(recording.NumRunnable)
	if !ok {
		return 0
	}
	sum := 0.0
	for i := first + 1; i <= last; i++ {
		n, _ := s.series.At(recording.NumRunnable, i)
		sum += n * float64(s.series.Times[i]-s.series.Times[i-1])
	}
	requests := s.requests(s.series.Times[first], s.series.Times[last])
	if requests < 1 {
		return 0
	}
	return sum / requests
}

func (s *serverRun) collector() {
	c := s.out.CPU
	first, last, ok := s.lines(metricCycles)
	if c == nil || !ok {
		return
	}
	a, _ := s.series.At(metricCycles, first)
	b, _ := s.series.At(metricCycles, last)
	g := &report.ServerGC{Cycles: int(b - a)}
	if c.All > 0 {
		g.Share = (c.Collecting + c.Assisting) / c.All
	}
	if log := recording.GC.In(s.rec); log != nil {
		g.Known = true
		for i := range log.Cycles {
			cycle := &log.Cycles[i]
			if cycle.Start < s.series.Times[first] || cycle.Start > s.series.Times[last] {
				continue
			}
			g.Paused += cycle.Pause()
			g.Longest = max(g.Longest, slices.Max(cycle.Stops()))
		}
	}
	s.out.GC = g
}

// states sets the state of the server before, after, and at the end.
func (s *serverRun) states() {
	first, last, ok := s.lines(recording.NumGoroutine)
	if !ok {
		if first, last, ok = s.lines(recording.ProcessRSS); !ok {
			return
		}
	}
	at := func(i int) *report.ServerState {
		value := func(name string) int64 {
			v, _ := s.series.At(name, i)
			return int64(v)
		}
		return &report.ServerState{
			At: s.series.Times[i], RSS: value(recording.ProcessRSS), Live: value(recording.HeapLive), Goroutines: value(recording.NumGoroutine),
		}
	}
	s.out.Before, s.out.After, s.out.Ended = at(first), at(last), at(len(s.series.Times)-1)
	s.leaks(first, last)
}

// leaks finds values that grew all the time.
func (s *serverRun) leaks(first, last int) {
	const steps = 4
	if last-first < steps {
		return
	}
	requests := s.requests(s.series.Times[first], s.series.Times[last])
	if requests < 1 {
		return
	}
	grows := func(name string, least float64) (from, to float64, ok bool) {
		was, times := math.Inf(-1), -1
		for i := range steps + 1 {
			// The minimum of neighbors, since a short peak is not a leak.
			at := first + (last-first)*i/steps
			v := math.Inf(1)
			for k := max(first, at-1); k <= min(last, at+1); k++ {
				if x, known := s.series.At(name, k); known {
					v = min(v, x)
				}
			}
			if i == 0 {
				from = v
			}
			if v < was || math.IsInf(v, 1) {
				return 0, 0, false
			}
			if v > was {
				times++ // the live heap changes only with a collection
			}
			was = v
		}
		return from, was, times >= 2 && was-from >= least
	}
	if a, b, ok := grows(recording.NumGoroutine, max(20, requests/1000)); ok {
		s.out.Suspects = append(s.out.Suspects, report.Suspect{
			What: report.GrownGoroutines, From: int64(a), To: int64(b), Per: 1000 * (b - a) / requests, Where: s.grown(recording.Goroutine, "goroutine"),
		})
	}
	if a, b, ok := grows(recording.HeapLive, 1<<20); ok && b > 1.1*a {
		s.out.Suspects = append(s.out.Suspects, report.Suspect{
			What: report.GrownMemory, From: int64(a), To: int64(b), Per: 1000 * (b - a) / requests, Where: s.grown(recording.Heap, "inuse_space"),
		})
	}
}

// grown returns the function with the largest growth between the first and the last snapshot.
func (s *serverRun) grown(kind, typ string) string {
	first, last, ok := s.parts(kind)
	if !ok {
		return ""
	}
	where := func(f *report.FunctionCost) *float64 { return &f.Bytes }
	none := func(f *report.FunctionCost) *float64 { return &f.AllB }
	growth := newCostTable()
	for factor, at := range map[float64]time.Duration{-1: first, 1: last} {
		p, _, err := s.rec.Profiles(kind).Between(typ, at, at)
		if err != nil {
			return ""
		}
		growth.add(p, typ, factor, false, where, none)
	}
	name, most := "", 0.0
	for _, r := range growth.rows {
		if r.Bytes > most {
			name, most = r.Name, r.Bytes
		}
	}
	return name
}

// balance splits the mean service time into parts: as the requests in the execution trace were spent, if there is one, or into what profiles know
// of serving goroutines. Waits for a P or a core are measured for all goroutines and threads, so without a trace they are no parts. Parts of profiles
// are measured independently and can overlap: a part counts as far as the parts before it leave room in the mean service time, and the rest is its
// overlap. So parts never exceed the whole.
func (s *serverRun) balance() {
	mean := s.log.Service.Mean()
	c := s.out.CPU
	if mean <= 0 {
		return
	}
	split, traced := s.traced()
	if c == nil && !traced {
		return
	}
	left := mean
	var overlap time.Duration
	add := func(what string, ns time.Duration) {
		fits := min(ns, left)
		left -= fits
		overlap += ns - fits
		s.out.Balance = append(s.out.Balance, report.BalancePart{
			What: what, Nanos: fits, Share: float64(fits) / float64(mean), Overlap: ns - fits,
		})
	}
	if s.out.Traced = traced; traced {
		for what, ns := range split {
			if ns > 0 {
				add(requests.What(what).String(), ns)
			}
		}
	} else {
		add("CPU of the serving goroutine", durationOf(c.Serving-c.Assisting))
		if c.Assisting > 0 {
			add("helping the garbage collector", durationOf(c.Assisting))
		}
		if w := s.out.Waiting; w != nil && !w.Off {
			add("waiting for locks", durationOf(w.Locks))
			add("waiting for channels and others", durationOf(w.Blocked-w.Locks))
		}
	}
	s.out.Balance = append(s.out.Balance,
		report.BalancePart{What: "unexplained", Nanos: left, Share: float64(left) / float64(mean)},
		report.BalancePart{What: "mean service time", Nanos: mean, Share: 1})
	if overlap > 0 {
		s.doubt("goroutines that serve requests used or waited %s more per request than the mean service time: they also work after the answer is sent, and several can serve one request at the same time", unit.Time(overlap))
	}
	switch {
	case float64(left) <= 0.5*float64(mean):
	case traced:
		s.doubt("the unexplained part is time before the server had read the request and after it had answered: on the network, in the kernel, and in hone itself")
	default:
		s.doubt("the unexplained part is time ready to run, on the network, in the kernel, in file I/O, asleep, and in hone itself; an execution trace of the run splits it")
	}
}

// traced returns how the mean request in the execution trace was spent, if the trace has nearly all requests of the steady time.
func (s *serverRun) traced() (split [requests.Whats]time.Duration, ok bool) {
	if s.rec == nil || recording.Execution.In(s.rec) == nil || len(report.NewTraceTimes(s.rec.Traces(), query.Span{})) > 0 {
		return split, false
	}
	w := waits.Window{From: int64(s.from), To: int64(s.to)}
	list, length, err := traceview.FoundIn([]*recording.Recording{s.rec}, report.RequestWork, w)
	if err != nil || length < w.To-w.From {
		return split, false
	}
	n := int64(0)
	for i := range list {
		r := &list[i]
		if r.From < w.From || r.To > w.To || r.Begun || r.Open {
			continue
		}
		n++
		for what, ns := range r.Split {
			split[what] += durationOf(ns)
		}
	}
	if n == 0 || float64(n) < 0.9*s.requests(s.from, s.to) {
		return split, false
	}
	for what := range split {
		split[what] /= time.Duration(n)
	}
	return split, true
}

func (s *serverRun) next() {
	ref := s.rec.Ref
	at := fmt.Sprintf("%s..%s", s.from.Round(time.Millisecond), s.to.Round(time.Millisecond))
	add := func(kind, option, value, answer string) {
		if len(s.rec.Parts[kind]) > 0 {
			s.out.Next = append(s.out.Next, hint.Ask("top", ref).With(option, value).With("at", at).For(answer))
		}
	}
	add(recording.CPU, "cum", "", "what uses CPU time under load")
	add(recording.Heap, "metric", "alloc_space", "what allocates")
	add(recording.Block, "metric", "block", "what waits")
}
