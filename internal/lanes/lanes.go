// Package lanes draws what happened in an execution trace over time, as far as a picture of some width can show it: lanes for processors, the
// collector, requests, kinds of goroutines and single goroutines.
//
// Draw goes through the window that is asked for. What begins and ends within one pixel is not lost: a pixel with more than one thing in it says
// what share each has.
package lanes

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/requests"
	"github.com/hone-perf/hone/internal/waits"
)

// A State is what fills a part of a lane.
type State uint8

const (
	Nothing    State = 0                         // idle processors, time before and after a goroutine or a request
	scheduling       = State(requests.Whats) + 1 // a processor runs no goroutine: it looks for one
	Idle             = State(requests.Whats) + 2 // a goroutine waits for work
	States           = State(requests.Whats) + 3 // how many there are
	running          = State(requests.Running) + 1
	ready            = State(requests.Ready) + 1
	inSyscall        = State(requests.Syscall) + 1
	collecting       = State(requests.GC) + 1
)

func (s State) String() string {
	switch s {
	case Nothing:
		return "nothing"
	case scheduling:
		return "scheduler"
	case Idle:
		return "waiting for work"
	}
	return requests.What(s - 1).String()
}

// A Part is the share that a State has of a pixel, in sixteenths.
type Part struct {
	State State
	Share uint8
}

// A Run is pixels that look alike.
type Run struct {
	At, Width int // pixels from the left
	Mix       int // number in Picture.Mixes
	ID        int // of a request; 0 for others
}

// A Lane is one row of a picture. Pixels with nothing in them have no run.
type Lane struct {
	Name string
	ID   int64 // of a goroutine, a processor
	Busy int64 // nanoseconds in the window in which it ran, could run, or was in a system call
	Runs []Run
}

// An Area is how many goroutines of a kind were in what state, as means of stretches of a window.
type Area struct {
	Kind   string
	Count  int               // goroutines
	Busy   int64             // nanoseconds, of all of them, that they did not wait for work
	Levels [][States]float64 // by stretch
}

// A Wake is that one goroutine of a picture ended the wait of another.
type Wake struct {
	At       int64
	From, To int // numbers of lanes of Picture.Goroutines
}

// A Picture is a window of a trace.
type Picture struct {
	Window waits.Window
	Pixels int
	Mixes  [][]Part // that runs have; a pure one is one part of sixteen sixteenths

	Procs      []Lane
	Collector  []Lane // marking, stops of the world
	Requests   []Lane // each has requests one after the other
	Small      int    // requests that are left out because they are narrow, or there is no room
	Kinds      []Area
	MoreKinds  int
	Goroutines []Lane
	Of         int // goroutines of the window that match
	Wakes      []Wake
}

// What a picture has at most.
const (
	mostProcs    = 256
	mostRequests = 12 // lanes of them
	mostKinds    = 16
	mostWakes    = 150
	stretches    = 240
)

// An Ask is what is to be drawn.
type Ask struct {
	Window     waits.Window // To is not 0
	Pixels     int
	Goroutines int      // how many, at most
	Filters    []Filter // that single goroutines have to pass
}

// A Filter is about functions on the stacks that a goroutine had in the window. All filters have to be passed.
type Filter struct {
	Matches func(function string) bool
	Drop    bool // those that have a function that matches
}

// Draw draws a window of a trace.
func Draw(x *waits.Index, found []requests.Request, ask Ask) (*Picture, error) {
	p := &Picture{Window: ask.Window, Pixels: ask.Pixels}
	err := x.Read(func(t *exectrace.Trace, names *waits.Names) error {
		d := &drawing{Picture: p, ask: ask, names: names, mixes: map[string]int{}, lanes: map[int64]*lane{}, trace: t, known: map[exectrace.Stack]uint64{}}
		d.mark, d.stop = &lane{Lane: Lane{Name: "marking"}, since: -1}, &lane{Lane: Lane{Name: "stop the world"}, since: -1}
		if err := d.choose(x, t); err != nil {
			return err
		}
		return d.draw(x, t)
	})
	if err != nil {
		return nil, err
	}
	p.requests(found)
	return p, nil
}

type drawing struct {
	*Picture
	ask   Ask
	trace *exectrace.Trace
	names *waits.Names
	known map[exectrace.Stack]uint64 // filters that it matches
	mixes map[string]int
	lanes map[int64]*lane // goroutines that are drawn
	procs []*lane
	mark  *lane
	stop  *lane
	end   int64
	key   []byte

	spans []span // of all goroutines of the window
	many  bool   // there are too many for that
}

// A span is what is kept of a waits.Span until it is known which goroutines are drawn.
type span struct {
	goroutine int64
	by        int64 // goroutine that ended a wait and meant to; 0 is none
	from, to  int64
	state     State
}

