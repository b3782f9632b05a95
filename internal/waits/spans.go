// Package waits turns an execution trace into answers about time.
//
// A Walk goes through the events and yields Spans: what each goroutine did from when to when. The other answers are built on it: a Profile
// of where goroutines waited, Places and Wakers for the waits at one place, a Summary of Ps, goroutines and the collector, and Idleness for
// idle Ps. An Index makes later walks over a part of a long trace cheap.
package waits

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/unit"
)

// A Span is a time in which a goroutine did one thing.
type Span struct {
	Goroutine *Goroutine
	State     exectrace.State
	From, To  int64 // nanoseconds from the begin of the trace, in the window
	Since     int64 // when it began, which may have been before the window

	// Stack is where the goroutine waits, calls the system, or gave its P away; where it starts, for one that is new and ready; and
	// of one that runs, where it is at the end of that.
	Stack  exectrace.Stack
	Reason exectrace.Reason // of waiting, and of being ready after it was preempted or yielded

	// By woke or created the goroutine, so that it is ready; 0 is the scheduler, a timer or the network poller. Of a span of waiting it is
	// who ended it.
	By      int64
	ByStack exectrace.Stack

	Assist bool // it worked for the collector
	Again  bool // it waits where it waited before and went on: in a loop
	Begun  bool // it began before the trace, or before what is asked for
	Open   bool // it had not ended by the end of the trace
	Last   bool // the goroutine ended with it
	Taken  bool // who took it from Walk.Span does not need it from Walk.Named
}

// Length is how long it took, in nanoseconds.
func (s *Span) Length() int64 { return s.To - s.From }

// A Goroutine is what is known about a goroutine. When that has ended, it may become that of another one.
type Goroutine struct {
	ID      int64
	Number  uint32          // in the order in which all of a trace came by those that there were, from 0; or NoNumber
	Start   exectrace.Stack // its function; of one from before the trace, where it stood
	Created exectrace.Stack // where it was created; 0 for one from before the trace
	Creator int64
	Worker  string // of the collector, in the words of the runtime
	Mine    any    // what whoever goes through the trace keeps of it

	state  exectrace.State
	since  int64
	begun  bool
	stack  exectrace.Stack
	reason exectrace.Reason
	by     int64
	at     exectrace.Stack
	assist bool // in a mark assist
	again  bool
	last   bool               // it ends now
	loops  [2]exectrace.Stack // where it waited last in the function that it is there for

	kind   uint32 // see Names
	worker bool   // the kind is that of a worker
}

// NoNumber is the Number of a goroutine that a walk with an Index came by, and that was not there before.
const NoNumber = math.MaxUint32

// A Window is the time of a trace that is asked for, in nanoseconds from its begin. To is 0 for all that follows.
type Window struct{ From, To int64 }

func (w Window) end() int64 {
	if w.To == 0 {
		return math.MaxInt64
	}
	return w.To
}

// A Walk goes through a trace.
type Walk struct {
	Window Window
	Span   func(*Span)            // takes the spans of goroutines, cut to the window, in the order of their ends; may be nil
	Named  func(*Span)            // takes them after that; where only a later stack tells what a goroutine is for, when that is known. May be nil
	Event  func(*exectrace.Event) // takes the events of the window before what they mean for goroutines; may be nil
	Names  *Names                 // of the trace, where others ask for them, too; may be nil
	Before func(*exectrace.Event) // takes what came before the window, in which Ps and the collector came to what they do; may be nil

	Index *Index                     // of the trace, so that what comes before the window need not be read; may be nil
	Quiet func(*Span)                // with an Index: takes what lasts all of the window, which then is neither in Goroutines nor handed to Span; may be nil
	Only  func(goroutine int64) bool // those that alone are of interest, asked once for each; nil is all of them

	Begin, End int64 // of what was seen, after Run
	Events     int64
	Goroutines map[int64]*Goroutine // those that are there; after Run, at the end
	Born       int64                // goroutines, in the window

	span    Span
	stopped bool
	keeper  *keeper // takes what lasts beyond a border of the trace; may be nil
	names   *Names
	loops   map[exectrace.Stack]int64 // stacks on which a goroutine waited for the second time, and since when that is known
	begin   int64                     // of the trace
	numbers uint32                    // of goroutines
	quiet   bits                      // goroutines that Quiet took; nil where it takes none
	still   Goroutine                 // the one that Quiet takes
	ended   []*Goroutine              // room for new ones
	held    map[*Goroutine][]Span     // for Named, in their order
	other   Goroutine                 // stands for those that are not of interest
}

