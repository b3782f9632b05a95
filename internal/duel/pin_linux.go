package duel

import (
	"math/rand/v2"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// startTogether starts programs on one processor that they share. Shorter turns
// (sched_setattr with a runtime of 0.1 to 1.5 ms, Linux 6.12), runs three times as long, and having both sides wait for each
// other before what counts begins were tried on a busy machine, and made pairs no more alike.
func startTogether(r *rand.Rand, cmds ...*exec.Cmd) error {
	// Children inherit the processors of the thread that starts them.
	runtime.LockOSThread()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil || all.Count() == 0 {
		runtime.UnlockOSThread()
		return start(cmds)
	}
	var allowed []int
	for cpu := 0; len(allowed) < all.Count(); cpu++ {
		if all.IsSet(cpu) {
			allowed = append(allowed, cpu)
		}
	}
	one.Set(allowed[r.IntN(len(allowed))])
	if unix.SchedSetaffinity(0, &one) != nil {
		runtime.UnlockOSThread()
		return start(cmds)
	}
	err := start(cmds)
	if unix.SchedSetaffinity(0, &all) == nil {
		runtime.UnlockOSThread()
	} // else the thread ends with this goroutine
	return err
}

// canShare says that programs can be bound to one processor.
const canShare = true
