package duel

import (
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// cores returns those that this process may use.
func cores() (out []int) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return nil
	}
	for cpu := 0; len(out) < all.Count(); cpu++ {
		if all.IsSet(cpu) {
			out = append(out, cpu)
		}
	}
	return out
}

// startOn starts programs on one core that they share. Shorter turns that the system gives them (sched_setattr with a
// runtime of 0.1 to 1.5 ms, Linux 6.12) were tried and made pairs no more alike, longer ones of 100 ms half as much.
func startOn(cpu int, cmds ...*exec.Cmd) error {
	// Children inherit the cores of the thread that starts them.
	runtime.LockOSThread()
	var all, one unix.CPUSet
	one.Set(cpu)
	if unix.SchedGetaffinity(0, &all) != nil || unix.SchedSetaffinity(0, &one) != nil {
		runtime.UnlockOSThread()
		return start(cmds)
	}
	err := start(cmds)
	if unix.SchedSetaffinity(0, &all) == nil {
		runtime.UnlockOSThread()
	} // else the thread ends with this goroutine
	return err
}

// canShare says that programs can be bound to one core.
const canShare = true
