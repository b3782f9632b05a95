//go:build go1.25

package agent

import (
	"io"
	"runtime/trace"
	"time"
)

// A flight recorder keeps the last of an execution trace.
type flight struct{ r *trace.FlightRecorder }

// flightBytes bounds what is kept in memory of it.
const flightBytes = 32 << 20

func (f *flight) begin(last time.Duration) error {
	f.r = trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: last, MaxBytes: flightBytes})
	return f.r.Start()
}

func (f *flight) write(w io.Writer) error {
	_, err := f.r.WriteTo(w)
	return err
}
