package objfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// errLimit marks a file that would take far more memory than it has bytes.
var errLimit = errors.New("damaged object file")

// An allowance is how many more bytes debug/* may copy out of a file. Copies are what has to be limited: a thousand
// symbols may all name the same megabyte that has no end-of-string in it.
type allowance uint64

// allow grants a file of the given size more than any linker's output needs.
func allow(size int64) allowance { return allowance(4*size + 1<<20) }

func (a *allowance) take(n uint64) error {
	if n > uint64(*a) {
		return fmt.Errorf("%w: its tables name more bytes than it has", errLimit)
	}
	*a -= allowance(n)
	return nil
}

// name takes the string at off in table. What lies outside the table is left to debug/* to refuse.
func (a *allowance) name(table []byte, off uint64) error {
	if off >= uint64(len(table)) {
		return nil
	}
	rest := table[off:]
	if n := bytes.IndexByte(rest, 0); n >= 0 {
		rest = rest[:n]
	}
	return a.take(uint64(len(rest)) + 1)
}

// A debugInfo counts what the sections with DWARF take together when they are unpacked.
type debugInfo struct {
	in   *input
	left uint64
}

// allowDebug grants the DWARF of a file more than compression saves on it, which is about half.
func allowDebug(in *input) *debugInfo { return &debugInfo{in, min(64*uint64(in.size), 2<<30)} }

// section takes the section at off that says it has size bytes. Outside ELF, and in old ELF files, a compressed
// section starts with "ZLIB" and its true size.
func (d *debugInfo) section(off, size uint64) error {
	if head, err := d.in.bytes(off, 12); err == nil && string(head[:4]) == "ZLIB" {
		size = max(size, binary.BigEndian.Uint64(head[4:]))
	}
	if size > d.left {
		return fmt.Errorf("%w: its DWARF unpacks to more than %d bytes", errLimit, d.left)
	}
	d.left -= size
	return nil
}
