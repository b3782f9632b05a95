// Package lanes draws an execution trace over time, in the detail that fits the width of a picture: lanes for Ps, the collector, requests,
// kinds of goroutines, and single goroutines.
//
// NewIndex reads a trace once. Draw then adds up any window of it. What begins and ends within one pixel is not lost: a pixel with several
// things in it says what share each has.
package lanes

import (
	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/requests"
	"github.com/hone-perf/hone/internal/waits"
)

// A State is what fills a part of a lane.
type State uint8

const (
	Nothing    State = 0                         // idle Ps, time before and after a goroutine or a request
	scheduling       = State(requests.Whats) + 1 // a P runs no goroutine: it looks for one
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
	ID   int64 // of a goroutine, a P
	Busy int64 // nanoseconds in the window in which it ran, could run, or was in a system call
	Runs []Run
}

// An Area is how many goroutines of a kind were in what state, as means of stretches of pixels.
type Area struct {
	Kind   string
	Count  int               // goroutines
	Most   int               // of them, that there were at a time
	Busy   int64             // nanoseconds, of all of them, that they did not wait for work
	Levels [][States]float64 // by Stretch of pixels
	Means  [States]float64   // of Levels, by how long they were
}

// A Wake is a point at which one goroutine of a picture ended the wait of another.
type Wake struct {
	At       int64
	From, To int // numbers of lanes of Picture.Goroutines
}

// A Picture is a window of a trace. Its pixels are of a power of two in nanoseconds, and begin at multiples of that, wherever the window does: the first and
// the last may be cut by it.
type Picture struct {
	Window waits.Window
	Start  int64    // of the first pixel
	Pixel  int64    // nanoseconds of each
	Pixels int      // how many there are
	Mixes  [][]Part // that runs have; a pure one is one part of sixteen sixteenths

	Procs      []Lane
	Collector  []Lane // marking, stops of the world
	Requests   []Lane // each has requests one after the other
	Small      int    // requests that are left out because they are narrow, or there is no room
	Kinds      []Area
	MoreKinds  int
	Goroutines []Lane
	Of         int    // goroutines of the window that match
	Wakes      []Wake // none where there are too many to tell them apart
}

// What a picture has at most.
const (
	mostRequests = 12 // lanes of them
	mostKinds    = 16
	mostWakes    = 150
	stretch      = 2 // binary logarithm of Stretch
)

// Stretch is of how many pixels the levels of kinds are means.
const (
	Stretch = 1 << stretch
)

// An Ask is what is to be drawn.
type Ask struct {
	Window     waits.Window // To is not 0
	Pixels     int          // there are so many at most, and more than half of that unless the window has fewer nanoseconds
	Goroutines int          // how many, at most
	Filters    []Filter     // that single goroutines have to pass
}

// A Filter is about functions on the stacks that a goroutine had in the window. All filters have to be passed.
type Filter struct {
	Matches func(function string) bool
	Drop    bool // those that have a function that matches
}

// Draw draws a window of a trace: from the log of the index, or, where there are filters, which it knows nothing of, or the trace is too large
// for it, from what happened.
func (x *Index) Draw(ask Ask) (*Picture, error) {
	var d *drawing
	err := x.Read(func(t *exectrace.Trace, names *waits.Names) error {
		d = newDrawing(x, ask)
		if x.log != nil && len(ask.Filters) == 0 {
			d.fromLog()
			return nil
		}
		e := &events{drawing: d, trace: t, names: names, known: map[exectrace.Stack]uint64{}}
		return e.draw()
	})
	if err != nil {
		return nil, err
	}
	d.finish()
	d.drawRequests()
	return d.Picture, nil
}
