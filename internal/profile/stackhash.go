package profile

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/hone-perf/hone/internal/filename"
)

// Stores name stacks by hashes of what is on them, so that processes that know nothing of each other give the same stack the same name.
// These hashes are in files and databases: other ones than before make each stack new. docs/format/store-clickhouse.md defines them.
//
// They are not secret. Who sends profiles can make two stacks whose hashes are equal, and then sees one of them in place of the other,
// in their own service.

// StackHashes returns a hash of the stack of each sample. It says what is on the stack, whatever process, machine or order of tables the
// profile is of: a frame with a function counts as its functions, files and lines and the name of the program or library; one without,
// as the build and where in its file the address is. Addresses of frames with functions do not count, so stacks stay the same in a
// build that moved their code.
func (p *Profile) StackHashes() []uint64 {
	locations := p.LocationHashes()
	hashes := make([]uint64, len(p.stack))
	var stack []uint32
	var b []byte
	for i, at := range p.stack {
		if i > 0 && at == p.stack[i-1] {
			hashes[i] = hashes[i-1] // samples that differ in their labels often follow each other
			continue
		}
		stack = p.stacks.unpack(stack[:0], at)
		b = b[:0]
		for _, l := range stack {
			b = binary.LittleEndian.AppendUint64(b, locations[l])
		}
		hashes[i] = xxhash.Sum64(b)
	}
	return hashes
}

// LocationHashes returns the hash of each location, of which those of stacks are made.
func (p *Profile) LocationHashes() []uint64 {
	var b []byte
	text := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	functions := make([]uint64, len(p.Functions))
	for i := range p.Functions {
		f := &p.Functions[i]
		b = b[:0]
		text(f.Name)
		text(f.File)
		b = binary.AppendVarint(b, f.StartLine)
		if f.SystemName != "" && f.SystemName != f.Name {
			text(f.SystemName)
		}
		functions[i] = xxhash.Sum64(b)
	}
	type program struct{ name, build uint64 }
	programs := make([]program, len(p.Mappings))
	for i := range p.Mappings {
		// Not the folder: the same program runs from many.
		name := filename.Base(p.Mappings[i].File)
		programs[i].name = xxhash.Sum64String(name)
		programs[i].build = programs[i].name
		if build := p.Mappings[i].Build(); build != "" {
			programs[i].build = xxhash.Sum64String(build)
		}
	}
	hashes := make([]uint64, len(p.Locations))
	for i := range p.Locations {
		l := &p.Locations[i]
		var in program
		address := l.Address
		if l.Mapping != NoMapping {
			in = programs[l.Mapping]
			m := &p.Mappings[l.Mapping]
			address += m.Offset - m.Start
		}
		b = b[:0]
		if len(l.Lines) == 0 {
			b = binary.LittleEndian.AppendUint64(b, in.build)
			b = binary.LittleEndian.AppendUint64(b, address)
		} else {
			b = binary.LittleEndian.AppendUint64(b, in.name)
		}
		for _, line := range l.Lines {
			b = binary.LittleEndian.AppendUint64(b, functions[line.Function])
			b = binary.AppendVarint(b, line.Line)
			b = binary.AppendVarint(b, line.Column)
		}
		if l.Folded {
			b = append(b, 1)
		}
		hashes[i] = xxhash.Sum64(b)
	}
	return hashes
}

// Hash returns a hash of s that is the same in all processes.
func (s LabelSet) Hash() uint64 { return xxhash.Sum64(s.appendKey(nil)) }
