package load

import (
	"context"
	"time"
)

// sleepUntil waits until a time, and reports false when ctx ended before. Timers of Go may be a millisecond late, so the
// last part is left to the system.
func sleepUntil(ctx context.Context, at time.Time) bool {
	if d := time.Until(at) - coarse; d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return false
		}
	}
	if d := time.Until(at); d > 0 {
		fineSleep(d)
	}
	return ctx.Err() == nil
}
