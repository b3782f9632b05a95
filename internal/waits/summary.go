package waits

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/order"
)

// A Summary is a trace in a few numbers. Times are in nanoseconds. Goroutines of the runtime count for the collector and Ps alone.
type Summary struct {
	Begin, End int64
	Events     int64
	Born       int64 // goroutines that were created
	Left       int   // that were there at the end
	Procs      int   // GOMAXPROCS, the most there was

	Capacity  int64 // Ps times time
	Busy      int64 // Ps ran something, or were in a system call
	Go        int64 // goroutines of the program ran
	Collector int64 // its workers ran
	Tracer    int64 // what records the trace ran
	Runtime   int64 // other goroutines of the runtime ran: the sweeper, the scavenger
	Samples   int64 // of the CPU profile, if one was recorded meanwhile
	IdleReady int64 // of the idle time of Ps, while a goroutine was ready

	Running, Ready, Syscall, Blocked, Idle int64 // goroutines
	Causes                                 []CauseSum

	Latency Latency // from ready to running

	AssistRunning, AssistReady, AssistWaiting int64 // what they did then

	Silence RangeSum // times without any event, though goroutines were ready

	Mutator []MutatorUse
	Cycles  int
	Marking int64
	Assist  RangeSum   // goroutines that had to help before they could allocate
	Stops   []RangeSum // by why
	Stopped []Stopped  // goroutines that these kept from running
}

// A CauseSum is all waits for one thing.
type CauseSum struct {
	Cause Cause
	RangeSum
}

// A RangeSum is ranges of time of one name.
type RangeSum struct {
	Name    string
	Count   int64
	Total   int64
	Longest int64
	At      int64 // when the longest began
}

func (r *RangeSum) add(from, to int64) {
	r.Count++
	r.Total += to - from
	if d := to - from; d > r.Longest {
		r.Longest, r.At = d, from
	}
}

// A Latency is how long something took.
type Latency struct {
	Count              int64
	P50, P90, P99, Max int64
}

func latencyOf(h *latency.Histogram) Latency {
	if h.Count() == 0 {
		return Latency{}
	}
	return Latency{h.Count(), int64(h.Quantile(0.5)), int64(h.Quantile(0.9)), int64(h.Quantile(0.99)), int64(h.Max())}
}

// Summarize goes through a trace once. So does another walk at the same time, which may be nil.
func Summarize(t *exectrace.Trace, w Window, other *Walk) (*Summary, error) {
	w.From = max(w.From, t.Begin())
	s := newSumming(t, w)
	walk := &Walk{Window: w, Names: s.names, Named: s.span, Event: s.event, Before: s.before}
	if other != nil {
		if other.Names != nil {
			s.names, walk.Names = other.Names, other.Names
		}
		walk.Named = func(p *Span) {
			s.span(p)
			other.Span(p)
		}
		walk.Event = func(e *exectrace.Event) {
			s.event(e)
			other.Event(e)
		}
	}
	if err := walk.Run(t); err != nil {
		return nil, err
	}
	out := &s.Summary
	out.Begin, out.End, out.Events, out.Born, out.Left = walk.Begin, walk.End, walk.Events, walk.Born, len(walk.Goroutines)
	s.until(walk.End)
	s.declare(s.Procs)
	for _, from := range s.procs {
		out.Busy += walk.End - from
	}
	for name, from := range s.open {
		s.ended(name, from, walk.End)
	}
	for _, from := range s.assists {
		out.Assist.add(from, walk.End)
	}
	s.stopped.over(walk.End)
	out.Stopped = s.stopped.list
	out.Latency = latencyOf(&s.ready)
	if out.Cycles > 0 {
		out.Mutator = s.mutator.uses(walk.Begin, walk.End)
	}
	for c := range s.causes {
		if s.causes[c].Count > 0 {
			s.causes[c].Name = Cause(c).String()
			out.Causes = append(out.Causes, CauseSum{Cause(c), s.causes[c]})
		}
	}
	order.Stable(out.Causes, func(a, b CauseSum) int { return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Cause, b.Cause)) })
	for _, r := range s.stops {
		out.Stops = append(out.Stops, *r)
	}
	order.Stable(out.Stops, func(a, b RangeSum) int { return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name)) })
	return out, nil
}

// What the runtime calls ranges of time and numbers.
const (
	MarkRange   = "GC concurrent mark phase" // the collector marks
	stopRange   = "stop-the-world"           // " (why)"
	procsMetric = "/sched/gomaxprocs:threads"
)

// IsStop reports whether a range of time is one in which the program was stopped.
func IsStop(name string) bool { return strings.HasPrefix(name, stopRange) }

// whyStopped is what the world was stopped for, by the name of the range of time.
func whyStopped(name string) string {
	return strings.TrimSuffix(strings.TrimPrefix(name, stopRange+" ("), ")")
}

