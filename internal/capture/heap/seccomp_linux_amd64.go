package heap

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A process in a container may have filters that the kernel asks about each system call. Most give an error for a call that they do not know, but some
// end the process. So those of the process are asked first, as the kernel would ask them.

const (
	getFilter  = 0x420c     // PTRACE_SECCOMP_GET_FILTER
	archX86    = 0xc000003e // AUDIT_ARCH_X86_64
	actionMask = 0xffff0000
	actAllow   = 0x7fff0000
	actLog     = 0x7ffc0000
	maxFilters = 1 << 10
)

// mayCall returns an error unless the filters of a thread let it make a system call.
func (t *heldThread) mayCall(gadget, number uint64, args ...uint64) error {
	m, err := status(fmt.Sprintf("/proc/%d/", t.id))
	if err != nil || m["Seccomp"] == 0 {
		return err
	}
	data := make([]byte, 64)
	binary.LittleEndian.PutUint32(data, uint32(number))
	binary.LittleEndian.PutUint32(data[4:], archX86)
	binary.LittleEndian.PutUint64(data[8:], gadget+2)
	for i, a := range args {
		binary.LittleEndian.PutUint64(data[16+8*i:], a)
	}
	for i := range maxFilters {
		n, _, errno := unix.Syscall6(unix.SYS_PTRACE, getFilter, uintptr(t.id), uintptr(i), 0, 0, 0)
		if errno == unix.ENOENT {
			return nil // that was the last
		}
		if errno != 0 {
			return fmt.Errorf("%w: its system calls are filtered (seccomp), and only root of the whole system may see how", ErrNoFork)
		}
		code := make([]unix.SockFilter, n)
		if n == 0 || n > 4096 {
			break
		}
		if got, _, errno := unix.Syscall6(unix.SYS_PTRACE, getFilter, uintptr(t.id), uintptr(i), uintptr(unsafe.Pointer(&code[0])), 0, 0); errno != 0 || got != n {
			break
		}
		if act, ok := runFilter(code, data); !ok || act&actionMask != actAllow && act&actionMask != actLog {
			return fmt.Errorf("%w: its system calls are filtered (seccomp), and it may not make one that is needed", ErrNoFork)
		}
	}
	return fmt.Errorf("%w: its system calls are filtered (seccomp) in a way that hone does not know", ErrNoFork)
}

// runFilter runs a filter on a system call, and returns what is to happen.
func runFilter(code []unix.SockFilter, data []byte) (uint32, bool) {
	var a, x uint32
	var m [16]uint32
	for pc := uint64(0); pc < uint64(len(code)); pc++ { // all jumps are forward
		c := code[pc]
		operand := c.K
		if c.Code&8 != 0 { // BPF_X
			operand = x
		}
		switch c.Code & 7 {
		case 0, 1: // BPF_LD, BPF_LDX
			var v uint32
			switch c.Code & 0xe0 {
			case 0x00: // BPF_IMM
				v = c.K
			case 0x20: // BPF_ABS
				if c.K > uint32(len(data)-4) {
					return 0, false
				}
				v = binary.LittleEndian.Uint32(data[c.K:])
			case 0x60: // BPF_MEM
				if c.K >= 16 {
					return 0, false
				}
				v = m[c.K]
			case 0x80: // BPF_LEN
				v = uint32(len(data))
			default:
				return 0, false
			}
			if c.Code&7 == 0 {
				a = v
			} else {
				x = v
			}
		case 2, 3: // BPF_ST, BPF_STX
			if c.K >= 16 {
				return 0, false
			}
			if m[c.K] = a; c.Code&7 == 3 {
				m[c.K] = x
			}
		case 4: // BPF_ALU
			switch c.Code & 0xf0 {
			case 0x00:
				a += operand
			case 0x10:
				a -= operand
			case 0x20:
				a *= operand
			case 0x30:
				if operand == 0 {
					return 0, false
				}
				a /= operand
			case 0x40:
				a |= operand
			case 0x50:
				a &= operand
			case 0x60:
				a <<= operand
			case 0x70:
				a >>= operand
			case 0x80:
				a = -a
			case 0xa0:
				a ^= operand
			default:
				return 0, false
			}
		case 5: // BPF_JMP
			var yes bool
			switch c.Code & 0xf0 {
			case 0x00:
				pc += uint64(c.K)
				continue
			case 0x10:
				yes = a == operand
			case 0x20:
				yes = a > operand
			case 0x30:
				yes = a >= operand
			case 0x40:
				yes = a&operand != 0
			default:
				return 0, false
			}
			if yes {
				pc += uint64(c.Jt)
			} else {
				pc += uint64(c.Jf)
			}
		case 6: // BPF_RET
			if c.Code&0x18 == 0x10 {
				return a, true
			}
			return c.K, true
		case 7: // BPF_MISC
			if c.Code&0xf8 == 0x80 {
				a = x
			} else {
				x = a
			}
		}
	}
	return 0, false
}
