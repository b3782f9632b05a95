package spans

import (
	"cmp"
	"io"
	"math"
	"slices"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/requests"
	"github.com/hone-perf/hone/internal/spans/perfetto"
	"github.com/hone-perf/hone/internal/waits"
)

// Tracks that there is one of, and the first numbers of those that there are more of. Goroutines come last, since their numbers may be any.
const (
	programTrack perfetto.Track = iota + 1
	requestsTrack
	procsTrack
	collectorTrack
	markTrack
	stopTrack
	heapTrack
	goalTrack
	countTrack
	goroutinesTrack
	firstProc      perfetto.Track = 1 << 16
	firstRequest   perfetto.Track = 1 << 32
	firstGoroutine perfetto.Track = 1 << 40
)

// mostProcs is how many Ps are followed; Go itself has no limit.
const mostProcs = 1 << 12

// Metrics of the runtime that have a counter.
const (
	heapMetric = "/memory/classes/heap/objects:bytes"
	goalMetric = "/gc/heap/goal:bytes"
)

// A timeline writes a trace for Perfetto.
type timeline struct {
	*reader
	out    *perfetto.Writer
	window waits.Window
	procs  []proc
	mark   since
	stop   since
	early  [2]int64 // what the heap counters had before the window
	begun  bool     // the window
	left   int64    // goroutines that are there
	arrows uint64
}

// A proc is what a P does.
type proc struct {
	shown     bool
	known     bool  // something was said of it
	goroutine int64 // 0 is none
	from      int64
}

// A since is a range of time of the whole program.
type since struct {
	name string // "" when there is none
	from int64
}

// Perfetto writes a window of a trace as a trace for Perfetto: what Ps, the collector and goroutines of the program did, the requests that
// were found, arrows from who woke a goroutine to what that did next, and the heap. name is that of the program.
func Perfetto(out io.Writer, t *exectrace.Trace, w waits.Window, found []requests.Request, name string) error {
	x := &timeline{window: w}
	x.reader = newReader(t, w, found, x.span)
	var err error
	if x.left, err = goroutinesAt(t, w); err != nil {
		return err
	}
	x.out = perfetto.New(out, t.Wall(), x.text)
	x.tracks(name)
	x.answers(found)
	x.out.Count(countTrack, w.From, x.left)
	x.walk.Event, x.walk.Before = x.event, x.before
	if err := x.run(); err != nil {
		return err
	}
	end := x.walk.End
	for i := range x.procs {
		x.leaves(int32(i), end, 0)
	}
	x.over(&x.mark, markTrack, end)
	x.over(&x.stop, stopTrack, end)
	return x.out.Err()
}

// goroutinesAt is how many goroutines there are when a window begins. A trace says that later: about goroutines of which nothing happens, as late as
// a second after its begin.
func goroutinesAt(t *exectrace.Trace, w waits.Window) (int64, error) {
	ended := int64(0)
	walk := &waits.Walk{Window: w}
	walk.Event = func(e *exectrace.Event) {
		if e.Kind == exectrace.Change && e.To == exectrace.Absent {
			ended++
		}
	}
	err := walk.Run(t)
	return int64(len(walk.Goroutines)) - walk.Born + ended, err
}

func (x *timeline) tracks(name string) {
	x.out.Process(programTrack, 1, name)
	for rank, group := range []struct {
		track perfetto.Track
		name  string
	}{{requestsTrack, "requests"}, {procsTrack, "Ps"}, {collectorTrack, "garbage collector"}} {
		x.out.Track(group.track, programTrack, group.name, rank)
	}
	x.out.Track(markTrack, collectorTrack, "marking", 0)
	x.out.Track(stopTrack, collectorTrack, "stops of the world", 1)
	x.out.Counter(heapTrack, programTrack, "heap: objects", 3, true)
	x.out.Counter(goalTrack, programTrack, "heap: goal of the collector", 4, true)
	x.out.Counter(countTrack, programTrack, "goroutine count", 5, false)
	x.out.Track(goroutinesTrack, programTrack, "goroutines", 6)
}

