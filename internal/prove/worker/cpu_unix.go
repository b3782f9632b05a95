//go:build unix

package worker

import (
	"syscall"
	"time"
)

const hasCPUTime = true

// cpuTime returns the CPU time that this process took.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
