package heap

import (
	"encoding/binary"
	"errors"
)

// A memory is the memory of a program that stands still.
type memory interface {
	// read fills all of b, or returns an error.
	read(addr uint64, b []byte) error
	// readMany fills b with pieces, one after the other.
	readMany(pieces []piece, b []byte) error
}

// A piece is a part of memory.
type piece struct{ addr, size uint64 }

var errMemory = errors.New("no such memory")

const (
	pageSize = 4096
	kept     = 4096 // pages
)

// A reader reads few bytes at a time, and keeps pages. What cannot be read is zero, and is counted.
type reader struct {
	memory
	pages  [kept]*page
	failed int
}

type page struct {
	addr uint64
	ok   bool
	data [pageSize]byte
}

func (r *reader) page(addr uint64) *page {
	addr &^= pageSize - 1
	slot := &r.pages[addr/pageSize%kept]
	if *slot == nil {
		*slot = &page{addr: addr + 1} // which is none
	}
	p := *slot
	if p.addr != addr {
		p.addr = addr
		p.ok = r.memory.read(addr, p.data[:]) == nil
	}
	return p
}

// bytes fills b.
func (r *reader) bytes(addr uint64, b []byte) bool {
	for len(b) > 0 {
		p := r.page(addr)
		if !p.ok {
			clear(b)
			r.failed++
			return false
		}
		n := copy(b, p.data[addr%pageSize:])
		b, addr = b[n:], addr+uint64(n)
	}
	return true
}

func (r *reader) uint(addr uint64, size int) uint64 {
	if off := addr % pageSize; off+8 <= pageSize {
		p := r.page(addr)
		if !p.ok {
			r.failed++
			return 0
		}
		v := binary.LittleEndian.Uint64(p.data[off:])
		if size < 8 {
			v &= 1<<(8*size) - 1
		}
		return v
	}
	var b [8]byte
	r.bytes(addr, b[:size])
	return binary.LittleEndian.Uint64(b[:])
}

func (r *reader) u64(addr uint64) uint64 { return r.uint(addr, 8) }
func (r *reader) u32(addr uint64) uint32 { return uint32(r.uint(addr, 4)) }
func (r *reader) u8(addr uint64) uint8   { return uint8(r.uint(addr, 1)) }

// text returns a string that ends with a zero.
func (r *reader) text(addr uint64) string {
	var b []byte
	for range maxText {
		c := r.u8(addr)
		if c == 0 {
			break
		}
		b = append(b, c)
		addr++
	}
	return string(b)
}

const maxText = 1024

// sized returns a Go string, whose words are at addr. Only strings of the runtime itself are read.
func (r *reader) sized(addr uint64) string {
	b := make([]byte, min(r.u64(addr+8), maxText))
	if !r.bytes(r.u64(addr), b) {
		return ""
	}
	return string(b)
}

// A structure is a struct of the runtime: where its fields are.
type structure struct {
	name   string
	size   uint64
	fields map[string]place
}

type place struct {
	off  uint64
	size int
}

// structure returns a struct with all fields below it, as a.b.c.
func (ts *types) structure(name string) (*structure, error) {
	i := ts.named(name)
	if i == 0 || ts.list[i].kind != record || ts.list[i].size == 0 || ts.list[i].size > maxStructure {
		return nil, &UnknownError{name}
	}
	s := &structure{name: name, size: ts.list[i].size, fields: map[string]place{}}
	ts.flatten(s, ts.list[i], "", 0, 0)
	return s, nil
}

// maxStructure limits the size of structs of the runtime, of which some are read by thousands.
const maxStructure = 8 << 20

func (ts *types) flatten(s *structure, t *typ, prefix string, off uint64, depth int) {
	for _, f := range t.fields {
		ft := ts.list[ts.of(f.typ)]
		s.fields[prefix+f.name] = place{off + f.off, int(min(ft.size, 1<<30))}
		if ft.kind == record && depth < 8 && len(s.fields) < 4096 {
			ts.flatten(s, ft, prefix+f.name+".", off+f.off, depth+1)
		}
	}
}

// A layout finds fields of structs, and keeps the first that is missing.
type layout struct {
	types   *types
	structs map[string]*structure
	err     error
}

// at returns where a struct has the first of some fields that it has: names change from release to release.
func (l *layout) at(name string, fields ...string) place {
	s := l.of(name)
	if s == nil {
		return place{}
	}
	for _, f := range fields {
		if p, ok := s.fields[f]; ok {
			return p
		}
	}
	if l.err == nil {
		l.err = &UnknownError{name + "." + fields[0]}
	}
	return place{}
}

// has reports whether a struct has a field.
func (l *layout) has(name, field string) bool {
	if l.types.named(name) == 0 {
		return false
	}
	s := l.of(name)
	if s == nil {
		return false
	}
	_, ok := s.fields[field]
	return ok
}

// size returns the size of a struct.
func (l *layout) size(name string) uint64 {
	if s := l.of(name); s != nil {
		return s.size
	}
	return 0
}

func (l *layout) of(name string) *structure {
	if s := l.structs[name]; s != nil {
		return s
	}
	s, err := l.types.structure(name)
	if err != nil {
		if l.err == nil {
			l.err = err
		}
		return nil
	}
	l.structs[name] = s
	return s
}

// constant returns a constant of the runtime, under the first name that it has.
func (l *layout) constant(names ...string) uint64 {
	for _, n := range names {
		if v, ok := l.types.debug.consts[n]; ok {
			return uint64(v)
		}
	}
	if l.err == nil {
		l.err = &UnknownError{names[0]}
	}
	return 0
}

// get reads a field.
func (r *reader) get(base uint64, p place) uint64 {
	if p.size > 8 || p.size <= 0 {
		return r.u64(base + p.off)
	}
	return r.uint(base+p.off, p.size)
}

// An UnknownError says that the debug data of a program lacks something of the runtime.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	return "the debug data of the program does not say what " + e.Name + " is"
}
