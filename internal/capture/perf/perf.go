// Package perf takes CPU profiles of programs that are running, from outside: of any Go program on this machine, as it
// is, without symbols, without a port, without being asked.
//
// The kernel interrupts what runs about 100 times a second, and writes down where it is and who called: Go keeps frame
// pointers. Names come from the tables that every Go program carries, which know inlined functions too.
// What comes out is what the program's own runtime/pprof would have written: the same functions, the same roots.
//
// Record does it; it is there for Linux. The rest of the package is how: events_linux.go asks the kernel, records.go reads
// what it writes, space.go knows what is mapped where in the program and names it, stack.go makes a stack of a sample
// as the Go runtime would see it, segment.go counts.
package perf

import (
	"errors"
	"time"

	"github.com/hone-perf/hone/internal/profile"
)

// Options tune Record. The zero Options takes about 100 samples for a second of CPU time.
type Options struct {
	Rate    int           // samples for a second of CPU time; 0 means 99, which keeps out of step with clocks
	Segment time.Duration // how long a profile is; 0 means a second
	Threads bool          // whether samples are labeled with their thread
	// Emit gets a profile for each segment, and from when to when it is, counted from when Record was called. A segment
	// without a sample has a profile, too. An error ends the recording.
	Emit func(p *profile.Profile, from, to time.Duration) error

	perThread bool // for tests: not of cores, as when that is not allowed
}

// maxRate is as often as can be without the program noticing much.
const maxRate = 10000

// An Outcome says how a recording went.
type Outcome struct {
	Exited  bool     // the process ended
	Samples int64    // that are in the profiles
	Lost    int64    // that the kernel had no room for, or that could not be read
	Notes   []string // what is missing or doubtful, in words

	CPU time.Duration // that was sampled, including what was lost and what is left out of the profiles
}

// Errors of Record.
var (
	ErrPermission  = errors.New("permission denied")
	ErrUnsupported = errors.New("the system cannot sample other programs")
	ErrGone        = errors.New("no such process")
	ErrNotGo       = errors.New("not a Go program")
)
