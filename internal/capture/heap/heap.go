// Package heap reads the heap of a Go program that runs, from outside: its objects, what they point to, what keeps them, their types and
// the stacks that made them.
//
// The program stands still for as long as it takes to fork it, which is some 30 ms for each GB. The fork never runs; its memory is read, and
// then it ends. What the runtime's tables mean is read from the debug data of the program, with their names. Nothing else of the
// memory leaves this package: no contents of strings and no keys of maps.
package heap

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hone-perf/hone/internal/heapgraph"
	"github.com/hone-perf/hone/internal/unit"
)

// Options say how to read a heap. The zero Options suit most programs.
type Options struct {
	Binary   string        // the program with its debug data, if the one that runs has none; it is built from the same source with the same flags, but without -s and -w
	MaxPause time.Duration // how long the program may stand still: what has passed until it is forked, and an estimate for that; 0 means 250ms
	Stop     bool          // let the program stand still until its heap is read, and do not fork it
}

const defaultPause = 250 * time.Millisecond

// Errors that a caller may know a way out of.
var (
	// ErrNoDebug says that the program lacks its debug data. Options.Binary may have it.
	ErrNoDebug = errors.New("the program has no debug data (it was built with -s or -w)")
	// ErrNoFork says that the program cannot be forked, or should not be. With Options.Stop its heap can be read.
	ErrNoFork = errors.New("the program cannot be forked")
)

// A PauseError says that the program would stand still for longer than is allowed.
type PauseError struct {
	Expected, Max time.Duration
	Resident      uint64 // bytes of memory
}

func (e *PauseError) Error() string {
	return fmt.Sprintf("the program has %s in memory, and would stand still for about %s; the limit is %s",
		unit.Size(int64(e.Resident)), unit.Time(e.Expected), unit.Time(e.Max))
}

// A VersionError says that a program was built with a Go whose runtime is not known.
type VersionError struct{ Version string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("the program was built with %s; heaps can be read of programs built with go1.22 to go1.27. A newer hone may know more",
		e.Version)
}

// Read reads the heap of a process. The process runs on, whatever happens: also if ctx ends.
func Read(ctx context.Context, pid int, o Options) (*heapgraph.Heap, error) {
	if o.MaxPause == 0 {
		o.MaxPause = defaultPause
	}
	h, err := readProcess(ctx, pid, o)
	if err != nil {
		return nil, fmt.Errorf("reading the heap of process %d: %w", pid, err)
	}
	return h, nil
}
