package capture

import (
	"context"

	"github.com/hone-perf/hone/internal/gclog"
	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/recording"
)

// A Timed is what a run of a program took.
type Timed struct {
	recording.Usage
	Below    int64 // what MaxRSS is less than, in bytes, where it is not known
	Exit     recording.Exit
	Switches Switches
	GC       *gclog.Log // nil when it was not asked for
}

// Switches are how often the system came between, where it says so.
type Switches struct {
	Waited    int64 // gave up the core by itself
	Displaced int64 // had to give it up
	Faults    int64 // pages that were read from a disk
	Touched   int64 // pages that only had to be mapped
}

// Time runs a program. With gc it also looks at its garbage collection, for which standard error goes through hone; but not at that of the go
// command: see ErrGoCommand.
func Time(ctx context.Context, p Program, gc bool) (*Timed, error) {
	end, err := run(ctx, p, watch{gctrace: gc && !gocmd.Is(p.Args[0])})
	if end == nil {
		return nil, err
	}
	return &Timed{
		Usage:    recording.Usage{User: end.state.UserTime(), System: end.state.SystemTime(), Real: end.real, MaxRSS: end.peak},
		Below:    end.below,
		Exit:     recording.Exit{Code: codeOf(end.state), Signal: signalName(end.state)},
		Switches: switchesOf(end.state),
		GC:       end.log,
	}, err
}
