package exectrace

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
)

// A Trace is an execution trace that was opened. It may be read more than once, not by two goroutines at a time.
type Trace struct {
	Version int // of Go, as the header has it: 22 for "go 1.22 trace"

	r      io.ReaderAt
	size   int64
	names  names
	damage []Damage
	lost   int    // how often something could not be read
	onLost func() // called each time
	wall   int64
	zero   int64 // time of day at Event.Time 0, where that is not the begin
	begin  int64 // Event.Time of the begin
	some   bool  // an event was yielded

	borders []border // of what was read by now
	part    int      // number of the border that was passed last
}

// A border is where a generation begins: about each second, a trace says again what there is.
type border struct {
	off    int64
	number uint64
	time   int64 // Event.Time of what follows, at least
	base   int64 // see decoder
	baseAt uint64
	unit   float64
}

// ErrNoTrace says that a file does not begin as an execution trace does.
var ErrNoTrace = errors.New("not a Go execution trace")

// headerLen is the length of "go 1.22 trace" and three zeros.
const headerLen = 16

// Is reports whether a file that begins so is an execution trace; 16 bytes suffice.
func Is(begin []byte) bool {
	_, ok := version(begin)
	return ok
}

// version reads "go 1.NN trace\0\0\0"; before Go 1.10 a version had one digit.
func version(begin []byte) (v int, ok bool) {
	if len(begin) < headerLen || string(begin[:5]) != "go 1." || string(begin[7:headerLen]) != " trace\x00\x00\x00" {
		return 0, false
	}
	for _, c := range begin[5:7] {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = 10*v + int(c-'0')
	}
	return v, true
}

// Open looks at the header of a trace of size bytes.
func Open(r io.ReaderAt, size int64) (*Trace, error) {
	var begin [headerLen]byte
	n, err := r.ReadAt(begin[:], 0)
	if n < headerLen {
		if err == nil || errors.Is(err, io.EOF) {
			err = ErrNoTrace
		}
		return nil, err
	}
	v, ok := version(begin[:])
	switch {
	case !ok:
		return nil, ErrNoTrace
	case v < 11:
		return nil, fmt.Errorf("the execution trace is of Go 1.%d; hone reads those of Go 1.11 and later", v)
	}
	return &Trace{Version: v, r: r, size: size, names: newNames()}, nil
}

// CountFrom has Event.Time count from a time of day, in Unix nanoseconds, and not from the begin, if the trace knows the time of day: since Go 1.25.
// It is called before anything is read.
func (t *Trace) CountFrom(wall int64) { t.zero = wall }

// Begin is the Event.Time of the begin of the trace.
func (t *Trace) Begin() int64 {
	if t.zero != 0 && t.wall == 0 && t.Version >= 25 {
		for range t.Events() {
			break // that was read with the first event
		}
	}
	return t.begin
}

// End is the Event.Time of the last event. Of a trace of Go 1.22 or later, it reads no more than the last part for that.
func (t *Trace) End() (int64, error) {
	again, err := Open(t.r, t.size) // or the borders of t would not be in order
	if err != nil {
		return 0, err
	}
	again.zero = t.zero
	end, from := again.Begin(), border{off: headerLen}
	if again.Version >= 22 {
		for range again.Events() {
			break
		}
		s := &scanner{t: again, off: headerLen}
		for len(again.borders) > 0 {
			g, err := s.next()
			if err != nil {
				return 0, err
			}
			if g == nil {
				break
			}
			if from = again.borders[0]; g.begin > from.off {
				from.off, from.number = g.begin, g.number // its time is known by that of the first one
			}
		}
	}
	for e, err := range again.from(from) {
		if err != nil {
			return 0, err
		}
		end = e.Time
	}
	return end, nil
}

// Events yields the events of the trace, in order. The Event is only valid until the next one. What cannot be read is skipped, and in
// Damage afterwards; only a trace of which nothing can be read is an error, yielded once with a nil Event.
func (t *Trace) Events() iter.Seq2[*Event, error] { return t.from(border{off: headerLen}) }

// Parts is how many parts of the trace are known that can be read by themselves, of about a second each. Those are known that Events came by;
// traces from before Go 1.22 have none.
func (t *Trace) Parts() int { return len(t.borders) }

// Part is the number of the part that the last event was of. Goroutines and Ps of which nothing happens are stated as late as at the end of one.
func (t *Trace) Part() int { return t.part }

// EventsFrom yields events as Events does, from the last known border on that is not after a time: the number of that, 0 for the begin, and
// when it was passed. Goroutines and Ps are stated anew, as at the begin of a trace: From is Unknown.
func (t *Trace) EventsFrom(at int64) (number int, begin int64, events iter.Seq2[*Event, error]) {
	i, _ := slices.BinarySearchFunc(t.borders, at, func(b border, at int64) int { return cmp.Or(cmp.Compare(b.time, at), -1) })
	if i <= 1 {
		return 0, 0, t.Events()
	}
	b := t.borders[i-1]
	return i - 1, b.time, t.from(b)
}

func (t *Trace) from(b border) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		t.damage = nil
		var err error
		t.some = false
		if t.Version < 22 {
			err = t.oldEvents(yield)
		} else {
			err = t.events(b, yield)
		}
		if err == nil && !t.some && len(t.damage) > 0 {
			err = t.damage[0].Err
		}
		if err == nil && t.size == headerLen {
			err = errors.New("the trace ends after its header: the program wrote no event before it ended")
		}
		if err != nil && err != errStop {
			yield(nil, &UnreadableError{err})
		}
	}
}

// An UnreadableError reports that nothing of a trace could be read.
type UnreadableError struct{ Err error }

func (e *UnreadableError) Error() string { return e.Err.Error() }
func (e *UnreadableError) Unwrap() error { return e.Err }

// errStop ends the reading of a trace that somebody does not want to see the rest of.
var errStop = errors.New("stop")

// Frames are the calls of a stack, the innermost first; nil for 0 and for a stack of a generation that was cut before its tables.
// It may be asked while Events is under way and afterwards.
func (t *Trace) Frames(s Stack) []Frame { return t.names.framesOf(s) }

// Stacks is how many stacks are known by now.
func (t *Trace) Stacks() int { return len(t.names.stacks) - 1 }

// OnLost has f called whenever something cannot be read.
func (t *Trace) OnLost(f func()) { t.onLost = f }

// Damage is what could not be read of what Events yielded.
func (t *Trace) Damage() []Damage { return t.damage }

// Wall is the time of day at Event.Time 0, in Unix nanoseconds, 0 when the trace does not say: before Go 1.25. It is known with the first event.
func (t *Trace) Wall() int64 { return t.wall }
