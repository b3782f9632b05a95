// Package gclog reads what the Go runtime says about garbage collections on standard error: the lines of
// GODEBUG=gctrace=1 (GOGCTRACE=1 before Go 1.2) of every version since 1.0, of the pacer and of the scavenger.
//
// Such lines share a file with whatever else a program and its neighbors write. They are found behind prefixes and
// other text, several on one line, torn in two by a line of somebody else, and from several processes at once. What is
// not about garbage collection is counted and named.
//
//	log, err := gclog.Parse(r)
//	for _, c := range log.Cycles { … c.Pause() … }
//
// A Parser takes line by line and gives back what does not belong to the runtime, so that it can be passed on.
package gclog

import (
	"slices"
	"time"
)

// A Log is what was read. Nobody changes it any more.
type Log struct {
	Cycles    []Cycle // in the order of the log
	Processes []Process
	Scavenger Scavenger
	Skipped   []Skipped // lines that are no cycles, by kind
	Lines     int       // lines read
	Dropped   int       // cycles beyond MaxCycles, which are not in Cycles
	Recorder  *Cycle    // that a recorder asked for at the end, which is not in Cycles; nil when there is none
	Ending    *Ending   // how the program ended, when the log says that it was for want of memory, or may have been
}

// A Process is one run of a program. Its number in the log is its index.
type Process struct {
	Cycles      int // that were read
	First, Last int // numbers of its cycles
	Line        int // of its first cycle
}

// Skipped are lines of a kind that holds no cycle.
type Skipped struct {
	What  string
	Lines int
	First int // the number of the first of these lines
}

// A Scavenger is what the runtime said last about memory that it has from the system.
type Scavenger struct {
	Lines    int
	Sys      int64 // bytes of heap obtained from the system; 0 when it was not said, as from Go 1.14 on
	MaxSys   int64 // the largest Sys
	Released int64 // bytes that were given back to the system
}

// A Format is the form of a line, named after the first version of Go that writes it.
type Format int

// The formats there are.
const (
	Go10 Format = iota // phases in whole milliseconds, everything while the world is stopped
	Go11               // and what the helpers of the collector did
	Go13               // four phases in microseconds; sweeping is concurrent
	Go14               // and goroutines
	Go15               // concurrent marking, five phases, times and a goal
	Go16               // three phases
	Go18               // and stacks and globals, from Go 1.18 on
)

func (f Format) String() string {
	return [...]string{"Go 1.0", "Go 1.1–1.2", "Go 1.3", "Go 1.4", "Go 1.5", "Go 1.6–1.17", "Go 1.18 or later"}[f]
}

// Timed reports whether the line says when the cycle began, what it cost in CPU time, and its goal.
func (f Format) Timed() bool { return f >= Go15 }

// Live reports whether the line says how much of the heap was found to be in use. In Go 1.3 and 1.4, where sweeping
// had just become concurrent, the second size includes what is yet to be swept.
func (f Format) Live() bool { return f != Go13 && f != Go14 }

// A Trigger is why a cycle began.
type Trigger int

// A cycle is triggered by the size of the heap, by the runtime itself after two minutes without one, or by the program.
const (
	ByHeap Trigger = iota
	ByTime
	ByProgram // runtime.GC or debug.FreeOSMemory
)

func (t Trigger) String() string { return [...]string{"heap", "time", "program"}[t] }

// A Cycle is one garbage collection. Times have the precision of the line, sizes are whole megabytes.
type Cycle struct {
	N       int // the number that the runtime gave it
	Process int
	Line    int // in the log; of its beginning, when it is torn
	Format  Format
	Trigger Trigger
	Leaks   bool // it looked for leaked goroutines
	Procs   int  // GOMAXPROCS; before Go 1.5 those that took part

	Start time.Duration // since the process began
	Share int           // percent of the CPU that went into garbage collection, since the process began
	Clock Clock
	CPU   CPU

	Before  int64 // bytes of heap when it began
	End     int64 // when marking ended, with what was allocated meanwhile
	Live    int64 // found to be in use
	Goal    int64
	Stacks  int64 // bytes of stacks and globals to scan
	Globals int64

	// Marking is the share of all CPUs that marking had, in percent, and -1 when no line of the pacer said so.
	Marking int

	// Counts are the numbers of a line of Go 1.4 or before, as Format.Columns names them.
	Counts []int64
}