// answers writes the requests: each on the first track that is free.
func (x *timeline) answers(found []requests.Request) {
	byBegin := make([]*requests.Request, 0, len(found))
	for i := range found {
		if r := &found[i]; r.To >= x.window.From && (x.window.To == 0 || r.From < x.window.To) {
			byBegin = append(byBegin, r)
		}
	}
	slices.SortFunc(byBegin, func(a, b *requests.Request) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Number, b.Number))
	})
	var free []int64 // since when, by track
	for _, r := range byBegin {
		from, to := max(r.From, x.window.From), r.To
		if x.window.To != 0 {
			to = min(to, x.window.To)
		}
		n := slices.IndexFunc(free, func(at int64) bool { return at <= from })
		if n < 0 {
			n = len(free)
			free = append(free, 0)
			x.out.Track(firstRequest+perfetto.Track(n), requestsTrack, "requests", n)
		}
		free[n] = to
		handler := r.Handler
		if handler == "" {
			handler = "(no handler seen)"
		}
		x.out.Slice(firstRequest+perfetto.Track(n), "request", x.number(handler), from, to, 0,
			perfetto.Value{Name: "request", Number: int64(r.Number)}, perfetto.Value{Name: "goroutine", Number: r.Goroutine},
			perfetto.Value{Name: "most of it", Text: x.number(r.Most().String())})
	}
}

// span writes what a goroutine did.
func (x *timeline) span(row *Row, g *goroutine, s *waits.Span) error {
	track := firstGoroutine + perfetto.Track(g.id)
	if !g.shown {
		g.shown = true
		name := formatID(g.id)
		if g.started != 0 {
			name += " " + x.text(g.started)
		}
		x.out.Track(track, goroutinesTrack, name, int(min(g.id, math.MaxInt32)))
	}
	if s.State == exectrace.Ready && g.arrow == 0 && row.Waker != 0 && !row.Begun {
		g.arrow = x.wake(row.Waker, row.From) // it was created
	}
	name := row.State
	if s.State == exectrace.Waiting && !x.names.Idle(s) || s.State == exectrace.Running && row.Cause != 0 {
		name = row.Cause
	}
	values := make([]perfetto.Value, 0, 8)
	text := func(name string, v Text) {
		if v != 0 {
			values = append(values, perfetto.Value{Name: name, Text: v})
		}
	}
	if name != row.Cause {
		text("cause", row.Cause)
	}
	text("function", row.Place.Function)
	text("line", row.Place.at)
	text("stack", row.Stack)
	if row.Request != nil {
		values = append(values, perfetto.Value{Name: "request", Number: int64(row.Request.Number)})
	}
	if s.State == exectrace.Waiting {
		text("ended by", row.EndedBy)
	}
	if row.Waker != 0 {
		values = append(values, perfetto.Value{Name: "waker", Number: row.Waker})
		text("waker function", row.WakerAt.Function)
	}
	x.out.Slice(track, "goroutine", name, row.From, row.From+row.Took, g.arrow, values...)
	g.arrow = 0
	if s.State == exectrace.Waiting && row.Waker != 0 && !row.Open {
		g.arrow = x.wake(row.Waker, row.From+row.Took)
	}
	return x.out.Err()
}

// wake begins an arrow at a goroutine that woke or created another one; 0 where that has no track yet.
func (x *timeline) wake(waker, at int64) uint64 {
	g := x.walk.Goroutines[waker]
	if g == nil {
		return 0
	}
	if of, _ := g.Mine.(*goroutine); of == nil || !of.shown {
		return 0
	}
	x.arrows++
	x.out.Moment(firstGoroutine+perfetto.Track(waker), "wake-up", x.number("wakes"), at, x.arrows)
	return x.arrows
}

// before takes what came before the window: it goes on when that begins.
func (x *timeline) before(e *exectrace.Event) {
	switch e.Kind {
	case exectrace.ProcStop, exectrace.Change:
		x.proc(e, x.window.From, false)
	case exectrace.RangeBegin, exectrace.RangeActive:
		x.begins(e, x.window.From)
	case exectrace.RangeEnd:
		if s, _ := x.rangeOf(e); s != nil {
			s.name = ""
		}
	case exectrace.Metric:
		switch e.Name {
		case heapMetric:
			x.early[0] = e.Value
		case goalMetric:
			x.early[1] = e.Value
		}
	}
}

