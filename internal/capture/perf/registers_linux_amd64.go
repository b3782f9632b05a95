package perf

import "encoding/binary"

// stackRegisters are the registers that samples have: the stack pointer.
const stackRegisters = 1 << 7 // PERF_REG_X86_SP

var nativeEndian = binary.LittleEndian
