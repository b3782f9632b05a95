package prove

import (
	"context"
	"time"
)

// A clock says when a search has to be done with what. Where the number of calls is the limit, it only says when no more are made: the same
// calls are to find the same, however busy the machine is.
type clock struct {
	until    time.Time     // when no more calls are made up
	callsEnd time.Time     // when those under way are ended; zero is never
	end      time.Time     // when all of the time is used up
	grace    time.Duration // that there is beyond it

	late time.Time // when what was found is not cut down any more, but for the first findings
	last time.Time // when nothing is looked into any more; zero is never
}

// Limits of the time beyond what was asked for.
const (
	mostGrace  = 5 * time.Second        // in all packages together
	leastShare = 500 * time.Millisecond // of a package
	replayTime = time.Second            // to show once more what was found
)

// graceOf is how much longer than asked for a run may take to look into what was found.
func graceOf(asked time.Duration) time.Duration { return min(mostGrace, asked/10) }

// begin starts the clock.
func (f *search) begin() {
	now := time.Now()
	f.until, f.end = now.Add(f.opt.Time*5/6), now.Add(f.opt.Time)
	if f.opt.Executions == 0 {
		f.callsEnd = now.Add(f.opt.Time * 11 / 12)
	}
}

// over reports whether no more calls are to be made up.
func (c *clock) over() bool { return time.Now().After(c.until) }

// look starts the time for looking into what was found.
func (f *search) look() {
	now := time.Now()
	if f.opt.Executions > 0 {
		f.late = now.Add(max(f.opt.Time/6, 3*time.Second))
		return
	}
	f.late = later(f.end, now.Add(f.grace/2))
	f.last = f.late.Add(f.grace / 2)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// within calls f with a context that ends at some time, or never. That it ended so is no error.
func within(ctx context.Context, end time.Time, f func(ctx context.Context) error) error {
	if end.IsZero() {
		return f(ctx)
	}
	limited, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	err := f(limited)
	if limited.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}
