package waits

import (
	"fmt"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/profile"
)

// The columns of a profile of Samples. Each sample is one of the CPU profile that was recorded with a trace.
const (
	SampleColumn = iota // 1
	TimeColumn          // nanoseconds since the start
	TrackColumn         // what the sample is of: the number of a goroutine, or a thread without one as a negative number
)

// mostSamples bounds a profile of Samples: three hours of one core.
const mostSamples = 1 << 20

// Samples returns the samples of the CPU profile in a trace, in the order of time. None are merged, so each has its own time.
func Samples(t *exectrace.Trace) (*profile.Profile, error) {
	h := profile.Header{SampleTypes: []profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "time", Unit: "nanoseconds"}, {Type: "track", Unit: "count"}}}
	if wall := t.Wall(); wall != 0 {
		h.TimeNanos = wall
	}
	b := newStacks(t, h)
	n := 0
	for e, err := range t.Events() {
		if err != nil {
			return nil, err
		}
		if e.Kind != exectrace.Sample {
			continue
		}
		if n++; n > mostSamples {
			b.Notes = append(b.Notes, fmt.Sprintf("the trace has more than %d CPU samples; the others are left out", mostSamples))
			break
		}
		track := e.Goroutine
		if track <= 0 {
			track = -max(e.Thread, 1)
		}
		b.add(e.Stack, "", nil, []int64{1, e.Time, track})
	}
	b.Notes = append(b.Notes, DamageNotes(t)...)
	return b.Profile()
}
