// Package agent is the recorder that hone compiles into the programs it records. It writes a recording, as
// docs/format/recording.md has it, into a folder while the program runs.
//
// Its files, and those that end in .go.txt, reach a build through -overlay, as a package of the standard library: see
// package capture. A program that was built so starts the recorder before its own packages initialize, when the
// environment asks for it. It must not change what the program does, so it
//
//   - holds on to no signal that the program wants, or that is ignored
//   - keeps its goroutines out of what the program can count and print
//   - steps back when the program takes a CPU profile of itself
//   - gives up what cannot be written, and says so
//
// It imports only what most programs have in them anyway.
package agent

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Env is the variable that tells a program to record itself. See Settings.
const Env = "HONE_RECORDER"

// Settings are what the environment tells the recorder.
type Settings struct {
	Dir    string        // of the recording
	Every  time.Duration // between two heap profiles
	Block  time.Duration // rate of the block profile: a sample for so much waiting
	Mutex  int           // fraction of the mutex profile: a sample for so many
	Trace  bool          // write an execution trace
	Queue  bool          // look often how many goroutines wait for a P
	Flight time.Duration // the last of an execution trace is written in the end, and when there is trouble; 0 is none
	When   []Condition   // of trouble
	Window time.Duration // what is older is dropped, unless it led up to trouble; 0 keeps all
	Cool   time.Duration // for which a condition is quiet after it held
	Most   int           // how often trouble is looked at
	GoDbug *string       // what GODEBUG was before gctrace was added; nil when it was not set
}

// String is how settings are written in the environment: key=value, with the folder last since it may hold anything.
func (s Settings) String() string {
	out := "every=" + s.Every.String() + ",block=" + s.Block.String() + ",mutex=" + strconv.Itoa(s.Mutex)
	if s.Trace {
		out += ",trace=true"
	}
	if s.Queue {
		out += ",queue=true"
	}
	if s.Flight > 0 {
		out += ",flight=" + s.Flight.String()
	}
	for _, c := range s.When {
		out += ",when=" + c.String()
	}
	if len(s.When) > 0 {
		out += ",window=" + s.Window.String() + ",cool=" + s.Cool.String() + ",most=" + strconv.Itoa(s.Most)
	}
	if s.GoDbug != nil {
		out += ",godebug=" + strings.ReplaceAll(*s.GoDbug, ",", ";")
	}
	return out + ",dir=" + s.Dir
}

// parse is the inverse of String.
func parse(text string) (s Settings, ok bool) {
	for {
		key, rest, found := strings.Cut(text, "=")
		if !found {
			return s, false
		}
		if key == "dir" {
			s.Dir = rest
			return s, rest != "" && s.Every > 0
		}
		var value string
		value, text, _ = strings.Cut(rest, ",")
		switch key {
		case "every":
			s.Every, _ = time.ParseDuration(value)
		case "block":
			s.Block, _ = time.ParseDuration(value)
		case "mutex":
			s.Mutex, _ = strconv.Atoi(value)
		case "trace":
			s.Trace = value == "true"
		case "queue":
			s.Queue = value == "true"
		case "flight":
			s.Flight, _ = time.ParseDuration(value)
		case "when":
			if c, ok := parseCondition(value); ok {
				s.When = append(s.When, c)
			}
		case "window":
			s.Window, _ = time.ParseDuration(value)
		case "cool":
			s.Cool, _ = time.ParseDuration(value)
		case "most":
			s.Most, _ = strconv.Atoi(value)
		case "godebug":
			old := strings.ReplaceAll(value, ";", ",")
			s.GoDbug = &old
		}
	}
}

// A host is what only a package of the standard library can do. The zero host has none of it, as in tests.
type host struct {
	atExit   func(func())                 // has a function called when the program ends by itself
	hide     func(func())                 // starts a goroutine that the program does not see
	handlers func(sig os.Signal) int      // how many want a signal; nil is nobody but us
	notified func() int                   // how many signals are wanted, each counted once for who wants it
	profiler profiler                     // of the CPU
	takeCPU  func(profiler, func(func())) // has the program's own CPU profiles, and the writing of all, pass through us
	timer    func() (pending, known bool) // whether any timer will go off

	crashTo   func(fd uintptr) uintptr // has the runtime write to a descriptor when the program crashes, and returns the one before
	publish   func()                   // has heap profiles show all that was allocated until now
	blockRate *uint64                  // the rate of the block profile, where the runtime has it
	requests  *requests                // that net/http answers
}

