//go:build amd64 || arm64

package pages

import "syscall"

// ask asks for large pages for the memory at a place, and for what is around it, since the heap hands that out next. Of what is
// asked for beyond the heap the kernel says that it is not there, and for the rest it has heard. A large page is given where
// nothing of it has been used yet, and when the machine is set up to give any.
func ask(at, size uintptr) {
	from := at &^ (step - 1)
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, (at+size-from+step-1)&^(step-1), syscall.MADV_HUGEPAGE)
}