type summing struct {
	Summary
	names   *Names
	procs   map[int32]int64 // since when each runs
	known   map[int32]bool
	causes  [len(causes)]RangeSum
	stops   map[string]*RangeSum
	open    map[string]int64 // ranges of the whole program, since when
	assists map[int64]int64
	mutator *mutator
	stopped stopping
	ready   latency.Histogram

	from     int64 // begin of the window
	last     int64
	early    int64 // time before it was told how many Ps there are
	declared bool
	waiting  int   // goroutines that are ready
	silent   int64 // since when there was no event
}

// longSilence is how long nothing happens that a trace could tell, though goroutines are ready, before that is told: a P takes turns every
// ten milliseconds.
const longSilence = 30e6

func newSumming(t *exectrace.Trace, w Window) *summing {
	return &summing{
		names: NewNames(t), procs: map[int32]int64{}, known: map[int32]bool{}, stops: map[string]*RangeSum{}, open: map[string]int64{}, assists: map[int64]int64{},
		mutator: newMutator(), from: w.From, last: w.From, silent: w.From,
	}
}

// before takes what came before the window. It leaves what goes on then, as if that began with the window.
func (s *summing) before(e *exectrace.Event) {
	early := *e
	early.Time = s.from
	early.Slot = nil
	if e.Kind != exectrace.Sample {
		s.event(&early)
	}
}

// declare takes how many Ps there are. What is told first has been so since the begin.
func (s *summing) declare(n int) {
	if !s.declared {
		s.Capacity += s.early * int64(n)
		s.declared = true
	}
	s.Procs = n
}

// until adds up what there was until now.
func (s *summing) until(now int64) {
	d := now - s.last
	s.last = now
	if !s.declared {
		s.early += d
	} else {
		s.Capacity += d * int64(s.Procs)
	}
	if idle := s.Procs - len(s.procs); idle > 0 && s.waiting > 0 {
		s.IdleReady += d * int64(min(idle, s.waiting))
	}
}

func (s *summing) event(e *exectrace.Event) {
	if s.waiting > 0 && e.Time-s.silent > longSilence {
		s.Silence.add(s.silent, e.Time)
	}
	s.silent = e.Time
	if e.Kind != exectrace.Change || len(s.mutator.parts) > 0 { // none has a part while the collector does nothing
		s.mutator.event(e, s.Procs)
	}
	switch e.Kind {
	case exectrace.Sample:
		s.Samples++
	case exectrace.ProcStart:
		s.until(e.Time)
		s.stopped.resume(e.Time)
		if _, ok := s.procs[e.Proc]; !ok {
			s.procs[e.Proc] = e.Time
			if !s.known[e.Proc] {
				s.procs[e.Proc] = s.from // which is stated
			}
		}
		s.known[e.Proc] = true
		s.Procs = max(s.Procs, int(min(e.Proc, 1<<20))+1)
	case exectrace.ProcStop:
		s.until(e.Time)
		s.known[e.Proc] = true
		s.Procs = max(s.Procs, int(min(e.Proc, 1<<20))+1)
		if from, ok := s.procs[e.Proc]; ok {
			s.Busy += e.Time - from
			delete(s.procs, e.Proc)
		}
	case exectrace.Metric:
		if e.Name == procsMetric && e.Value > 0 && e.Value < 1<<20 {
			s.until(e.Time)
			s.declare(int(e.Value))
		}
	case exectrace.Change:
		if e.From == e.To {
			return
		}
		if e.To == exectrace.Ready {
			s.until(e.Time)
			s.waiting++
			if s.stopped.why != "" && e.From == exectrace.Running && e.Reason == exectrace.Preempted && e.Slot != nil {
				s.stopped.preempted(s.names, e)
			}
		}
		if e.From == exectrace.Ready && s.waiting > 0 {
			s.until(e.Time)
			s.waiting--
		}
	case exectrace.RangeBegin, exectrace.RangeActive:
		switch _, ok := s.open[e.Name]; {
		case ok && e.Kind == exectrace.RangeActive: // stated anew
		case e.Name == MarkRange, IsStop(e.Name):
			s.open[e.Name] = e.Time
			if IsStop(e.Name) {
				s.stopped.begin(whyStopped(e.Name))
			}
		case e.Name == assistRange:
			if _, ok := s.assists[e.Goroutine]; !ok {
				s.assists[e.Goroutine] = e.Time
			}
		}
	case exectrace.RangeEnd:
		if from, ok := s.open[e.Name]; ok {
			s.ended(e.Name, from, e.Time)
			delete(s.open, e.Name)
			if IsStop(e.Name) {
				s.stopped.over(e.Time)
			}
		}
		if from, ok := s.assists[e.Goroutine]; ok && e.Name == assistRange {
			if e.Time > s.from {
				s.Assist.add(from, e.Time)
			}
			delete(s.assists, e.Goroutine)
		}
	}
}

// ended takes a range of the whole program, as far as it is in the window.
func (s *summing) ended(name string, from, to int64) {
	switch {
	case to <= s.from:
	case name == MarkRange:
		s.Cycles++
		s.Marking += to - from
	default:
		why := whyStopped(name)
		r := s.stops[why]
		if r == nil {
			r = &RangeSum{Name: why}
			s.stops[why] = r
		}
		r.add(from, to)
	}
}

