package heap

import "golang.org/x/sys/unix"

var thisArch = arch{quantum: 1}

func threadOf(id int, r *unix.PtraceRegs) thread {
	return thread{id: id, pc: r.Rip, sp: r.Rsp, words: []uint64{
		r.Rax, r.Rbx, r.Rcx, r.Rdx, r.Rsi, r.Rdi, r.Rbp, r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15,
	}}
}