// maxSpans is for how many spans a trace is read once, and not twice. Tests change it.
var maxSpans = 1 << 19

func (d *drawing) keep(s *waits.Span) {
	if d.many {
		return
	}
	if len(d.spans) == maxSpans {
		d.many, d.spans = true, nil
		return
	}
	d.spans = append(d.spans, d.spanOf(s))
}

func (d *drawing) spanOf(s *waits.Span) span {
	out := span{s.Goroutine.ID, 0, s.From, s.To, d.state(s)}
	if s.State == exectrace.Waiting && !s.Open && s.By != 0 && d.names.Waker(s) == waits.ByGoroutine {
		out.by = s.By
	}
	return out
}

// span draws one of a goroutine, and who ended it.
func (d *drawing) span(l *lane, s *span) {
	if s.by != 0 && len(d.Wakes) < mostWakes {
		if by := d.lanes[s.by]; by != nil && by != l {
			d.Wakes = append(d.Wakes, Wake{s.to, by.number, l.number})
		}
	}
	d.add(l, s.from, s.to, s.state)
}

// choose finds the goroutines that were active for longest, which draw then draws. It draws processors, the collector and kinds itself.
func (d *drawing) choose(x *waits.Index, t *exectrace.Trace) error {
	type kind struct {
		Area
		blocked int64
		time    [][States]int64
		quiet   [States]int64 // goroutines that were so all the time
	}
	type of struct {
		id            int64
		kind          *kind
		busy, blocked int64
		matched       uint64 // filters
		state         State  // of one that was so all the time
	}
	w := d.ask.Window
	step := float64(w.To-w.From) / stretches
	at, sure := 0, waits.Window{} // the last stretch that was looked at, and times that are in it, whatever the rounding
	// About every other event ends a span: where there will be too many, none need be kept.
	d.many = float64(x.Events)*float64(w.To-w.From)/float64(max(x.End-x.Begin, 1)) > 4*float64(maxSpans)
	var all []*of
	kinds := map[string]*kind{}
	var byNumber []*kind
	kindOf := func(s *waits.Span) *kind {
		n := d.names.KindNumber(s.Goroutine, s.Stack)
		for n >= len(byNumber) {
			byNumber = append(byNumber, nil)
		}
		k := byNumber[n]
		if k == nil {
			k = &kind{time: make([][States]int64, stretches)}
			k.Kind = d.names.Kind(s.Goroutine, s.Stack)
			kinds[k.Kind], byNumber[n] = k, k
		}
		k.Count++
		return k
	}
	var want, drop uint64
	for i, f := range d.ask.Filters[:min(len(d.ask.Filters), 64)] {
		if f.Drop {
			drop |= 1 << i
		} else {
			want |= 1 << i
		}
	}
	passes := func(matched uint64) bool { return matched&want == want && matched&drop == 0 }
	mostActive := func(a, b *of) int {
		if c := cmp.Compare(b.busy, a.busy); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(b.blocked, a.blocked), cmp.Compare(a.id, b.id))
	}
	// There may be a million that do nothing: of these, only those are kept that there may be room for.
	var quiet []*of
	most := d.ask.Goroutines
	walk := &waits.Walk{Window: w, Index: x}
	walk.Event = func(e *exectrace.Event) { d.event(walk, e) }
	walk.Before = walk.Event
	walk.Span = func(s *waits.Span) {
		d.keep(s)
		if d.names.OfRuntime(s.Goroutine, s.Stack) {
			return
		}
		g, _ := s.Goroutine.Mine.(*of)
		if g == nil {
			g = &of{id: s.Goroutine.ID, kind: kindOf(s)}
			s.Goroutine.Mine = g
			all = append(all, g)
		}
		k := g.kind
		g.matched |= d.matched(s.Stack) | d.matched(s.Goroutine.Start)
		state := d.state(s)
		switch {
		case s.State != exectrace.Waiting:
			g.busy += s.Length()
			k.Busy += s.Length()
		case state != Idle:
			g.blocked += s.Length()
			k.blocked += s.Length()
		}
		if s.From >= sure.From && s.To <= sure.To {
			k.time[at][state] += s.Length()
			return
		}
		first, last := int(float64(s.From-w.From)/step), int(float64(s.To-w.From)/step)
		at = min(last, stretches-1)
		sure = waits.Window{From: w.From + int64(float64(at)*step) + 2, To: w.From + int64(float64(at+1)*step) - 2}
		for i := min(first, stretches-1); i <= min(last, stretches-1); i++ {
			from, to := w.From+int64(float64(i)*step), w.From+int64(float64(i+1)*step)
			k.time[i][state] += max(0, min(to, s.To)-max(from, s.From))
		}
	}
	walk.Quiet = func(s *waits.Span) {
		if d.names.OfRuntime(s.Goroutine, s.Stack) {
			return
		}
		g := of{id: s.Goroutine.ID, kind: kindOf(s), state: d.state(s)}
		g.kind.quiet[g.state]++
		switch {
		case s.State != exectrace.Waiting:
			g.busy = s.Length()
			g.kind.Busy += s.Length()
		case g.state != Idle:
			g.blocked = s.Length()
			g.kind.blocked += s.Length()
		}
		if !passes(d.matched(s.Stack) | d.matched(s.Goroutine.Start)) {
			return
		}
		d.Of++
		if n := len(quiet); n < most || n > 0 && mostActive(&g, quiet[n-1]) < 0 {
			at, _ := slices.BinarySearchFunc(quiet, &g, mostActive)
			quiet = slices.Insert(quiet, at, new(g))
			quiet = quiet[:min(n+1, most)]
		}
	}
	if err := walk.Run(t); err != nil {
		return err
	}
	d.end = walk.End
	for _, k := range kinds {
		for i := range k.time {
			from, to := w.From+int64(float64(i)*step), w.From+int64(float64(i+1)*step)
			for state, n := range k.quiet {
				k.time[i][state] += n * (to - from)
			}
		}
	}
	for _, k := range kinds {
		d.Kinds = append(d.Kinds, k.Area)
	}
	order.Stable(d.Kinds, func(a, b Area) int {
		return cmp.Or(cmp.Compare(b.Busy, a.Busy), cmp.Compare(kinds[b.Kind].blocked, kinds[a.Kind].blocked), cmp.Compare(a.Kind, b.Kind))
	})
	if d.MoreKinds = max(0, len(d.Kinds)-mostKinds); d.MoreKinds > 0 {
		d.Kinds = d.Kinds[:mostKinds]
	}
	for i := range d.Kinds {
		a := &d.Kinds[i]
		a.Levels = make([][States]float64, stretches)
		for j, sums := range kinds[a.Kind].time {
			for state, v := range sums {
				a.Levels[j][state] = float64(v) / max(step, 1)
			}
		}
	}
	list := make([]*of, 0, len(all))
	for _, g := range all {
		if passes(g.matched) {
			list = append(list, g)
		}
	}
	d.Of += len(list)
	list = append(list, quiet...)
	for _, g := range order.First(list, d.ask.Goroutines, mostActive) {
		l := &lane{Lane: Lane{Name: g.kind.Kind, ID: g.id, Busy: g.busy}, number: len(d.lanes)}
		d.lanes[g.id] = l
		if g.state != Nothing {
			d.add(l, w.From, w.To, g.state)
		}
	}
	return nil
}

