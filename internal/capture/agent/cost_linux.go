package agent

import (
	"syscall"
	"unsafe"
)

// threadCPU returns the CPU time of this thread in nanoseconds.
func threadCPU() int64 {
	const clockThread = 3 // CLOCK_THREAD_CPUTIME_ID
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThread, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}
