//go:build linux || darwin

package main

import (
	"syscall"
	"testing"
	"time"
)

// ownCPU returns the CPU time that this process took.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestSpendMeasures(t *testing.T) {
	r := newRunner(t)
	idle, err := spend(t.Context(), r.hone, []string{"print"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	busy, err := spend(t.Context(), r.hone, []string{"memory", "200", "spin", "50"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// What a process sees of its own CPU time before it ends is in its bill afterwards.
	if busy.cpu < 50*time.Millisecond {
		t.Errorf("a program that took 50 ms of CPU was charged %v", busy.cpu)
	}
	const mb = 1 << 20
	if idle.rss < mb || busy.rss < 200*mb || idle.rss > busy.rss/2 {
		t.Errorf("programs with next to nothing and with 200 MB were charged %d and %d MB", idle.rss/mb, busy.rss/mb)
	}
}
