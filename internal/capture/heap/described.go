package heap

import (
	"cmp"
	"slices"
	"strings"
)

// described returns the type that the runtime has at an address, or 0. Where the debug data does not have it, it is made of the runtime's own description: generic code
// leaves only types of shapes, such as entry[go.shape.string], in the debug data.
func (p *program) described(addr uint64) uint32 {
	if i := p.types.runtime(addr); i != 0 {
		return i
	}
	t := &p.rtype
	if i, ok := p.rtypes[addr]; ok || addr < p.types.base || addr >= p.types.end || t.elem.size == 0 || len(p.rtypes) >= maxDescribed {
		return i
	}
	made := &typ{name: p.typeName(addr), size: p.get(addr, t.size)}
	if insideMap := strings.HasPrefix(made.name, "noalg.") || strings.HasPrefix(made.name, "map."); insideMap || made.size > maxStructure {
		p.rtypes[addr] = 0
		return 0
	}
	i := p.types.add(made)
	p.rtypes[addr] = i // before what it refers to, which may be itself
	elem := func() ref { return refTo(p.described(p.get(addr, t.elem))) }
	switch kind := p.get(addr, t.kind) & kindMask; kind {
	case kindPointer:
		made.kind, made.elem = pointer, elem()
	case kindSlice:
		made.kind, made.elem = slice, elem()
	case kindString:
		made.kind = text
	case kindInterface:
		made.kind = face
	case kindFunc:
		made.kind = function
	case kindArray:
		made.kind, made.elem, made.count = array, elem(), p.get(addr, t.count)
	case kindStruct:
		made.kind = record
		at, n := p.u64(addr+t.fields.off), p.u64(addr+t.fields.off+8)
		for k := range min(n, maxDescribedFields) {
			f := at + k*t.field
			made.fields = append(made.fields, field{p.runtimeName(p.u64(f)), p.get(f, t.fieldAt), refTo(p.described(p.get(f, t.fieldType)))})
		}
		slices.SortStableFunc(made.fields, func(a, b field) int { return cmp.Compare(a.off, b.off) })
	}
	return i
}

const (
	maxDescribed       = 1 << 16 // types; a damaged one may refer to any address
	maxDescribedFields = 1 << 10 // of one
)

// Kinds of types as the runtime has them, which are those of reflect.
const (
	kindMask                           = 1<<5 - 1
	kindArray, kindPointer, kindStruct = 17, 22, 25
)

// refTo is a ref to a type that is there, or none.
func refTo(i uint32) ref {
	if i == 0 {
		return 0
	}
	return made | ref(i)
}

// typeName returns the name that the runtime has for a type.
func (p *program) typeName(addr uint64) string {
	const extraStar = 1 << 1 // the name begins with a star that is not of it
	name := p.runtimeName(p.types.base + p.get(addr, p.rtype.name))
	if p.get(addr, p.rtype.flags)&extraStar != 0 {
		name = strings.TrimPrefix(name, "*")
	}
	return name
}

// runtimeName returns a name of the runtime's types: flags, its length, and its bytes. Names are nowhere but among the types.
func (p *program) runtimeName(at uint64) string {
	if at < p.types.base || at >= p.types.end {
		return ""
	}
	n := uint64(0)
	for shift := uint(0); shift < 14; shift += 7 {
		at++
		c := p.u8(at)
		n |= uint64(c&0x7f) << shift
		if c < 0x80 {
			break
		}
	}
	b := make([]byte, min(n, maxName))
	p.bytes(at+1, b)
	return string(b)
}
