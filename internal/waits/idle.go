package waits

import (
	"cmp"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/order"
)

// An IdleSum is all idle times of Ps that ended because the same kind of wait did: what a P ran next had waited there.
type IdleSum struct {
	Frame exectrace.Frame // where it had waited, or was created
	Name  string          // what it had waited for
	Kind  string          // what it was started for
	RangeSum
}

// An Idleness is the time in which Ps had nothing to run.
type Idleness struct {
	Capacity int64 // Ps times time
	Idle     int64 // of that
	Ready    int64 // of that, while a goroutine was ready
	All      int64 // time in which no P ran anything
	Length   int64
	Sums     []IdleSum // those with most time first; the rest of Idle had not ended
}

// What a goroutine had waited for that a P ran, where that is no Cause.
const (
	afterCreated = "new goroutine"
	afterReady   = "preempted" // or it gave its P away
	afterSyscall = "system call"
)

// IdleTimes returns what Ps had nothing to run for.
func IdleTimes(t *exectrace.Trace, w Window) (*Idleness, error) {
	type from struct {
		stack exectrace.Stack
		name  string
	}
	type place struct {
		name, kind, fn, file string
		line                 int
	}
	w.From = max(w.From, t.Begin())
	x := &Idleness{}
	s := newSumming(t, w)
	idle := map[int32]int64{} // Ps, since when
	had := map[int32]int64{}  // those that look for something to run, and how long they had not looked
	sums := map[place]*IdleSum{}
	none := int64(-1) // since when nothing runs
	walk := &Walk{Window: w, Names: s.names}
	walk.Span = func(p *Span) {
		s.names.kind(p.Goroutine, p.Stack) // which the stacks below may not tell
		var why from
		switch {
		case p.State == exectrace.Waiting:
			why = from{p.Stack, s.names.Cause(p).String()}
			if s.names.Idle(p) {
				why.name = "work"
			}
		case p.State == exectrace.Syscall:
			why = from{p.Stack, afterSyscall}
		case p.State == exectrace.Running:
			why = from{p.Stack, afterReady}
		default:
			return
		}
		p.Goroutine.Mine = why
	}
	event := func(e *exectrace.Event, at int64) {
		switch e.Kind {
		case exectrace.ProcStart:
			if since, ok := idle[e.Proc]; ok {
				had[e.Proc] += at - since
				delete(idle, e.Proc)
			}
			if none >= 0 {
				x.All += at - none
				none = -1
			}
		case exectrace.ProcStop:
			if _, ok := idle[e.Proc]; !ok {
				idle[e.Proc] = at
				if !s.known[e.Proc] {
					idle[e.Proc] = w.From // which is stated
				}
			}
			if len(idle) == s.Procs && none < 0 {
				none = at
			}
		case exectrace.Change:
			took := had[e.Proc]
			if e.To != exectrace.Running || took == 0 {
				return
			}
			g := walk.Of(e)
			if g == nil {
				return
			}
			why, ok := g.Mine.(from)
			switch {
			case ok:
			case g.Created != 0:
				why = from{g.Created, afterCreated}
			case !g.begun:
				why = from{g.Start, "timer"} // which creates goroutines for functions
			default:
				why.name = afterReady // as far as is known
			}
			if s.names.OfRuntime(g, why.stack) {
				return // the next one of the program is it
			}
			delete(had, e.Proc)
			sum := IdleSum{Name: why.name, Kind: s.names.Kind(g, why.stack)}
			sum.Frame, _ = s.names.Place(why.stack)
			k := place{sum.Name, sum.Kind, sum.Frame.Func, sum.Frame.File, sum.Frame.Line}
			to := sums[k]
			if to == nil {
				to = &sum
				sums[k] = to
			}
			to.add(at-took, at)
		}
	}
	walk.Before = func(e *exectrace.Event) {
		event(e, w.From)
		s.before(e)
	}
	walk.Event = func(e *exectrace.Event) {
		event(e, e.Time)
		s.event(e)
	}
	if err := walk.Run(t); err != nil {
		return nil, err
	}
	s.until(walk.End)
	s.declare(s.Procs)
	for _, since := range s.procs {
		s.Busy += walk.End - since
	}
	if none >= 0 {
		x.All += walk.End - none
	}
	x.Capacity, x.Idle, x.Ready, x.Length = s.Capacity, max(0, s.Capacity-s.Busy), s.IdleReady, walk.End-walk.Begin
	for _, sum := range sums {
		x.Sums = append(x.Sums, *sum)
	}
	order.Stable(x.Sums, longerIdle)
	return x, nil
}

// longerIdle orders sums: the largest first, and equal ones by all that tells them apart.
func longerIdle(a, b IdleSum) int {
	return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Frame.Func, b.Frame.Func), cmp.Compare(a.Frame.File, b.Frame.File),
		cmp.Compare(a.Frame.Line, b.Frame.Line), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
}
