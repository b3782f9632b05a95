// Package exectrace reads execution traces of Go programs, as runtime/trace and /debug/pprof/trace write them: events in the order in which
// they happened, in memory that depends on the threads and live goroutines of the program, not on the size of the file.
//
// Open looks at the header, Trace.Events yields the events, and a Stack or a name that an event carries stays valid as long as the Trace.
// Traces of Go 1.22 and later are decoded here; older ones, which have to be sorted as a whole, by golang.org/x/exp/trace.
package exectrace

// A State is what a goroutine is doing.
type State uint8

const (
	Unknown State = iota // nothing is known about the goroutine yet
	Absent               // before it was created, and after its end
	Waiting              // blocked, for Event.Reason
	Ready                // could run, and has no P
	Running              // has a P; whether the system lets its thread run is not in a trace
	Syscall              // in a system call, or in C
)

// A Kind says what an event is about.
type Kind uint8

const (
	// Change: Goroutine went From one state To another. Time, Stack: where the code was that made it so, which is on the goroutine By.
	// When a goroutine blocks, ends or calls the system, By is the goroutine itself; when it was woken or created, By is who did it, and 0
	// for the scheduler, timers and the network poller outside of a goroutine. Reason says why it waits (To == Waiting, or To == Ready
	// when it was preempted or yielded). At the begin of a trace, and where a generation states what is already known, From is Unknown
	// or equal to To.
	Change Kind = iota + 1
	// RangeBegin, RangeActive, RangeEnd: Name is "GC concurrent mark phase", "stop-the-world (…)", "GC mark assist", "GC incremental
	// sweep", and so on, in the words of the runtime. Goroutine or Proc is what it is about, both -1 when it is the whole program.
	// RangeActive is said at the begin of a trace of what was going on.
	RangeBegin
	RangeActive
	RangeEnd
	// ProcStart, ProcStop: Proc runs goroutines, or is idle.
	ProcStart
	ProcStop
	TaskBegin // Task, Parent, Name
	TaskEnd   // Task
	RegionBegin
	RegionEnd // Goroutine, Task, Name
	Log       // Goroutine, Task, Name (category), Text
	Sample    // a sample of the CPU profile on Goroutine (0: none), with Stack
	Metric    // Name in the words of runtime/metrics ("/sched/gomaxprocs:threads", "/memory/classes/heap/objects:bytes", "/gc/heap/goal:bytes"), Value
	Label     // Goroutine is a worker of the collector, by Name
)

// An Event is one thing that happened.
type Event struct {
	Kind      Kind
	From, To  State
	Time      int64 // nanoseconds since the first event of the trace; never less than that of the event before
	Goroutine int64 // which the event is about; -1 none
	Slot      *Slot // of that goroutine, when Kind is Change
	By        int64 // goroutine on whose thread it happened; 0 none
	Proc      int32 // P on which it happened; -1 none
	Thread    int64 // thread on which it happened; -1 none
	Stack     Stack // of the goroutine By, where it happened; of Goroutine when By is Goroutine
	Own       Stack // of Goroutine, when it is another than By: where a new goroutine begins (its function), where one stands that is stated
	Reason    Reason
	Task      uint64
	Parent    uint64
	Name      string
	Text      string
	Value     int64
}

// A Slot is where a reader keeps what it knows of a goroutine, so that it need not look that up. After damage a goroutine may get another one.
// When the goroutine has ended, another one gets it, empty.
type Slot struct{ Value any }

// A Stack names a stack of a Trace; 0 is unknown. Equal stacks have equal numbers, in all generations. They are dense: 1 to Stacks().
type Stack uint32

// A Frame is one call of a stack, the innermost first.
type Frame struct {
	PC   uint64
	Func string
	File string
	Line int
}

// A Reason is why a goroutine waits or gave its P away.
type Reason uint8

const (
	NoReason Reason = iota
	Network
	Select
	Cond
	Sync // locks, semaphores, wait groups
	ChanReceive
	ChanSend
	Coroutine
	Forever
	Sleep
	GCAssist     // waits for the assist credit or for the mark to end
	GCBackground // a worker of the collector that has nothing to do
	GCSweep
	GCWeakToStrong
	Debug
	Synctest
	Preempted
	Yielded // runtime.Gosched, goyield
	SystemGoroutine
	OtherReason
)

// Damage says that a part of a trace could not be read. All that was decoded before it has been yielded.
type Damage struct {
	At   int64  // offset in the file
	Time int64  // of the last event before it
	Err  error  // what is wrong
	Lost string // what is missing: "cut", "generation", "names"
}
