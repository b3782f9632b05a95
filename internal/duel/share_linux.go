package duel

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// canShare says that programs can be bound to one processor.
const canShare = true

// freeShare returns how much of a processor a program that never waits gets now.
func freeShare() float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, began := threadTime(), time.Now()
	for time.Since(began) < 10*time.Millisecond {
	}
	return min(1, max(0.01, float64(threadTime()-before)/float64(time.Since(began))))
}

func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
