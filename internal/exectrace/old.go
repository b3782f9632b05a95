package exectrace

import (
	"fmt"
	"io"
	"strings"

	"golang.org/x/exp/trace"
)

// maxOld bounds traces of Go 1.21 and earlier, which are sorted in memory as a whole.
const maxOld = 1 << 30

// oldEvents yields the events of a trace of Go 1.11 to 1.21.
func (t *Trace) oldEvents(yield func(*Event, error) bool) error {
	if t.size > maxOld {
		return fmt.Errorf("hone must read a trace of Go 1.%d into memory as a whole, but this one has %d bytes", t.Version, t.size)
	}
	return t.library(yield)
}

// library yields the events as golang.org/x/exp/trace reads them.
func (t *Trace) library(yield func(*Event, error) bool) error {
	r, err := trace.NewReader(io.NewSectionReader(t.r, 0, t.size))
	if err != nil {
		return err
	}
	o := old{t: t, stacks: map[trace.Stack]Stack{}, slots: map[int64]*Slot{}}
	for {
		ev, ok, err := o.next(r)
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			t.lose(t.size, o.last, "generation", err)
			return nil
		case ok:
			t.some = true
			if !yield(&ev, nil) {
				return errStop
			}
		}
	}
}

// next reads an event, which may be none of ours.
func (o *old) next(r *trace.Reader) (ev Event, ok bool, err error) {
	defer func() {
		// The library panics on some damaged files.
		if p := recover(); p != nil {
			err = fmt.Errorf("the trace is damaged: %v", p)
		}
	}()
	e, err := r.ReadEvent()
	if err != nil {
		return ev, false, err
	}
	ev, ok = o.convert(e)
	return ev, ok, nil
}

// An old converts events.
type old struct {
	t      *Trace
	begun  bool
	begin  trace.Time
	last   int64
	stacks map[trace.Stack]Stack
	slots  map[int64]*Slot
	key    []byte
}

func (o *old) stack(s trace.Stack) Stack {
	if s == trace.NoStack {
		return 0
	}
	if id, ok := o.stacks[s]; ok {
		return id
	}
	o.key = o.key[:0]
	for f := range s.Frames() {
		id := o.t.names.frame(Frame{PC: f.PC, Func: f.Func, File: f.File, Line: int(min(f.Line, 1<<30))})
		o.key = append(o.key, byte(id), byte(id>>8), byte(id>>16), byte(id>>24))
	}
	id := o.t.names.stack(o.key)
	if len(o.stacks) > 1<<16 {
		clear(o.stacks) // those of earlier generations do not come again
	}
	o.stacks[s] = id
	return id
}

var oldStates = map[trace.GoState]State{
	trace.GoUndetermined: Unknown, trace.GoNotExist: Absent, trace.GoRunnable: Ready, trace.GoRunning: Running, trace.GoWaiting: Waiting, trace.GoSyscall: Syscall,
}

