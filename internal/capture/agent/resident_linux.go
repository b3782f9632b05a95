package agent

import (
	"os"
	"syscall"
	"time"
	"unsafe"
)

// A residence finds out how much of Go's heap is resident. The runtime counts the memory that it got from the system, but only pages that were touched
// are resident. So the resident memory of the process minus what the runtime counts is only a lower limit of what C has.
//
// It calls mincore, which takes about a millisecond per gigabyte. The kernel locks the address space for 16 MB at a time, so other threads can map memory
// in between. /proc/self/smaps would take ten times as long, and hold the lock all the time.
type residence struct {
	next time.Duration // not to look before
}

const (
	arena    = 64 << 20 // the heap is reserved in pieces of this size, one after the other, where addresses have 64 bits
	leastGap = 1000     // times what a look took, until the next one
	mostLook = 250 * time.Millisecond
)

// pages has a byte for each page of an arena. It is no part of the heap that is looked at.
var pages [arena / 4096]byte

// look returns the resident bytes of the heap that of is in, and whether that is known. mapped is how much the runtime has of the heap, at least. It
// does not look again right after it did, unless it is the last time.
func (s *residence) look(of unsafe.Pointer, mapped uint64, now time.Duration, last bool) (n int64, known bool) {
	if unsafe.Sizeof(uintptr(0)) < 8 || now < s.next && !last {
		return 0, false
	}
	began := time.Now()
	defer func() { s.next = now + leastGap*time.Since(began) }()
	base := uintptr(of) &^ (arena - 1)
	seen := uint64(0)
	for _, step := range []uintptr{arena, ^uintptr(arena - 1)} { // up from there, and down
		for at := base; ; at += step {
			if step != arena && at == base {
				continue // it was the first
			}
			k, mapped := residentAt(at)
			if !mapped {
				break
			}
			n += k
			if seen += arena; time.Since(began) > mostLook {
				return 0, false
			}
		}
	}
	return n, seen >= mapped // or else some of the heap is elsewhere
}

// residentAt returns the resident bytes of an arena, and whether all of it is mapped.
func residentAt(at uintptr) (n int64, mapped bool) {
	if _, _, err := syscall.Syscall(syscall.SYS_MINCORE, at, arena, uintptr(unsafe.Pointer(&pages))); err != 0 {
		return 0, false
	}
	page := os.Getpagesize()
	for _, p := range pages[:arena/page] {
		n += int64(p & 1)
	}
	return n * int64(page), true
}
