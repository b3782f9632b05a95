package worker

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// limitMemory keeps one huge allocation from taking the machine with it.
func limitMemory() {
	const most = 6 << 30
	syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: most, Max: most})
}

// resident returns how much memory this process has of the machine, whoever in it allocated that; 0 when that is not known.
func resident() uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	words := bytes.Fields(text)
	if len(words) < 2 {
		return 0
	}
	pages, err := strconv.ParseUint(string(words[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * uint64(os.Getpagesize())
}
