package requests

import (
	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/waits"
)

// Profile returns what goroutines did in a window of a trace, as a profile by where they did it, with the handler of the request that they answered
// meanwhile.
func Profile(t *exectrace.Trace, w waits.Window) (*profile.Profile, error) {
	f := NewFinder(t)
	f.profile = waits.NewProfiler(f.names, w)
	walk := f.Walk()
	walk.Named = f.profile.Add
	walk.Event = func(e *exectrace.Event) {
		if f.profile.Done(t, e) {
			walk.Stop()
		}
		f.event(e)
	}
	if err := walk.Run(t); err != nil {
		return nil, err
	}
	f.end()
	return f.profile.Profile(t, walk)
}
