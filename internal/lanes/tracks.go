package lanes

import (
	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/waits"
)

// What lanes are numbered by: the collector's, those of Ps, and from firstGoroutine on goroutines.
const (
	markLane       = 0
	stopLane       = 1
	firstProc      = 2
	mostProcs      = 256
	firstGoroutine = firstProc + mostProcs
)

// Tracks follow what Ps and the collector do, as events say it. The time in which a P looks for a goroutine is not handed on, but on is,
// of which that is the rest.
type tracks struct {
	from int64 // since when
	of   []track
	span func(lane uint32, what code, from, to int64)
}

// on is of a P that does something.
const on = code(Nothing)

type track struct {
	state State
	since int64
	on    int64 // since when it does something
	known bool  // something happened
}

func (t *tracks) at(lane uint32) *track {
	for int(lane) >= len(t.of) {
		t.of = append(t.of, track{since: t.from})
	}
	return &t.of[lane]
}

// procs is how many Ps there are.
func (t *tracks) procs() int { return max(0, len(t.of)-firstProc) }

func (t *tracks) turn(lane uint32, now int64, state State) {
	one := t.at(lane)
	now = max(now, t.from)
	if one.state != Nothing && one.state != scheduling && now > one.since {
		t.span(lane, code(one.state), one.since, now)
	}
	switch {
	case lane < firstProc:
	case one.state == Nothing:
		one.on = now
	case state == Nothing && now > one.on:
		t.span(lane, on, one.on, now)
	}
	one.since, one.state = now, state
}

// end ends what goes on.
func (t *tracks) end(at int64) {
	for i := range t.of {
		t.turn(uint32(i), at, Nothing)
	}
}

func (t *tracks) event(w *waits.Walk, e *exectrace.Event) {
	switch e.Kind {
	case exectrace.ProcStart:
		if e.Proc >= 0 && e.Proc < mostProcs && t.at(firstProc+uint32(e.Proc)).state == Nothing { // and not stated anew
			t.proc(e, scheduling)
		}
	case exectrace.ProcStop:
		t.proc(e, Nothing)
	case exectrace.Change:
		switch {
		case e.From == e.To, e.Proc < 0:
		case e.To == exectrace.Running:
			state := running
			if g := w.Of(e); g != nil && g.Worker != "" {
				state = collecting
			}
			t.proc(e, state)
		case e.To == exectrace.Syscall:
			t.proc(e, inSyscall)
		case e.From == exectrace.Running:
			t.proc(e, scheduling)
		}
	case exectrace.RangeBegin, exectrace.RangeActive, exectrace.RangeEnd:
		lane := uint32(stopLane)
		switch {
		case e.Name == waits.MarkRange:
			lane = markLane
		case !waits.IsStop(e.Name):
			return
		}
		one := t.at(lane)
		switch {
		case e.Kind == exectrace.RangeEnd && !one.known && one.state == Nothing:
			one.state = collecting // since before
			fallthrough
		case e.Kind == exectrace.RangeEnd:
			t.turn(lane, e.Time, Nothing)
		case one.state == Nothing:
			t.turn(lane, e.Time, collecting)
		}
		one.known = true
	}
}

func (t *tracks) proc(e *exectrace.Event, state State) {
	if e.Proc < 0 || e.Proc >= mostProcs {
		return
	}
	lane := firstProc + uint32(e.Proc)
	one := t.at(lane)
	switch {
	case !one.known: // which is stated
		one.since, one.on = t.from, t.from
	case e.Kind == exectrace.Change && e.From == exectrace.Unknown && one.state == scheduling: // for as long as that is known
	default:
		t.turn(lane, e.Time, state)
	}
	one.state, one.known = state, true
}