// Run goes through the trace once. What could not be read is in its Damage afterwards.
func (w *Walk) Run(t *exectrace.Trace) error {
	w.Goroutines = map[int64]*Goroutine{}
	w.begin = t.Begin()
	w.Window.From = max(w.Window.From, w.begin)
	w.Begin, w.End = w.Window.From, w.Window.From
	end := w.Window.end()
	last := int64(0)
	events := t.Events()
	if w.Index != nil {
		w.names, w.loops, w.numbers = w.Index.names, w.Index.loops, NoNumber
		last, events = w.Index.seek(w)
	} else {
		if w.names = w.Names; w.names == nil {
			w.names = NewNames(t)
		}
		w.loops = map[exectrace.Stack]int64{}
	}
	for e, err := range events {
		if err != nil {
			return err
		}
		last = e.Time
		if w.keeper != nil {
			w.keeper.pass(t, e)
		}
		if w.stopped {
			break
		}
		if e.Time >= end {
			if t.Parts() == 0 || t.Part() > 0 || w.quiet != nil {
				break
			}
			// What was there from the begin is stated as late as at the end of the first part.
			if e.Kind == exectrace.Change && e.From == exectrace.Unknown {
				w.take(e)
			}
			continue
		}
		if e.Time >= w.Window.From {
			w.Events++
			if w.Event != nil {
				w.Event(e)
			}
		} else if w.Before != nil {
			w.Before(e)
		}
		if e.Kind == exectrace.Change {
			w.change(e)
		} else {
			w.take(e)
		}
	}
	if err := w.Window.outside(w.begin, last); err != nil {
		return err
	}
	w.End = max(w.Begin, min(last, end))
	for _, id := range slices.Sorted(maps.Keys(w.Goroutines)) {
		g := w.Goroutines[id]
		w.close(g, w.End, true)
		w.release(g)
	}
	return nil
}

// outside says so where a trace has nothing of a window.
func (w Window) outside(begin, last int64) error {
	switch {
	case w.end() <= begin:
		return &OutsideError{Begin: begin}
	case last < w.From && w.From > begin:
		return &OutsideError{begin, last}
	}
	return nil
}

// An OutsideError says that a time was asked for that a trace has nothing of.
type OutsideError struct{ Begin, End int64 } // of the trace; an End of 0 is not known

func (e *OutsideError) Error() string {
	switch {
	case e.End == 0:
		return "the trace begins at " + unit.Time(time.Duration(e.Begin)) + " of the recording"
	case e.Begin > 0:
		return fmt.Sprintf("the trace is from %s to %s of the recording", unit.Time(time.Duration(e.Begin)), unit.Time(time.Duration(e.End)))
	}
	return "the trace ends after " + unit.Time(time.Duration(e.End))
}

// Of returns what is known of the goroutine that an event is about, before what that means for it; nil where there is nothing.
func (w *Walk) Of(e *exectrace.Event) *Goroutine {
	if e.Slot == nil {
		return w.Goroutines[e.Goroutine]
	}
	g, _ := e.Slot.Value.(*Goroutine)
	switch g {
	case nil:
		return w.Goroutines[e.Goroutine]
	case &w.other:
		return nil
	}
	return g
}

// Stop has Run end with the event that it is at.
func (w *Walk) Stop() { w.stopped = true }

func (w *Walk) take(e *exectrace.Event) {
	switch e.Kind {
	case exectrace.Change:
		w.change(e)
	case exectrace.Label:
		if g := w.Goroutines[e.Goroutine]; g != nil {
			g.Worker = e.Name
		}
	case exectrace.RangeBegin, exectrace.RangeActive, exectrace.RangeEnd:
		g := w.Goroutines[e.Goroutine]
		if e.Goroutine <= 0 || g == nil || e.Name != assistRange {
			return
		}
		// What it did before is no assist, and the other way round.
		if e.Stack != 0 && g.state == exectrace.Running {
			g.stack = e.Stack
		}
		w.close(g, e.Time, false)
		g.since, g.begun = e.Time, false
		g.assist = e.Kind != exectrace.RangeEnd
	}
}

// assistRange is what the runtime calls the work for the collector that a goroutine does when it allocates.
const assistRange = "GC mark assist"

// maxEnded is how many goroutines that ended are kept to be used again.
const maxEnded = 1 << 10

