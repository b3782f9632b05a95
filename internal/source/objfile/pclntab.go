package objfile

import (
	"bytes"
	"encoding/binary"
)

// A lineTable is Go's own table of functions, files and lines, the section .gopclntab, which the runtime itself uses
// and no strip removes. Its layouts since Go 1.2 are described in golang.org/s/go12symtab, cmd/link and runtime/symtab.go.
//
// debug/gosym reads the same and is the oracle in the tests. It is not used because it decodes the names of all
// functions before it answers for one, several milliseconds and megabytes for a small server, and because it takes
// memory without bound when a hostile table points all functions at one endless name.
type lineTable struct {
	bo      binary.ByteOrder
	ptr     uint32 // size of a pointer
	quantum uint32 // size of the smallest instruction
	layout  layout
	text    uint64 // address that offsets of functions count from, since Go 1.18

	entries []byte // pairs of address and offset in funcs, sorted, and the address of the end
	count   int    // of functions
	funcs   []byte // what is known of a function
	names   []byte // of functions
	files   []byte // names of files, before Go 1.16 their offsets
	units   []byte // offsets in files, by number of file and compilation unit
	values  []byte // encoded tables of values by address: numbers of files and of lines
	strings map[string]string
}

// A layout is the Go version that brought a form of the table.
type layout int

const (
	go12 layout = iota
	go116
	go118
	go120 // differs from go118 in what GoCode needs
)

// maxName is longer than any name of a function or file; behind it a table is garbage.
const maxName = 64 << 10

// newLineTable reads the header of a table. It returns nil if data is none that it knows: empty, damaged, or of before
// Go 1.2.
func newLineTable(data []byte, text uint64) *lineTable {
	// A magic number of 4 bytes, two zeros, the quantum, the pointer size.
	if len(data) < 16 || data[4] != 0 || data[5] != 0 {
		return nil
	}
	t := &lineTable{quantum: uint32(data[6]), ptr: uint32(data[7]), text: text, strings: map[string]string{}}
	if t.quantum != 1 && t.quantum != 2 && t.quantum != 4 || t.ptr != 4 && t.ptr != 8 {
		return nil
	}
	magics := map[uint32]layout{0xfffffffb: go12, 0xfffffffa: go116, 0xfffffff0: go118, 0xfffffff1: go120}
	var known bool
	t.bo = binary.LittleEndian
	if t.layout, known = magics[t.bo.Uint32(data)]; !known {
		t.bo = binary.BigEndian
		if t.layout, known = magics[t.bo.Uint32(data)]; !known {
			return nil
		}
	}
	word := func(i uint32) uint64 { return t.uint(from(data, uint64(8+i*t.ptr)), t.ptr) }
	part := func(i uint32) []byte { return from(data, word(i)) }
	switch t.layout {
	case go12:
		t.names, t.funcs, t.values = data, data, data
		t.entries = from(data, uint64(8+t.ptr))
	case go116:
		t.names, t.units, t.files, t.values, t.funcs = part(2), part(3), part(4), part(5), part(6)
		t.entries = t.funcs
	case go118, go120: // word 2 was the address of the text, but without relocation
		t.names, t.units, t.files, t.values, t.funcs = part(3), part(4), part(5), part(6), part(7)
		t.entries = t.funcs
	}
	size := (2*uint64(uint32(word(0))) + 1) * uint64(t.entrySize())
	if size > uint64(len(t.entries)) {
		return nil
	}
	if t.layout == go12 { // the offset of the table of files follows
		t.files = from(data, uint64(t.uint(from(t.entries, size), 4)))
	}
	t.entries, t.count = t.entries[:size], int(uint32(word(0)))
	return t
}

// lookup names the code at pc, which is a link-time address. Where the table is damaged, the line is -1 and the file
// is empty, as go tool pprof has it.
func (t *lineTable) lookup(pc uint64) (Frame, bool) {
	i, ok := t.find(pc)
	if !ok {
		return Frame{}, false
	}
	fn := t.record(i)
	entry := t.uint(fn, t.entrySize())
	if t.layout >= go118 {
		entry += t.text
	}
	return t.frame(fn, entry, pc)
}

// find returns the number of the function that pc lies in.
func (t *lineTable) find(pc uint64) (i int, ok bool) {
	// The last function that starts at or before pc.
	lo, hi := 0, t.count
	for lo < hi {
		if m := int(uint(lo+hi) / 2); t.start(m) > pc {
			hi = m
		} else {
			lo = m + 1
		}
	}
	return lo - 1, lo > 0 && pc < t.start(lo)
}

