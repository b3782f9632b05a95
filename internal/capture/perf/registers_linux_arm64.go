package perf

import "encoding/binary"

// stackRegisters are the registers that samples have: the one with the return address, and the stack pointer.
const stackRegisters = 1<<30 | 1<<31 // PERF_REG_ARM64_LR, PERF_REG_ARM64_SP

var nativeEndian = binary.LittleEndian
