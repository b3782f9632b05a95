package waits

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hone-perf/hone/internal/exectrace"
)

// An Index is what is known of a trace that was read once, so that a part of it can be read without all that comes before.
type Index struct {
	Begin, End int64
	Events     int64

	notes []string
	mu    sync.Mutex // a trace is read by one at a time
	trace *exectrace.Trace
	names *Names
	loops map[exectrace.Stack]int64 // see Walk
	keeper
}

// A keeper keeps what is going on at the borders of a trace, while that is read once.
type keeper struct {
	carried [][]carried          // in the order of their ends, so many at a time
	as      []Goroutine          // what is known of those that were carried
	same    map[Goroutine]uint32 // numbers of these
	stood   [][]exectrace.Event  // by border: what Ps and the collector were doing
	kept    int                  // of these events

	border int64 // when the last one was passed
	most   int64 // number of a goroutine that was carried
	now    standing
}

// A carried is what a goroutine did when the trace began or a border of it was passed. A trace says there what state it is in, and not since when or why.
type carried struct {
	id       int64
	from, to int64
	number   uint32
	as       uint32 // number of what else was known of it
}

// maxCarried bounds what an index keeps. Without all of it, a trace is read from the begin.
const (
	maxCarried = 1 << 20
	carriedAt  = 1 << 13 // a time
	maxSame    = 1 << 14 // of these it is known that they are the same
	maxStood   = 1 << 17
	maxQuiet   = 1 << 28 // numbers of goroutines for which there is a bit
)

// complete reports whether all was kept.
func (k *keeper) complete() bool { return len(k.carried) <= maxCarried/carriedAt && k.kept <= maxStood }

// NewIndex reads a trace once. With a walk, which may be nil, that goes through it.
func NewIndex(t *exectrace.Trace, walk *Walk) (*Index, error) {
	x := &Index{trace: t}
	if walk == nil {
		walk = &Walk{}
	}
	walk.keeper = &x.keeper
	if err := walk.Run(t); err != nil {
		return nil, err
	}
	x.names, x.loops, x.same = walk.names, walk.loops, nil
	x.Begin, x.End, x.Events, x.notes = walk.Begin, walk.End, walk.Events, DamageNotes(t)
	return x, nil
}

// Notes say what of the trace could not be read.
func (x *Index) Notes() []string { return x.notes }

// Read has somebody read the trace, alone.
func (x *Index) Read(f func(*exectrace.Trace, *Names) error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return f(x.trace, x.names)
}

// pass takes an event, before it is anything's news.
func (k *keeper) pass(t *exectrace.Trace, e *exectrace.Event) {
	if part := t.Part(); part >= len(k.stood) {
		k.border = e.Time
		list := k.now.events()
		if k.kept += len(list); k.kept > maxStood {
			list = nil
		}
		for len(k.stood) <= part {
			k.stood = append(k.stood, list)
		}
	}
	k.now.take(e)
}

func (k *keeper) carry(g *Goroutine, now int64) {
	if g.ID < 0 || !k.complete() {
		return
	}
	as := *g
	as.ID, as.Number, as.Mine, as.since = 0, 0, nil, 0
	if g.state == exectrace.Waiting {
		as.by, as.at = 0, 0 // that came later
	}
	number, ok := k.same[as]
	if !ok {
		if k.same == nil || len(k.same) == maxSame {
			k.same = map[Goroutine]uint32{}
		}
		number = uint32(len(k.as))
		k.as = append(k.as, as)
		k.same[as] = number
	}
	n := len(k.carried)
	if n == 0 || len(k.carried[n-1]) == carriedAt {
		k.carried = append(k.carried, make([]carried, 0, carriedAt))
		n++
	}
	k.carried[n-1] = append(k.carried[n-1], carried{g.ID, g.since, now, g.Number, number})
	k.most = max(k.most, g.ID)
}

// A standing is what Ps and the collector do, as the events by which they came to it.
type standing struct {
	procs  []exectrace.Event // the zero one where nothing is known
	within []exectrace.Event // what the goroutine of the P does
	ranges map[string]exectrace.Event
	most   exectrace.Event // how many Ps there are
}