// A Clock is how long the phases of a cycle took.
type Clock struct {
	SweepTerm time.Duration // world stopped: what is left to sweep, and preparations
	Scan      time.Duration // Go 1.5: stacks and globals
	Sync      time.Duration // Go 1.5: until all Ps know that marking begins
	Mark      time.Duration
	MarkTerm  time.Duration // world stopped

	Stopped time.Duration // before Go 1.5: all of it
}

// A CPU is the CPU time of the phases of a cycle.
type CPU struct {
	SweepTerm, Scan, Sync time.Duration
	Assist                time.Duration // by goroutines that allocate
	Background            time.Duration // by workers that have a P for it
	Idle                  time.Duration // by Ps that had nothing else to do
	MarkTerm              time.Duration
}

// Total is the CPU time that the program could have used otherwise: all but that of idle Ps.
func (c *CPU) Total() time.Duration {
	return c.SweepTerm + c.Scan + c.Sync + c.Assist + c.Background + c.MarkTerm
}

// Stops returns the times for which the world stood still.
func (c *Cycle) Stops() []time.Duration {
	if !c.Format.Timed() {
		return []time.Duration{c.Clock.Stopped}
	}
	return []time.Duration{c.Clock.SweepTerm, c.Clock.MarkTerm}
}

// Pause returns for how long the world stood still.
func (c *Cycle) Pause() time.Duration {
	return c.Clock.Stopped + c.Clock.SweepTerm + c.Clock.MarkTerm
}

// Wall returns how long the cycle took.
func (c *Cycle) Wall() time.Duration {
	return c.Pause() + c.Clock.Scan + c.Clock.Sync + c.Clock.Mark
}

// EndAt ends a log before the collection that a recorder in the program asked for at its end: the first one from cycle n on that was forced. What
// followed it, while the recorder wrote, is of no interest. n is 0 when there was none. It is for who has just read the log.
func (l *Log) EndAt(n int) {
	if n <= 0 {
		return
	}
	at := slices.IndexFunc(l.Cycles, func(c Cycle) bool { return c.N >= n && c.Trigger == ByProgram })
	if at < 0 {
		return
	}
	own := l.Cycles[at]
	l.Recorder = &own
	l.Cycles = slices.DeleteFunc(l.Cycles, func(c Cycle) bool { return c.Process == own.Process && c.N >= own.N })
	p := &l.Processes[own.Process]
	p.Cycles, p.Last = 0, 0
	for i := range l.Cycles {
		if c := &l.Cycles[i]; c.Process == own.Process {
			p.Cycles++
			p.Last = c.N
		}
	}
}

// Profiled returns the cycle as of which a heap profile of a time shows live memory, or nil where the log does not say. The runtime publishes what a
// cycle left only at the end of the next one, or when runtime.GC returns.
func (l *Log) Profiled(at time.Duration) *Cycle {
	var last, before *Cycle
	for i := range l.Cycles {
		c := &l.Cycles[i]
		if c.Start+c.Wall() > at {
			break
		}
		last, before = c, last
		if i == len(l.Cycles)-1 && l.Dropped > 0 {
			return nil
		}
	}
	if c := l.Recorder; c != nil && c.Start+c.Wall() <= at {
		return c
	}
	switch {
	case len(l.Processes) != 1 || last == nil || !last.Format.Timed():
		return nil
	case last.Trigger == ByProgram:
		return last
	case before == nil || before.N != last.N-1:
		return nil
	}
	return before
}

// Columns names the numbers of a line of Go 1.4 or before the way log2csv did, so that what was made for its files
// reads ours.
func (f Format) Columns() []string {
	head := []string{"numgc", "nproc"}
	stops := []string{"mark", "sweep", "cleanup", "heap0", "heap1", "obj0", "obj1", "nmalloc", "nfree"}
	helpers := []string{"nhandoff", "nhandoffcnt", "nsteal", "nstealcnt", "nprocyield", "nosyield", "nsleep"}
	phases := []string{"stw", "sweep", "mark", "wait", "heap0", "heap1", "obj", "nmalloc", "nfree"}
	sweeps := []string{"nspan", "nbgsweep", "npausesweep"}
	join := func(lists ...[]string) []string {
		for _, l := range lists {
			head = append(head, l...)
		}
		return head
	}
	switch f {
	case Go10:
		return join(stops, []string{"nhandoff"})
	case Go11:
		return join(stops, helpers)
	case Go13:
		return join(phases, sweeps, helpers)
	case Go14:
		return join(phases, []string{"goroutines"}, sweeps, helpers)
	}
	return nil
}
