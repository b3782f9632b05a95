package waits

import "github.com/hone-perf/hone/internal/exectrace"

// A Stopped is a goroutine of the program that ran when the world was stopped, and for how long it was kept from running.
type Stopped struct {
	Why       string
	Goroutine int64
	Kind      string // the function that it was started with
	From, To  int64
}

// maxStopped bounds the list of stopped goroutines. There is one for each P and stop at most.
const maxStopped = 1 << 18

// A stopping finds the goroutines that stops of the world take their P from. The Ps start again before the goroutine that stopped
// the world says that it is over, since that may have to wait for a P itself.
type stopping struct {
	why  string // "" when the world is not stopped
	open int    // list[open:] are stopped now
	list []Stopped
}

func (s *stopping) begin(why string) {
	s.why = why
}

func (s *stopping) preempted(names *Names, e *exectrace.Event) {
	g, ok := e.Slot.Value.(*Goroutine)
	if !ok || len(s.list) == maxStopped || names.OfRuntime(g, e.Stack) {
		return
	}
	s.list = append(s.list, Stopped{Why: s.why, Goroutine: g.ID, Kind: names.Kind(g, e.Stack), From: e.Time})
}

// resume ends the stop for those that were stopped, if there are any: others do not see it.
func (s *stopping) resume(now int64) {
	if len(s.list) > s.open {
		s.over(now)
	}
}

func (s *stopping) over(now int64) {
	for i := s.open; i < len(s.list); i++ {
		s.list[i].To = max(now, s.list[i].From)
	}
	s.open, s.why = len(s.list), ""
}
