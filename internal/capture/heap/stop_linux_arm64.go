package heap

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

var thisArch = arch{link: true, minimum: 8, quantum: 4}

func threadOf(id int, r *unix.PtraceRegs) thread {
	return thread{id: id, pc: r.Pc, sp: r.Sp, words: r.Regs[:]}
}

// forked is for amd64 alone, until somebody has tried it elsewhere.
func forked(context.Context, *os.File, uint64, int, PauseError, func(int, []thread, func()) error) (time.Duration, error) {
	return 0, fmt.Errorf("%w: hone knows how on amd64 only", ErrNoFork)
}