// matched tells which filters a stack matches.
func (d *drawing) matched(s exectrace.Stack) (bits uint64) {
	if len(d.ask.Filters) == 0 || s == 0 {
		return 0
	}
	bits, ok := d.known[s]
	if !ok {
		for i, f := range d.ask.Filters[:min(len(d.ask.Filters), 64)] {
			if slices.ContainsFunc(d.trace.Frames(s), func(x exectrace.Frame) bool { return f.Matches(x.Func) }) {
				bits |= 1 << i
			}
		}
		d.known[s] = bits
	}
	return bits
}

func (d *drawing) state(s *waits.Span) State {
	if s.State == exectrace.Waiting && d.names.Idle(s) {
		return Idle
	}
	return State(requests.WhatOf(d.names, s)) + 1
}

// draw draws the goroutines that are chosen, and ends what goes on.
func (d *drawing) draw(x *waits.Index, t *exectrace.Trace) error {
	if !d.many {
		for i := range d.spans {
			if l := d.lanes[d.spans[i].goroutine]; l != nil {
				d.span(l, &d.spans[i])
			}
		}
	} else if err := d.again(x, t); err != nil {
		return err
	}
	d.finish()
	return nil
}

// again goes through the window once more, for the goroutines that are drawn.
func (d *drawing) again(x *waits.Index, t *exectrace.Trace) error {
	walk := &waits.Walk{Window: d.ask.Window, Index: x}
	walk.Quiet = func(*waits.Span) {} // choose has drawn those
	walk.Only = func(id int64) bool { return d.lanes[id] != nil }
	walk.Span = func(s *waits.Span) {
		one := d.spanOf(s)
		d.span(d.lanes[s.Goroutine.ID], &one)
	}
	return walk.Run(t)
}