// maxStanding bounds the Ps that are followed.
const maxStanding = 1 << 12

func (s *standing) take(e *exectrace.Event) {
	var to *exectrace.Event
	switch e.Kind {
	case exectrace.ProcStart, exectrace.ProcStop:
		if e.Proc < 0 || e.Proc >= maxStanding {
			return
		}
		for int(e.Proc) >= len(s.procs) {
			s.procs, s.within = append(s.procs, exectrace.Event{}), append(s.within, exectrace.Event{})
		}
		to, s.within[e.Proc] = &s.procs[e.Proc], exectrace.Event{}
	case exectrace.Change:
		if e.From == e.To || e.Proc < 0 || int(e.Proc) >= len(s.within) || e.To != exectrace.Running && e.To != exectrace.Syscall && e.From != exectrace.Running {
			return
		}
		to = &s.within[e.Proc]
	case exectrace.Metric:
		if e.Name != procsMetric {
			return
		}
		to = &s.most
	case exectrace.RangeBegin, exectrace.RangeActive:
		if e.Name != MarkRange && !strings.HasPrefix(e.Name, stopRange) {
			return
		}
		if s.ranges == nil {
			s.ranges = map[string]exectrace.Event{}
		}
		kept := *e
		kept.Slot = nil
		s.ranges[e.Name] = kept
		return
	case exectrace.RangeEnd:
		delete(s.ranges, e.Name)
		return
	default:
		return
	}
	*to = *e
	to.Slot = nil // or the decoder's goroutine stays
}

func (s *standing) events() (list []exectrace.Event) {
	add := func(e exectrace.Event) {
		if e.Kind != 0 {
			list = append(list, e)
		}
	}
	add(s.most)
	for i := range s.procs {
		add(s.procs[i])
		add(s.within[i])
	}
	for _, name := range slices.Sorted(maps.Keys(s.ranges)) {
		add(s.ranges[name])
	}
	return list
}

// seek returns the events from before the window of a walk on, and has the walk know what there was then.
func (x *Index) seek(w *Walk) (begin int64, events iter.Seq2[*exectrace.Event, error]) {
	if !x.complete() {
		return 0, x.trace.Events()
	}
	border, begin, events := x.trace.EventsFrom(w.Window.From)
	end := min(w.Window.end(), x.End)
	if w.Quiet != nil && x.most < maxQuiet {
		w.quiet = newBits(x.most)
	}
	for _, list := range x.carried {
		for i := range list {
			c := &list[i]
			// What ended before the border was passed is said by the events that follow, or is over.
			if c.to < begin || c.from >= begin && (border > 0 || c.from > x.Begin || !x.as[c.as].begun) || w.Only != nil && !w.Only(c.id) {
				continue
			}
			quiet := w.quiet != nil && c.to >= end
			if !quiet && border == 0 {
				continue
			}
			g := &w.still
			if !quiet {
				g = new(Goroutine)
				w.Goroutines[c.id] = g
			}
			*g = x.as[c.as]
			g.ID, g.Number, g.since = c.id, c.number, c.from
			if !quiet {
				continue
			}
			w.quiet.add(c.id)
			w.span = Span{Goroutine: g, State: g.state, From: w.Window.From, To: end, Since: c.from, Stack: g.stack, Again: g.again, Assist: g.assist, Begun: true, Open: true}
			if g.state != exectrace.Running && g.state != exectrace.Syscall {
				w.span.Reason, w.span.By, w.span.ByStack = g.reason, g.by, g.at
			}
			w.Quiet(&w.span)
		}
	}
	if w.Before != nil && border > 0 && border < len(x.stood) {
		for i := range x.stood[border] {
			w.Before(&x.stood[border][i])
		}
	}
	return begin, events
}

// bits are a set of numbers.
type bits []uint64

func newBits(most int64) bits { return make(bits, most/64+1) }

func (b bits) add(n int64) { b[n/64] |= 1 << (n % 64) }

func (b bits) has(n int64) bool { return n >= 0 && n/64 < int64(len(b)) && b[n/64]&(1<<(n%64)) != 0 }