func (o *old) convert(e trace.Event) (Event, bool) {
	if e.Kind() == trace.EventSync {
		if c := e.Sync().ClockSnapshot; c != nil && o.begun && o.t.wall == 0 {
			o.t.wall = c.Wall.UnixNano() - int64(c.Trace-o.begin)
		}
		return Event{}, false
	}
	if !o.begun {
		o.begun, o.begin = true, e.Time()
	}
	ev := Event{
		Time: int64(e.Time() - o.begin), Goroutine: -1, Proc: int32(e.Proc()), Thread: int64(e.Thread()), By: max(0, int64(e.Goroutine())), Stack: o.stack(e.Stack()),
	}
	o.last = ev.Time
	switch e.Kind() {
	case trace.EventStateTransition:
		st := e.StateTransition()
		switch st.Resource.Kind {
		case trace.ResourceGoroutine:
			from, to := st.Goroutine()
			ev.Kind, ev.Goroutine, ev.From, ev.To = Change, int64(st.Resource.Goroutine()), oldStates[from], oldStates[to]
			if ev.Slot = o.slots[ev.Goroutine]; ev.Slot == nil {
				ev.Slot = new(Slot)
				o.slots[ev.Goroutine] = ev.Slot
			}
			if ev.To == Absent {
				delete(o.slots, ev.Goroutine)
			}
			ev.Reason = oldReason(st.Reason)
			if ev.Reason == NoReason && ev.To == Waiting && (ev.From == Running || ev.From == Absent) {
				ev.Reason = Coroutine // which have no reason in a trace
			}
			if own := o.stack(st.Stack); ev.By != ev.Goroutine || ev.From == Unknown || ev.From == ev.To {
				ev.Own = own
			}
			if ev.From == ev.To || ev.From == Unknown {
				ev.By, ev.Stack = 0, 0
			}
		case trace.ResourceProc:
			from, to := st.Proc()
			ev.Proc = int32(st.Resource.Proc())
			switch {
			case from == to:
				return ev, false
			case to == trace.ProcRunning:
				ev.Kind = ProcStart
			default:
				ev.Kind = ProcStop
			}
		default:
			return ev, false
		}
	case trace.EventRangeBegin, trace.EventRangeActive, trace.EventRangeEnd:
		ev.Kind = map[trace.EventKind]Kind{trace.EventRangeBegin: RangeBegin, trace.EventRangeActive: RangeActive, trace.EventRangeEnd: RangeEnd}[e.Kind()]
		r := e.Range()
		ev.Name = r.Name
		switch r.Scope.Kind {
		case trace.ResourceGoroutine:
			ev.Goroutine = int64(r.Scope.Goroutine())
		case trace.ResourceProc:
			ev.Proc = int32(r.Scope.Proc())
		}
		if ev.Kind == RangeEnd {
			for _, a := range e.RangeAttributes() {
				if a.Name == "bytes swept" {
					ev.Value = int64(a.Value.Uint64())
				}
			}
		}
	case trace.EventTaskBegin, trace.EventTaskEnd:
		x := e.Task()
		ev.Kind, ev.Goroutine, ev.Task, ev.Parent, ev.Name = TaskBegin, ev.By, uint64(x.ID), uint64(x.Parent), x.Type
		if e.Kind() == trace.EventTaskEnd {
			ev.Kind, ev.Parent = TaskEnd, 0
		} else if x.Parent == trace.NoTask {
			ev.Parent = 0
		}
	case trace.EventRegionBegin, trace.EventRegionEnd:
		x := e.Region()
		ev.Kind, ev.Goroutine, ev.Task, ev.Name = RegionBegin, ev.By, uint64(x.Task), x.Type
		if e.Kind() == trace.EventRegionEnd {
			ev.Kind = RegionEnd
		}
	case trace.EventLog:
		x := e.Log()
		ev.Kind, ev.Goroutine, ev.Task, ev.Name, ev.Text = Log, ev.By, uint64(x.Task), x.Category, x.Message
	case trace.EventStackSample:
		ev.Kind, ev.Goroutine = Sample, ev.By
	case trace.EventMetric:
		m := e.Metric()
		ev.Kind, ev.Name = Metric, m.Name
		if m.Value.Kind() == trace.ValueUint64 {
			ev.Value = int64(m.Value.Uint64())
		}
	case trace.EventLabel:
		ev.Kind, ev.Goroutine, ev.Name = Label, ev.By, e.Label().Label
	default:
		return ev, false
	}
	return ev, true
}

// oldReason is why a goroutine waits in the words of the library, which for traces of Go 1.21 and before has words of its own.
func oldReason(text string) Reason {
	if text == "" {
		return NoReason
	}
	if r, ok := reasonOf()[text]; ok {
		return r
	}
	switch {
	case strings.HasPrefix(text, "chan recv"):
		return ChanReceive
	case strings.HasPrefix(text, "GC"):
		return GCAssist
	}
	return OtherReason
}
