package waits

import (
	"iter"
	"sync"

	"github.com/hone-perf/hone/internal/exectrace"
)

// An Index is what is known of a trace that was read once, so that a part of it can be read without all that comes before.
type Index struct {
	Begin, End int64
	Events     int64

	notes   []string
	mu      sync.Mutex // a trace is read by one at a time
	trace   *exectrace.Trace
	names   *Names
	carried []carried // in the order of their ends
}

// A carried is what a goroutine did when a border of the trace was passed. A trace says there what state it is in, and not since when or why.
type carried struct {
	goroutine Goroutine // as it was
	from, to  int64
}

// maxCarried bounds what an index keeps. Without all of it, a trace is read from the begin.
const maxCarried = 1 << 20

// NewIndex reads a trace once. With a walk, which may be nil, that goes through it.
func NewIndex(t *exectrace.Trace, walk *Walk) (*Index, error) {
	x := &Index{trace: t, names: NewNames(t)}
	if walk == nil {
		walk = &Walk{}
	}
	walk.carried = &x.carried
	if err := walk.Run(t); err != nil {
		return nil, err
	}
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

func (w *Walk) carry(g *Goroutine, now int64) {
	if len(*w.carried) >= maxCarried {
		return
	}
	c := carried{*g, g.since, now}
	c.goroutine.Mine = nil
	if g.state == exectrace.Waiting {
		c.goroutine.by, c.goroutine.at = 0, 0 // that came later
	}
	*w.carried = append(*w.carried, c)
}

// seek returns the events from before the window of a walk on, and has the walk know what there was then.
func (x *Index) seek(w *Walk) (begin int64, events iter.Seq2[*exectrace.Event, error]) {
	if len(x.carried) >= maxCarried || w.Window.From == 0 {
		return 0, x.trace.Events()
	}
	begin, events = x.trace.EventsFrom(w.Window.From)
	if begin == 0 {
		return 0, events
	}
	for i := range x.carried {
		// What ended before the border was passed is said by the events that follow, or is over.
		if c := &x.carried[i]; c.from < begin && c.to >= begin {
			g := c.goroutine
			g.since = c.from
			w.Goroutines[g.ID] = &g
		}
	}
	return begin, events
}
