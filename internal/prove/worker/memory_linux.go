package worker

import "syscall"

// limitMemory keeps one huge allocation from taking the machine with it.
func limitMemory() {
	const most = 6 << 30
	syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: most, Max: most})
}
