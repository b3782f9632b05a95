package agent

import (
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// What can be watched. Rates are those of the last second.
const (
	RSS        = "rss"        // resident memory, bytes
	Cgroup     = "cgroup"     // memory that the control group uses, bytes
	Heap       = "heap"       // what GOMEMLIMIT limits: memory of Go that was not given back, bytes
	Goroutines = "goroutines" // their number
	CPU        = "cpu"        // percent of a core
	GC         = "gc"         // percent of the CPU time of Go code that collecting garbage took
	Latency    = "latency"    // of the slowest request that net/http answered since the last look, nanoseconds
)

// A Condition is trouble: something is above a limit.
type Condition struct {
	Of    string  // what is watched
	Limit float64 // in its unit, or percent of the most that there can be
	Share bool    // it is percent of that
}

// String is how a condition is written for the recorder inside: rss>50%, or goroutines>10000.
func (c Condition) String() string {
	text := c.Of + ">" + strconv.FormatFloat(c.Limit, 'g', -1, 64)
	if c.Share {
		text += "%"
	}
	return text
}

func parseCondition(text string) (c Condition, ok bool) {
	i := strings.IndexByte(text, '>')
	if i < 0 {
		return c, false
	}
	number := strings.TrimSuffix(text[i+1:], "%")
	limit, err := strconv.ParseFloat(number, 64)
	return Condition{text[:i], limit, len(number) < len(text)-i-1}, err == nil
}

// A Trouble is a moment at which a condition held.
type Trouble struct {
	At           time.Duration
	Condition    int // which of them
	Value, Limit float64
	Request      string // the pattern of the slow request, where it is known
}

// An Alarm says when there is trouble, and which of it is worth a look: what is worse than all before, but not again
// and again while it becomes worse.
type Alarm struct {
	Conditions []Condition
	Cooldown   time.Duration // for which one is quiet after it went off
	Left       int           // how often it may still go off
	Missed     int           // how often it would have, since

	Troubles []Trouble

	marks []float64       // highest value of each so far
	quiet []time.Duration // until when each is
	known []bool          // whether it ever could be told
}

// Look returns whether it goes off now. value returns what is watched and the most that it can be, which is 0 where there
// is no such thing, and whether it is known.
func (a *Alarm) Look(now time.Duration, value func(of string) (v, most float64, known bool)) bool {
	if a.marks == nil {
		n := len(a.Conditions)
		a.marks, a.quiet, a.known = make([]float64, n), make([]time.Duration, n), make([]bool, n)
	}
	before := len(a.Troubles)
	missed := false
	for i, c := range a.Conditions {
		v, most, known := value(c.Of)
		limit := c.Limit
		if c.Share {
			limit *= most / 100
			known = known && most > 0
		}
		if !known {
			continue
		}
		a.known[i] = true
		if v <= limit || v <= a.marks[i] || now < a.quiet[i] {
			continue
		}
		if a.Left == 0 {
			missed = true
			continue
		}
		a.marks[i], a.quiet[i] = v, now+a.Cooldown
		a.Troubles = append(a.Troubles, Trouble{At: now, Condition: i, Value: v, Limit: limit})
	}
	if missed {
		a.Missed++
	}
	if len(a.Troubles) == before {
		return false
	}
	a.Left--
	return true
}

// Blind returns the conditions of which it never was known whether they hold.
func (a *Alarm) Blind() []int {
	var out []int
	for i := range a.Conditions {
		if a.known == nil || !a.known[i] {
			out = append(out, i)
		}
	}
	return out
}

// A Window drops the parts of a recording that are older than For, unless they are of what led up to trouble.
type Window struct {
	For    time.Duration     // 0 drops nothing
	Remove func(name string) // removes a file; nil is os.Remove

	kept []aged
	pins []time.Duration
}

// An aged is a file of a part of the time.
type aged struct {
	name     string
	from, to time.Duration
}

// Add adds a file, and Pin keeps what is of the time before a moment; what is of it, too, may be added later.
func (w *Window) Add(name string, from, to time.Duration) {
	if w.For > 0 {
		w.kept = append(w.kept, aged{name, from, to})
	}
}

// Pin keeps what led up to a moment.
func (w *Window) Pin(at time.Duration) { w.pins = append(w.pins, at) }

// Drop removes the files that are too old by now.
func (w *Window) Drop(now time.Duration) {
	remove := w.Remove
	if remove == nil {
		remove = func(name string) { os.Remove(name) }
	}
	left := w.kept[:0]
	for _, f := range w.kept {
		switch {
		case f.to >= now-w.For:
			left = append(left, f)
		case !w.pinned(f):
			remove(f.name)
		}
	}
	w.kept = left
}

func (w *Window) pinned(f aged) bool {
	for _, at := range w.pins {
		if f.from <= at && f.to >= at-w.For {
			return true
		}
	}
	return false
}

// look is how often what changes at once is looked at. Rates are those between two lines of metrics.
const look = 100 * time.Millisecond

// noLimit is more memory than there is: what version 1 of control groups, and the runtime, say where nothing is limited.
const noLimit = 1 << 60

// A usage is what was used up by a time, in seconds.
type usage struct {
	at        time.Duration
	cpu       float64 // of the process
	gc, spent float64 // of Go code, as of the last collection; spent is all of it
	known     bool    // the first
}

// watched are the values of what is watched.
type watched struct {
	system   *Process
	memory   int64
	quick    []metrics.Sample
	before   usage
	cpu, gc  float64 // percent, in the time before the last line of metrics
	cpuKnown bool
	gcKnown  bool
	latency  time.Duration
	served   bool // any request
}

func (w *watched) begin(p *Process) {
	w.system, w.memory = p, p.Memory()
	w.quick = []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/gc/gomemlimit:bytes"}}
}

// rates takes rates up to a time, of what is in a line of metrics.
func (w *watched) rates(now usage) {
	d := (now.at - w.before.at).Seconds()
	if d < 0.2 {
		return // too short to tell
	}
	w.cpu, w.cpuKnown = 100*(now.cpu-w.before.cpu)/d, now.known && w.before.known
	w.gc, w.gcKnown = 0, true
	if spent := now.spent - w.before.spent; spent > 0 {
		w.gc = 100 * (now.gc - w.before.gc) / spent
	}
	w.before = now
}

// value returns one of what is watched.
func (w *watched) value(of string) (v, most float64, known bool) {
	switch of {
	case RSS:
		rss := w.system.RSS()
		return float64(rss), float64(w.memory), rss > 0
	case Cgroup:
		used, most := w.system.Group()
		return float64(used), float64(most), used > 0
	case Heap:
		metrics.Read(w.quick)
		limit := w.quick[2].Value.Uint64()
		if limit >= noLimit {
			limit = 0
		}
		return float64(w.quick[0].Value.Uint64() - w.quick[1].Value.Uint64()), float64(limit), true
	case Goroutines:
		return float64(runtime.NumGoroutine()), 0, true
	case CPU:
		return w.cpu, 0, w.cpuKnown
	case GC:
		return w.gc, 0, w.gcKnown
	case Latency:
		return float64(w.latency), 0, w.served
	}
	return 0, 0, false
}
