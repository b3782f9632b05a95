package mcp

import (
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/unit"
)

// mostSilence is how long a caller hears nothing of its call. Clients give a call up after a while, 60 seconds in the SDKs, and start counting again
// with every progress notification. Commands print their progress every ten seconds, but not while a program that they run has standard error.
const mostSilence = 15 * time.Second

// A teller tells a caller how its call is going: the lines that the command prints, and after mostSilence that the call has not ended.
type teller struct {
	tell func(line string)

	mu    sync.Mutex
	doing string
	began time.Time
	timer *time.Timer
	over  bool
}

// newTeller returns a teller, which must be ended. Where tell is nil, it tells nobody.
func newTeller(tell func(line string), doing string) *teller {
	t := &teller{tell: tell, doing: doing, began: time.Now()}
	if tell == nil {
		return t
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = time.AfterFunc(mostSilence, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.say("hone: " + t.doing + "… (" + unit.Time(time.Since(t.began).Truncate(time.Second)) + ")")
	})
	return t
}

// now sets what the call is doing.
func (t *teller) now(doing string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.doing = doing
}

// line tells a line of the command.
func (t *teller) line(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.say(line)
}

func (t *teller) say(line string) {
	if t.tell == nil || t.over {
		return
	}
	t.tell(line)
	t.timer.Reset(mostSilence)
}

// end makes the teller silent: no progress comes after the answer.
func (t *teller) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over = true; t.timer != nil {
		t.timer.Stop()
	}
}
