package agent

import (
	"runtime"
	"sync/atomic"
	"time"
)

// A waiting looks after the block profile. While one is taken, every goroutine that has to wait looks at the clock three
// times, however short it waits and however little of that is kept. Where goroutines hand over to each other millions of
// times a second that is a third of all they do, so there it is only taken for one second in several.
type waiting struct {
	rate *uint64       // of the block profile, where the runtime has it; nil is that it is not known
	set  uint64        // what we made of it
	skip int           // for how many more seconds it is off
	from time.Duration // when the second began that is over
	went uint64        // how often a goroutine had gone on by then, as far as the runtime counts that
	had  int64         // how often one had waited by then, as far as that was asked
	all  func() int64  // how often goroutines have waited, by the block profile
}

const (
	often  = 400_000 // in a second
	seldom = 4       // seconds without, for each with
	every  = 8       // one of so many times that a goroutine goes on is counted
)

// begin sets the rate for the first time.
func (w *waiting) begin(r *recorder) {
	w.rate = r.blockRate
	w.all = waited
	w.on(r)
}

func (w *waiting) on(r *recorder) {
	runtime.SetBlockProfileRate(int(r.Block))
	if w.rate != nil {
		w.set = atomic.LoadUint64(w.rate)
	}
	w.had = w.all()
}

// next says for the second that begins whether to take it. went is how often a goroutine has gone on so far.
func (w *waiting) next(r *recorder, now time.Duration, went uint64) {
	most := often * (now - w.from).Seconds()
	busy := every*float64(went-w.went) > most
	w.went, w.from = went, now
	if w.rate == nil || r.Block == 0 || atomic.LoadUint64(w.rate) != w.set {
		return // the program has set one of its own
	}
	if w.skip > 0 {
		if w.skip--; w.skip == 0 || !busy {
			w.skip = 0
			w.on(r)
		}
		return
	}
	if !busy {
		return
	}
	// They may have gone on for other reasons. The profile says, but takes time to ask.
	all := w.all()
	busy = float64(all-w.had) > most
	if w.had = all; !busy {
		return
	}
	w.skip = seldom
	runtime.SetBlockProfileRate(0)
	w.set = 0
	r.write.say("goroutines blocked so often that the block profile covers only one second in five: its values are too low by that factor, its shares are right")
}

// waited returns how often goroutines have waited, by the block profile.
func waited() (sum int64) {
	var records []runtime.BlockProfileRecord
	n, ok := runtime.BlockProfile(nil)
	for ; !ok; n, ok = runtime.BlockProfile(records) {
		records = make([]runtime.BlockProfileRecord, n+50)
	}
	for _, r := range records[:n] {
		sum += r.Count
	}
	return sum
}
