package agent

import (
	"os"
	"runtime"
	"strings"
	"syscall"
)

// A stillness looks for the end of all movement. The runtime does so, too, but not while there are goroutines, timers
// and signal handlers of a recorder.
type stillness struct {
	calm  int // looks in a row at which nobody could go on
	skip  int // looks to leave out: they stop the program
	every int // how many to leave out next
}

// dump is room for the stacks of all goroutines. It is no part of the heap: where little is alive, it would be most of that,
// and change how often the program collects its garbage.
var dump [1 << 20]byte

// sure is how many looks in a row it takes.
const sure = 2

// forever reports whether no goroutine of the program can ever go on.
func (s *stillness) forever(r *recorder) bool {
	if r.timer == nil || r.notified == nil {
		return false
	}
	if s.skip > 0 {
		s.skip--
		return false
	}
	if !s.stuck(r) {
		s.calm = 0
		return false
	}
	s.calm++
	return s.calm >= sure
}

func (s *stillness) stuck(r *recorder) bool {
	switch pending, known := r.timer(); {
	case !known || pending:
		return false // something will happen
	case runtime.NumCgoCall() > 0:
		return false // it may come from C
	case r.notified() > r.wanted():
		return false // it may come from outside
	}
	n := runtime.Stack(dump[:], true)
	if n == len(dump) || !asleep(string(dump[:n])) {
		// What waits for the network, say, does so for long. It costs more to find that out than it is worth.
		s.every = min(2*s.every+1, 30)
		s.skip = s.every
		return false
	}
	s.every = 0
	pending, _ := r.timer() // one may have been set while we looked
	return !pending
}

// waits are the states in which only another goroutine, or a timer, can wake one.
var waits = []string{
	"chan receive", "chan receive (nil chan)", "chan send", "chan send (nil chan)", "select", "select (no cases)",
	"semacquire", "sync.Cond.Wait", "sync.Mutex.Lock", "sync.RWMutex.Lock", "sync.RWMutex.RLock", "sync.WaitGroup.Wait",
}

// asleep reports whether all goroutines in a dump wait for each other. The first one is the one that asks.
func asleep(text string) bool {
	all := strings.Split(text, "\n\n")
	for _, g := range all[1:] {
		_, rest, _ := strings.Cut(g, "[")
		state, rest, _ := strings.Cut(rest, "]")
		state, _, _ = strings.Cut(state, ",")
		found := false
		for _, w := range waits {
			found = found || state == w
		}
		if state == "semacquire" {
			// Package sync waits for another goroutine. The runtime waits until the world may be stopped, as in ReadMemStats, and what stops it is
			// often the recorder.
			_, function, _ := strings.Cut(rest, "\n")
			found = strings.HasPrefix(function, "sync.") || strings.HasPrefix(function, "internal/sync.")
		}
		if !found {
			return false
		}
	}
	return true // without any, main called runtime.Goexit, and the others have ended
}

// deadlock says what the runtime would have said, and ends the program as it would have, unless a goroutine goes on after all.
func (r *recorder) deadlock() {
	n := runtime.Stack(dump[:], true)
	if n < len(dump) && !asleep(string(dump[:n])) {
		return
	}
	why, stacks := "no goroutines (main called runtime.Goexit)", ""
	if _, rest, ok := strings.Cut(string(dump[:n]), "\n\n"); ok {
		why, stacks = "all goroutines are asleep", "\n"+rest
	}
	text := "fatal error: " + why + " - deadlock!\n" + stacks
	os.Stderr.WriteString(text)
	r.end()
	if r.crash != nil {
		r.crash.replace([]byte(text))
	}
	syscall.Exit(2)
}