func (x *timeline) event(e *exectrace.Event) {
	if !x.begun {
		x.begun = true
		for i, track := range []perfetto.Track{heapTrack, goalTrack} {
			if x.early[i] > 0 {
				x.out.Count(track, x.window.From, x.early[i])
			}
		}
	}
	switch e.Kind {
	case exectrace.ProcStop:
		x.proc(e, e.Time, true)
	case exectrace.Change:
		x.proc(e, e.Time, true)
		switch {
		case e.From == exectrace.Absent && e.To != exectrace.Absent:
			x.left++
			x.out.Count(countTrack, e.Time, x.left)
		case e.To == exectrace.Absent && e.From != exectrace.Absent:
			x.left--
			x.out.Count(countTrack, e.Time, x.left)
		}
	case exectrace.Metric:
		switch e.Name {
		case heapMetric:
			x.out.Count(heapTrack, e.Time, e.Value)
		case goalMetric:
			x.out.Count(goalTrack, e.Time, e.Value)
		}
	case exectrace.RangeBegin, exectrace.RangeActive:
		x.begins(e, e.Time)
	case exectrace.RangeEnd:
		if s, track := x.rangeOf(e); s != nil {
			x.over(s, track, e.Time)
		}
	}
}

// rangeOf is where a range of the whole program is kept, and its track; nil for other ranges.
func (x *timeline) rangeOf(e *exectrace.Event) (*since, perfetto.Track) {
	switch {
	case e.Name == waits.MarkRange:
		return &x.mark, markTrack
	case waits.IsStop(e.Name):
		return &x.stop, stopTrack
	}
	return nil, 0
}

func (x *timeline) begins(e *exectrace.Event, at int64) {
	if s, _ := x.rangeOf(e); s != nil && s.name == "" { // and not stated anew
		*s = since{e.Name, at}
	}
}

func (x *timeline) over(s *since, track perfetto.Track, at int64) {
	if s.name == "" {
		return
	}
	if at >= s.from {
		x.out.Slice(track, "GC", x.number(s.name), s.from, at, 0)
	}
	s.name = ""
}

// proc follows what Ps run.
func (x *timeline) proc(e *exectrace.Event, at int64, within bool) {
	if e.Proc < 0 || e.Proc >= mostProcs {
		return
	}
	for int(e.Proc) >= len(x.procs) {
		x.procs = append(x.procs, proc{})
	}
	p := &x.procs[e.Proc]
	switch {
	case e.Kind == exectrace.ProcStop, e.From == exectrace.Running && e.To != exectrace.Running && e.Goroutine == p.goroutine:
		if within {
			stack := e.Stack
			if e.By != p.goroutine {
				stack = 0
			}
			x.leaves(e.Proc, at, stack)
		}
		p.goroutine = 0
	case e.To == exectrace.Running && e.From != exectrace.Running && e.Goroutine != p.goroutine:
		if within {
			x.leaves(e.Proc, at, 0)
		}
		if p.goroutine, p.from = e.Goroutine, at; !p.known && e.From == exectrace.Unknown {
			p.from = x.window.From // it is stated that it did so before
		}
	}
	p.known = p.known || e.Kind == exectrace.ProcStop || e.From != e.To
}

// leaves writes what a P ran until now.
func (x *timeline) leaves(number int32, at int64, s exectrace.Stack) {
	p := &x.procs[number]
	if p.goroutine == 0 || at < p.from {
		return
	}
	track := firstProc + perfetto.Track(number)
	if !p.shown {
		p.shown = true
		x.out.Track(track, procsTrack, "P "+formatID(int64(number)), int(number))
	}
	kind := ""
	if g := x.walk.Goroutines[p.goroutine]; g != nil {
		as := *g // what it is for may be known better later
		kind = x.names.Kind(&as, s)
	}
	if kind == "" {
		kind = "(unknown)"
	}
	x.out.Slice(track, "P", x.number(kind), p.from, at, 0, perfetto.Value{Name: "goroutine", Number: p.goroutine})
	p.goroutine = 0
}
