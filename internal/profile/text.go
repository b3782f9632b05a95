package profile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
)

// A textBuilder builds a profile from a text form, in which frames have names instead of addresses.
type textBuilder struct {
	*Builder
	functions map[Function]uint32
	locations map[string]uint32 // by functions and lines
	index     *stackIndex
	samples   hashIndex
	key       []byte
}

func newTextBuilder(h Header) *textBuilder {
	b := NewBuilder(h)
	// Nobody has to look for names that are here already.
	b.Mappings = []Mapping{{ID: 1, HasFunctions: true, HasFilenames: true, HasLineNumbers: true}}
	return &textBuilder{
		Builder:   b,
		index:     newStackIndex(b.stacks),
		functions: make(map[Function]uint32),
		locations: make(map[string]uint32),
	}
}

// function returns the index of a function.
func (b *textBuilder) function(name, file string) uint32 {
	f := Function{Name: name, SystemName: name, File: file}
	i, ok := b.functions[f]
	if !ok {
		i = uint32(len(b.Functions))
		b.functions[f] = i
		f.ID = uint64(i + 1)
		b.Functions = append(b.Functions, f)
	}
	return i
}

// location returns the index of the location with these lines.
func (b *textBuilder) location(lines []Line) (uint32, error) {
	b.key = b.key[:0]
	for _, l := range lines {
		b.key = binary.AppendUvarint(b.key, uint64(l.Function))
		b.key = binary.AppendVarint(b.key, l.Line)
	}
	i, ok := b.locations[string(b.key)]
	if !ok {
		if len(b.Locations) >= maxTable {
			return 0, limitError{fmt.Sprintf("%d locations", maxTable)}
		}
		i = uint32(len(b.Locations))
		b.locations[string(b.key)] = i
		b.Locations = append(b.Locations, Location{ID: uint64(i + 1), Lines: slices.Clone(lines)})
	}
	return i, nil
}

// count adds n to the sample that has this stack and these labels.
func (b *textBuilder) count(stack []uint32, labels uint32, n int64) {
	b.packed = packStack(b.packed, stack, 1)
	at, err := b.index.intern(b.packed)
	if err != nil {
		b.err = err
	}
	s := b.sampleSlot(&b.samples, at, labels)
	if s.free() {
		s.put(uint32(len(b.stack)))
		b.add(at, labels, []int64{n})
		return
	}
	b.values[0][s.at()] += n
}

var byteOrderMark = []byte("\ufeff")

// A lineReader takes lines off the front of a text.
type lineReader struct{ rest []byte }

func (r *lineReader) done() bool { return len(r.rest) == 0 }

// next returns the next line without its end. The last line is open when it has no end, so that it may have been cut.
func (r *lineReader) next() (line []byte, open, ok bool) {
	if r.done() {
		return nil, false, false
	}
	line, rest, ended := bytes.Cut(r.rest, []byte("\n"))
	r.rest = rest
	return bytes.TrimSuffix(line, []byte("\r")), !ended, true
}