// A recorder records the program that it is in.
type recorder struct {
	Settings
	host
	start time.Time

	mu    sync.Mutex // one at a time
	ended bool
	cpu   segments
	write writer
	sys   system
	quiet stillness
	waits waiting
	alarm Alarm
	last  flight // of the execution trace
	queue queue
	crash *file  // what the runtime writes when the program crashes
	cycle uint64 // the number of the collection that the recorder asked for at the end; 0 is none yet

	cost atomic.Int64 // CPU time of recording, nanoseconds
}

// begin starts recording when the environment asks for it.
func begin(h host) {
	s, ok := parse(os.Getenv(Env))
	if !ok {
		return
	}
	// What the program runs is not recorded, and its collector is nobody's business.
	os.Unsetenv(Env)
	if s.GoDbug != nil {
		os.Setenv("GODEBUG", *s.GoDbug)
	} else {
		os.Unsetenv("GODEBUG")
	}
	r := &recorder{Settings: s, host: h, start: time.Now()}
	r.run()
}

func (r *recorder) run() {
	r.write.files.dir, r.write.now = r.Dir, r.since
	r.write.window.For = r.Window
	r.write.begin()
	if r.Flight > 0 {
		r.write.check(r.write.files.mkdir(flightFolder))
	}
	r.alarm = Alarm{Conditions: r.When, Cooldown: r.Cool, Left: r.Most}
	if r.requests != nil {
		r.requests.watch(r.When)
	}
	r.watchCrash()
	// The program may set rates of its own later, and then those hold.
	r.waits.begin(r)
	runtime.SetMutexProfileFraction(r.Mutex)
	if r.takeCPU != nil {
		r.takeCPU(profiler{start: r.startOwn, stop: r.stopOwn}, r.measure)
	}
	if r.Trace {
		r.startTrace()
	}
	if r.Flight > 0 {
		r.write.check(r.last.begin(r.Flight))
	}
	r.cpu.begin(r, nil)
	r.metrics()
	r.atExit(r.end)
	r.hide(r.loop)
	if r.Queue {
		r.hide(r.queue.watch)
	}
	r.watchSignals()
}

// crashFile is what a crash leaves in the recording.
const crashFile = "crash.txt"

// since returns the time since the program started.
func (r *recorder) since() time.Duration { return time.Since(r.start) }

// first is when the first CPU profile ends: what crashes at once shall leave something, too.
const first = 250 * time.Millisecond

// loop writes what there is every second, and when there is trouble.
func (r *recorder) loop() {
	next := first
	shot := first
	for {
		wait := next - r.since()
		if len(r.When) > 0 {
			wait = min(wait, look)
		}
		sleep(wait)
		r.mu.Lock()
		if r.ended {
			r.mu.Unlock()
			return
		}
		dead := false
		due := r.since() >= next
		r.measure(func() {
			if due {
				r.metrics() // which has the rates that may be trouble
			}
			trouble, slow := r.trouble()
			now := r.since()
			switch {
			case trouble:
				if slow { // before the trace drops the begin of the request
					sleep(settle)
					r.writeFlight()
				}
				r.snapshot(inTrouble) // at once: there may be little time left
				r.write.window.Pin(r.since())
				r.metrics()
				dead = r.cpu.rotate(r)
				if !slow {
					r.writeFlight()
				}
			case due:
				dead = r.cpu.rotate(r)
			}
			if due {
				r.waits.next(r, now, r.sys.switches)
			}
			if due && now >= shot {
				why := inTime
				if now < time.Second {
					why = early
				}
				shot = nextShot(now, r.Every)
				if !trouble {
					r.snapshot(why)
				}
			}
			r.write.window.Drop(now)
			due = due || trouble
		})
		if due {
			r.keepCrash()
			r.status()
			next = r.since().Truncate(time.Second) + time.Second
		}
		r.mu.Unlock()
		if dead {
			r.deadlock()
		}
	}
}

// nextShot returns when the profiles but that of the CPU are taken again, after now: at whole multiples of every, and once
// when the program has run for a second.
func nextShot(now, every time.Duration) time.Duration {
	next := now.Truncate(every) + every
	if now < time.Second {
		next = min(next, time.Second)
	}
	return next
}

// end writes the rest.
func (r *recorder) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	r.ended = true
	r.measure(func() {
		// What tells how the program did ends before the recorder has its garbage collected, which is none of the program's doing.
		if r.requests != nil && r.requests.limit.Load() > 0 { // there may have been one since the last look
			if trouble, _ := r.trouble(); trouble {
				r.write.window.Pin(r.since())
			}
		}
		r.cpu.end(r)
		r.metrics()
		r.stopTrace()
		r.writeFlight()
		r.snapshot(atEnd)
		r.allocated()
		r.write.window.Drop(r.since())
	})
	r.status()
}

// measure adds the CPU time that f takes to the cost of recording.
func (r *recorder) measure(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadCPU()
	f()
	r.cost.Add(threadCPU() - before)
}
