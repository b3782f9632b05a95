package worker

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// limitData has the system refuse memory that can be written to beyond so many bytes more than there are. A process that asks for more
// ends for want of memory.
func limitData(more uint64) {
	if now := pagesOf(dataPages); now > 0 {
		syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: now + more, Max: now + more})
	}
}

// Places of numbers in /proc/self/statm, in pages.
const (
	residentPages = 1
	dataPages     = 5 // and stacks
)

// resident returns how much memory this process has of the machine, whoever in it allocated that; 0 when that is not known.
func resident() uint64 { return pagesOf(residentPages) }

func pagesOf(place int) uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	words := bytes.Fields(text)
	if len(words) <= place {
		return 0
	}
	pages, err := strconv.ParseUint(string(words[place]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * uint64(os.Getpagesize())
}