func (s *summing) span(p *Span) {
	d := p.Length()
	if p.Assist {
		switch p.State {
		case exectrace.Running:
			s.AssistRunning += d
		case exectrace.Ready:
			s.AssistReady += d
		case exectrace.Waiting:
			s.AssistWaiting += d
		}
	}
	if s.names.OfRuntime(p.Goroutine, p.Stack) {
		switch {
		case p.State != exectrace.Running:
		case p.Goroutine.Worker != "":
			s.Collector += d
		case strings.HasPrefix(s.names.Kind(p.Goroutine, p.Stack), "runtime/trace."):
			s.Tracer += d
		default:
			s.Runtime += d
		}
		return
	}
	switch p.State {
	case exectrace.Running:
		s.Go += d
		s.Running += d
	case exectrace.Ready:
		s.Ready += d
		if !p.Open && !p.Begun {
			s.ready.Add(time.Duration(d))
		}
	case exectrace.Syscall:
		s.Syscall += d
	case exectrace.Waiting:
		if s.names.Idle(p) {
			s.Idle += d
			return
		}
		s.Blocked += d
		s.causes[s.names.Cause(p)].add(p.From, p.To)
	}
}

// A PlaceSum is all waits at one place, for one thing.
type PlaceSum struct {
	Frame exectrace.Frame
	Cause Cause
	RangeSum
	Open int64 // of them, those that had not ended
}

// Places returns where goroutines of the program waited for something else than work, the longest first, all of that together, and the length of
// the time that was looked at.
func Places(t *exectrace.Trace, w Window) ([]PlaceSum, RangeSum, int64, error) {
	type place struct {
		fn, file string
		line     int
		cause    Cause
	}
	names := NewNames(t)
	sums := map[place]*PlaceSum{}
	var all RangeSum
	walk := &Walk{Window: w, Names: names}
	walk.Named = func(s *Span) {
		if s.State != exectrace.Waiting || names.Idle(s) || names.OfRuntime(s.Goroutine, s.Stack) {
			return
		}
		f, _ := names.Place(s.Stack)
		k := place{f.Func, f.File, f.Line, names.Cause(s)}
		sum := sums[k]
		if sum == nil {
			sum = &PlaceSum{Frame: f, Cause: k.cause}
			sums[k] = sum
		}
		sum.add(s.From, s.To)
		all.add(s.From, s.To)
		if s.Open {
			sum.Open++
		}
	}
	if err := walk.Run(t); err != nil {
		return nil, all, 0, err
	}
	list := make([]PlaceSum, 0, len(sums))
	for _, s := range sums {
		list = append(list, *s)
	}
	order.Stable(list, func(a, b PlaceSum) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Frame.Func, b.Frame.Func), cmp.Compare(a.Frame.Line, b.Frame.Line), cmp.Compare(a.Cause, b.Cause))
	})
	return list, all, walk.End - walk.Begin, nil
}

// A WakerSum is all waits that were ended at one place.
type WakerSum struct {
	Frame exectrace.Frame
	Kind  string // goroutine that ended them: the function that it was started with
	RangeSum
}

// Wakers returns what ended the waits on stacks that have a function which matches, the longest first, and all of these waits together.
func Wakers(t *exectrace.Trace, w Window, matches func(function string) bool) ([]WakerSum, RangeSum, error) {
	type waker struct {
		name, kind, file string
		line             int
	}
	names := NewNames(t)
	known := map[exectrace.Stack]bool{}
	sums := map[waker]*WakerSum{}
	var all RangeSum
	walk := &Walk{Window: w, Names: names}
	walk.Named = func(s *Span) {
		if s.State != exectrace.Waiting || names.Idle(s) {
			return
		}
		match, ok := known[s.Stack]
		if !ok {
			match = slices.ContainsFunc(names.of(s.Stack).frames, func(f exectrace.Frame) bool { return matches(f.Func) })
			known[s.Stack] = match
		}
		if !match || names.OfRuntime(s.Goroutine, s.Stack) {
			return
		}
		sum := WakerSum{}
		switch names.Waker(s) {
		case NoWaker:
			sum.Name = Still
		case ByTimer:
			sum.Name = "timer"
		case ByNetwork:
			sum.Name = "network"
		case ByRuntime:
			sum.Name = "runtime"
		default:
			sum.Frame, _ = names.Place(s.ByStack)
			sum.Name = cmp.Or(sum.Frame.Func, unknown)
			if g := walk.Goroutines[s.By]; g != nil {
				sum.Kind = names.Kind(g, s.ByStack)
			}
		}
		k := waker{sum.Name, sum.Kind, sum.Frame.File, sum.Frame.Line}
		to := sums[k]
		if to == nil {
			to = &sum
			sums[k] = to
		}
		to.add(s.From, s.To)
		all.add(s.From, s.To)
	}
	if err := walk.Run(t); err != nil {
		return nil, all, err
	}
	list := make([]WakerSum, 0, len(sums))
	for _, s := range sums {
		list = append(list, *s)
	}
	order.Stable(list, func(a, b WakerSum) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Frame.Line, b.Frame.Line), cmp.Compare(a.Kind, b.Kind))
	})
	return list, all, nil
}
