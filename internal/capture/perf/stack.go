package perf

import "encoding/binary"

// stack returns the places on the stack of a sample, from the leaf to the root, as runtime/pprof would show it. buf is
// room for it.
//
// The kernel walks frame pointers, which is not quite the same: it misses the caller of a function that has no frame,
// or none yet, and it does not know where Go thinks a stack begins.
func (s *space) stack(m *sample, order binary.ByteOrder, buf []*place) []*place {
	out := buf[:0]
	chain := m.chain
	leaf := s.at(chain[0])
	if ret, ok := m.returnsTo(leaf, order); ok && (len(chain) < 2 || chain[1] != ret) && s.mapped(ret-1) != nil {
		chain = append([]uint64{chain[0], ret}, chain[1:]...)
	}
	// Reading the clock counts for who asked, as in the runtime: it is code of the kernel's, on another stack.
	first := 0
	for p := leaf; isVDSO(p) || isClock(p); p = s.at(chain[first] - 1) {
		if first++; first == len(chain) || s.mapped(chain[first]-1) == nil {
			first = 0
			break
		}
	}
	for i := first; i < len(chain); i++ {
		p := leaf
		if i > 0 {
			p = s.at(chain[i] - 1) // a return address is behind the call
			if p.mapping == nil || p.name == "runtime.goexit" {
				break // garbage, or where goroutines end
			}
			if p.name == "runtime.morestack" {
				continue // the runtime shows who needed more stack instead
			}
		}
		out = append(out, p)
		if p.top || p.moves && (i == 0 || !comesBack(p.name)) {
			break
		}
	}
	return out
}

// isClock reports whether p is in one of the functions that ask the kernel what time it is.
func isClock(p *place) bool {
	switch p.name {
	case "runtime.nanotime1", "runtime.walltime", "time.now":
		return p.asm
	}
	return false
}

// isVDSO reports whether p is in code that the kernel puts into each program.
func isVDSO(p *place) bool { return p.mapping != nil && p.mapping.file == "[vdso]" }

// comesBack reports whether a function that moves to another stack keeps the frame pointer, so that its caller is known.
func comesBack(name string) bool {
	switch name {
	case "runtime.systemstack", "runtime.asmcgocall", "runtime.asmcgocall_landingpad", "runtime.cgocallback":
		return true
	}
	return false
}

// returnsTo tells where the leaf of a sample returns to, by what Go's tables say about its stack.
func (m *sample) returnsTo(leaf *place, order binary.ByteOrder) (uint64, bool) {
	if !leaf.golang || leaf.depth < 0 || leaf.moves || leaf.top || m.sp == 0 {
		return 0, false
	}
	at := leaf.depth
	if m.lr != 0 { // calls leave the return address in a register, from where it goes to the end of the stack
		if at == 0 {
			return m.lr, true
		}
		at = 0
	}
	if at+8 > len(m.stack) {
		return 0, false
	}
	return order.Uint64(m.stack[at:]), true
}
