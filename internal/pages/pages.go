// Package pages allocates tables in large pages of memory, where the kernel has them.
//
// The kernel gives memory to a growing heap in pages of 4 kB, when each is first written to. Reading a small profile takes some
// thousands of them, at 2 µs each, which is a fifth of its time. One page of 2 MB takes as long as 100 to 200 small ones.
package pages

import (
	"sync/atomic"
	"unsafe"
)

// Make returns a slice with n elements and room for some more in all, as make does. It is for tables that grow while the
// heap does.
func Make[T any](n, room int) []T {
	s := make([]T, n, room)
	if size := uintptr(cap(s)) * unsafe.Sizeof(*new(T)); wanted(size) {
		ask(uintptr(unsafe.Pointer(unsafe.SliceData(s))), size)
	}
	return s
}

// large is set once there is a table of a size of which much may never be used. In a large page that it shares with a small one, that
// would take memory.
var large atomic.Bool

// wanted reports whether to ask for large pages for a table.
func wanted(size uintptr) bool {
	if size >= step {
		large.Store(true)
	}
	return few <= size && size < many && !large.Load()
}

// Below few bytes, asking takes longer than it could win. A heap with tables of many bytes would take most of its memory in
// large pages. Won is a tenth then, where the machine has used them before, and lost as much where it has not: a virtual one has to
// ask its host, which clears them again. And what is left of the last ones counts, too.
const (
	few  = 64 << 10
	many = 1 << 20
	step = 4 << 20 // by which the heap grows
)