func (d *drawing) finish() {
	if len(d.Wakes) == mostWakes {
		d.Wakes = nil // nobody could tell them apart
	}
	for _, l := range slices.Concat(d.procs, []*lane{d.mark, d.stop}) {
		if l != nil && l.since >= 0 {
			d.add(l, l.since, d.end, l.state)
		}
	}
	for _, l := range d.procs {
		if l != nil {
			d.flush(l)
			d.Procs = append(d.Procs, l.Lane)
		}
	}
	for _, l := range []*lane{d.mark, d.stop} {
		d.flush(l)
		d.Collector = append(d.Collector, l.Lane)
	}
	drawn := slices.SortedFunc(maps.Values(d.lanes), func(a, b *lane) int { return cmp.Compare(a.number, b.number) })
	for _, l := range drawn {
		d.flush(l)
		d.Goroutines = append(d.Goroutines, l.Lane)
	}
}

// event follows what processors and the collector do.
func (d *drawing) event(w *waits.Walk, e *exectrace.Event) {
	switch e.Kind {
	case exectrace.ProcStart:
		if e.Proc < 0 || int(e.Proc) >= len(d.procs) || d.procs[e.Proc].state == Nothing { // and not stated anew
			d.proc(e, scheduling)
		}
	case exectrace.ProcStop:
		d.proc(e, Nothing)
	case exectrace.Change:
		switch {
		case e.From == e.To, e.Proc < 0:
		case e.To == exectrace.Running:
			state := running
			if g := w.Of(e); g != nil && g.Worker != "" {
				state = collecting
			}
			d.proc(e, state)
		case e.To == exectrace.Syscall:
			d.proc(e, inSyscall)
		case e.From == exectrace.Running:
			d.proc(e, scheduling)
		}
	case exectrace.RangeBegin, exectrace.RangeActive, exectrace.RangeEnd:
		l := d.stop
		switch {
		case e.Name == waits.MarkRange:
			l = d.mark
		case !waits.IsStop(e.Name):
			return
		}
		if e.Kind != exectrace.RangeEnd {
			if l.since < 0 {
				l.since, l.state = e.Time, collecting
			}
			return
		}
		if l.since < 0 {
			l.since = d.ask.Window.From
		}
		d.add(l, l.since, e.Time, collecting)
		l.since = -1
	}
}

func (d *drawing) proc(e *exectrace.Event, state State) {
	if e.Proc < 0 || e.Proc >= mostProcs {
		return
	}
	for int(e.Proc) >= len(d.procs) {
		d.procs = append(d.procs, &lane{Lane: Lane{ID: int64(len(d.procs))}, since: -1})
	}
	l := d.procs[e.Proc]
	switch {
	case l.since < 0: // which is stated
		l.since = d.ask.Window.From
	case e.Kind == exectrace.Change && e.From == exectrace.Unknown && l.state == scheduling: // for as long as that is known
	default:
		d.add(l, l.since, e.Time, l.state)
		l.since = e.Time
	}
	l.state = state
}

// requests draws the requests of the window: the longest first, each in the first lane that has room.
func (p *Picture) requests(found []requests.Request) {
	w := p.Window
	first, _ := slices.BinarySearchFunc(found, w.From, func(r requests.Request, at int64) int { return cmp.Compare(r.To, at) })
	var list []*requests.Request
	for i := first; i < len(found); i++ {
		if r := &found[i]; r.From < w.To {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *requests.Request) int {
		if c := cmp.Compare(b.Took(), a.Took()); c != 0 {
			return c
		}
		return cmp.Compare(a.Number, b.Number)
	})
	scale := float64(p.Pixels) / float64(w.To-w.From)
	taken := make([][]bool, mostRequests)
	pure := map[State]int{}
	for _, r := range list {
		from, to := int(float64(max(r.From, w.From)-w.From)*scale), int(float64(min(r.To, w.To)-w.From)*scale)
		from = min(from, p.Pixels-1)
		to = min(max(to, from+1), p.Pixels)
		row := slices.IndexFunc(taken, func(t []bool) bool { return t == nil || !slices.Contains(t[from:to], true) })
		if row < 0 {
			p.Small++
			continue
		}
		if taken[row] == nil {
			taken[row] = make([]bool, p.Pixels)
			p.Requests = append(p.Requests, Lane{})
		}
		for i := from; i < to; i++ {
			taken[row][i] = true
		}
		state := State(r.Most()) + 1
		mix, ok := pure[state]
		if !ok {
			mix = slices.IndexFunc(p.Mixes, func(m []Part) bool { return len(m) == 1 && m[0] == Part{state, whole} })
			if mix < 0 {
				mix = len(p.Mixes)
				p.Mixes = append(p.Mixes, []Part{{state, whole}})
			}
			pure[state] = mix
		}
		l := &p.Requests[row]
		l.Runs = append(l.Runs, Run{At: from, Width: to - from, Mix: mix, ID: r.Number})
		l.Busy += r.Took()
	}
	for i := range p.Requests {
		order.Stable(p.Requests[i].Runs, func(a, b Run) int { return cmp.Compare(a.At, b.At) })
	}
}