func (w *Walk) change(e *exectrace.Event) {
	g, _ := e.Slot.Value.(*Goroutine)
	switch {
	case g == &w.other:
		return
	case g == nil && e.From != exectrace.Absent:
		if g = w.Goroutines[e.Goroutine]; g != nil {
			e.Slot.Value = g
		}
	}
	if g == nil && (e.From == exectrace.Unknown || e.From == e.To) && w.quiet.has(e.Goroutine) {
		return
	}
	if g == nil && w.Only != nil && !w.Only(e.Goroutine) {
		e.Slot.Value = &w.other
		return
	}
	if g == nil {
		if n := len(w.ended); n > 0 {
			g, w.ended = w.ended[n-1], w.ended[:n-1]
		} else {
			g = new(Goroutine)
		}
		*g = Goroutine{ID: e.Goroutine, Number: w.numbers, since: e.Time}
		if w.Index == nil {
			w.numbers++
		}
		w.Goroutines[e.Goroutine] = g
		e.Slot.Value = g
		switch {
		case e.From == exectrace.Absent:
			g.Start, g.Created, g.Creator = e.Own, e.Stack, e.By
			if e.Time >= w.Window.From {
				w.Born++
			}
		default:
			g.Start, g.begun, g.state = e.Own, true, exectrace.Unknown
			g.since = w.begin
		}
	}
	if e.From == e.To || e.From == exectrace.Unknown && e.To == g.state {
		// A generation says what is known; where a trace is damaged it is news.
		if g.state != e.To {
			g.state, g.since, g.begun = e.To, e.Time, true
		}
		if g.stack == 0 {
			g.stack = e.Own
		}
		return
	}
	switch {
	case g.state == exectrace.Unknown && e.From == exectrace.Unknown:
		// It has been so since before the trace.
		g.state, g.stack = e.To, e.Own
		return
	case e.To == exectrace.Ready && (g.state == exectrace.Waiting || e.From == exectrace.Waiting):
		g.by, g.at = e.By, e.Stack
	}
	if g.state == exectrace.Running {
		g.stack = e.Stack
		if e.By != g.ID {
			g.stack = 0
		}
	}
	g.last = e.To == exectrace.Absent
	w.close(g, e.Time, false)
	was := g.state
	g.state, g.since, g.begun = e.To, e.Time, false
	switch e.To {
	case exectrace.Absent:
		w.release(g)
		delete(w.Goroutines, g.ID)
		e.Slot.Value = nil
		if len(w.ended) < maxEnded {
			w.ended = append(w.ended, g)
		}
	case exectrace.Waiting, exectrace.Syscall:
		g.stack, g.reason, g.by, g.at, g.again = e.Stack, e.Reason, 0, 0, false
		if e.From == exectrace.Absent {
			g.stack = e.Own
		}
		if e.To == exectrace.Waiting && w.names.of(g.stack).loop {
			w.looks(g, e.Time)
		}
	case exectrace.Ready:
		switch {
		case e.From == exectrace.Absent:
			g.stack, g.by, g.at = e.Own, e.By, e.Stack
		case was == exectrace.Running:
			g.stack, g.reason, g.by, g.at = e.Stack, e.Reason, 0, 0
		case was == exectrace.Syscall:
			g.reason, g.by, g.at = exectrace.NoReason, 0, 0
		}
	}
}

// looks tells whether a goroutine that begins to wait does so in a loop: it waited there before, or one like it did so twice.
func (w *Walk) looks(g *Goroutine, now int64) {
	since, known := w.loops[g.stack]
	if g.stack == g.loops[0] || g.stack == g.loops[1] {
		if !known {
			w.loops[g.stack] = now
		}
		g.again = true
		return
	}
	g.loops[0], g.loops[1] = g.stack, g.loops[0]
	g.again = known && since < now
}

// close hands on what a goroutine did until now.
func (w *Walk) close(g *Goroutine, now int64, open bool) {
	if g.state == exectrace.Unknown || g.state == exectrace.Absent {
		return
	}
	if w.keeper != nil && (g.since < w.keeper.border || g.begun && g.since == w.begin) {
		w.keeper.carry(g, now)
	}
	if w.Span == nil && w.Named == nil {
		return
	}
	from := max(g.since, w.Window.From)
	if now < from || now == from && g.since < from {
		return
	}
	// Field by field: a Span that is made elsewhere would be copied.
	p := &w.span
	p.Goroutine, p.State, p.From, p.To, p.Since, p.Stack = g, g.state, from, now, g.since, g.stack
	p.Begun, p.Open, p.Again, p.Assist = g.begun || g.since < from, open, g.again, g.assist
	p.Last, p.Taken = g.last, false
	if g.state == exectrace.Running || g.state == exectrace.Syscall {
		p.Reason, p.By, p.ByStack = exectrace.NoReason, 0, 0
	} else {
		p.Reason, p.By, p.ByStack = g.reason, g.by, g.at
	}
	if w.Span != nil {
		w.Span(p)
	}
	if w.Named != nil && !p.Taken {
		w.name(p)
	}
}

// maxHeld bounds what is held back of a goroutine; nothing said by then what it is for.
const maxHeld = 64

// name hands a span to Named, or holds it back until it is known what its goroutine is for.
func (w *Walk) name(s *Span) {
	g := s.Goroutine
	if _, sure := w.names.kindOn(g, s.Stack); !sure && w.names.of(g.Start).only && len(w.held[g]) < maxHeld {
		if w.held == nil {
			w.held = map[*Goroutine][]Span{}
		}
		w.held[g] = append(w.held[g], *s)
		return
	}
	w.release(g)
	w.Named(s)
}

// release hands on what was held back of a goroutine.
func (w *Walk) release(g *Goroutine) {
	if len(w.held) == 0 || w.held[g] == nil {
		return
	}
	list := w.held[g]
	delete(w.held, g)
	for i := range list {
		w.Named(&list[i])
	}
}
