package agent

import (
	"syscall"
	"time"
)

// sleep waits without a timer of the runtime. Where there is one, whoever looks for a goroutine to go on with asks what time it
// is, which in a program that has no timers of its own takes half a percent more CPU time.
func sleep(d time.Duration) {
	for end := time.Now().Add(d); d > 0; d = time.Until(end) {
		t := syscall.NsecToTimespec(int64(d))
		syscall.Nanosleep(&t, nil) // ends early when there is a signal
	}
}