// record returns what is known of function i.
func (t *lineTable) record(i int) []byte {
	return from(t.funcs, t.uint(from(t.entries, uint64((2*i+1)*int(t.entrySize()))), t.entrySize()))
}

// frame names the code at pc in the function at entry, of which fn is the record.
func (t *lineTable) frame(fn []byte, entry, pc uint64) (Frame, bool) {
	name, ok := t.string(t.names, uint64(t.field(fn, 1)))
	if !ok {
		return Frame{}, false
	}
	fr := Frame{Func: name}
	fr.File, fr.Line = t.place(fn, entry, pc)
	return fr, true
}

// place returns where in the source the code at pc is from, in the function at entry, of which fn is the record.
func (t *lineTable) place(fn []byte, entry, pc uint64) (file string, line int) {
	line = int(t.value(t.field(fn, 6), entry, pc))
	if n := t.value(t.field(fn, 5), entry, pc); n >= 0 {
		file = t.file(fn, uint32(n))
	}
	return file, line
}

// name returns the name of function i.
func (t *lineTable) name(i int) string {
	b := from(t.names, uint64(t.field(t.record(i), 1)))
	if n := bytes.IndexByte(b[:min(len(b), maxName)], 0); n >= 0 {
		return string(b[:n])
	}
	return ""
}

// start returns the address of function i, or for i == count the end of the last one.
func (t *lineTable) start(i int) uint64 {
	v := t.uint(from(t.entries, uint64(2*i*int(t.entrySize()))), t.entrySize())
	if t.layout >= go118 {
		v += t.text
	}
	return v
}

// entrySize is the size of an address of a function and of an offset in funcs.
func (t *lineTable) entrySize() uint32 {
	if t.layout >= go118 {
		return 4
	}
	return t.ptr
}

// field returns field n of the record of a function: 1 its name, 4 its table of stack depths, 5 of files, 6 of lines, 8 its unit.
// Field 0 is its address.
func (t *lineTable) field(fn []byte, n uint32) uint32 {
	return uint32(t.uint(from(fn, uint64(t.entrySize()+(n-1)*4)), 4))
}

func (t *lineTable) file(fn []byte, n uint32) string {
	if t.layout == go12 {
		if n == 0 {
			return ""
		}
		name, _ := t.string(t.funcs, t.uint(from(t.files, 4*uint64(n)), 4))
		return name
	}
	// In 32 bits, which wrap around: a function of the linker's making has unit -1, and its file is then whatever
	// debug/gosym, and so go tool pprof, finds in this way.
	b := from(t.units, uint64(4*(t.field(fn, 8)+n)))
	if len(b) < 4 || t.bo.Uint32(b) == ^uint32(0) { // a file without lines
		return ""
	}
	name, _ := t.string(t.files, uint64(t.bo.Uint32(b)))
	return name
}

// value returns what the encoded table at off says for pc in the function at entry, or -1. A table is a run of pairs
// of varints: by how much the value changes, and for how many quanta it then holds. A change of zero ends it.
func (t *lineTable) value(off uint32, entry, pc uint64) int32 {
	b := from(t.values, uint64(off))
	val, end := int32(-1), entry
	for {
		change, n := varint(b)
		if n == 0 || change == 0 && end != entry {
			return -1
		}
		quanta, n2 := varint(b[n:])
		if n2 == 0 {
			return -1
		}
		b = b[n+n2:]
		val += int32(change>>1) ^ -int32(change&1)
		end += uint64(quanta * t.quantum)
		if pc < end {
			return val
		}
	}
}

// varint returns the number that b starts with, and its size, which is 0 if b ends before the number does.
func varint(b []byte) (v uint32, n int) {
	for i, c := range b {
		v |= uint32(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}

// uint returns the number of size bytes, 4 or 8, that b starts with, and 0 if b is too short for it.
func (t *lineTable) uint(b []byte, size uint32) uint64 {
	switch {
	case uint64(len(b)) < uint64(size):
		return 0
	case size == 4:
		return uint64(t.bo.Uint32(b))
	}
	return t.bo.Uint64(b)
}

// string returns the string at off in b, one copy for all frames that have it.
func (t *lineTable) string(b []byte, off uint64) (string, bool) {
	b = from(b, off)
	n := bytes.IndexByte(b[:min(len(b), maxName)], 0)
	if n < 0 {
		return "", false
	}
	if s, ok := t.strings[string(b[:n])]; ok {
		return s, true
	}
	s := string(b[:n])
	t.strings[s] = s
	return s, true
}

// from returns what is in b from off on, which is nothing if off lies outside.
func from(b []byte, off uint64) []byte {
	if off > uint64(len(b)) {
		return nil
	}
	return b[off:]
}
