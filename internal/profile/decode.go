package profile

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hone-perf/hone/internal/pages"
	"github.com/hone-perf/hone/internal/unit"
)

// Limits keep hostile input from taking all memory. Real profiles stay far below them.
const (
	maxBytes     = 8 << 30  // of unpacked profile
	maxField     = 16 << 20 // of one field
	maxTable     = 16 << 20 // entries of any one table
	maxDepth     = 1 << 20  // frames of one stack
	maxValues    = 1 << 10  // values of one sample
	maxLabels    = 1 << 16  // labels of one sample
	maxComments  = 1 << 16
	maxTableSize = 1 << 30 // bytes of all strings
)

// A limitError says which limit an input met.
type limitError struct{ what string }

func (e limitError) Error() string { return "profile has more than " + e.what }

func (e limitError) Is(target error) bool { return target == ErrTooLarge }

// knownFrom is from where on input is a profile for sure. It is within the first chunk of a stream, so that no other one is copied.
const knownFrom = 12 << 10

// A decoder reads profile.proto straight from the wire. Tables may come before, between or after the samples,
// so references stay numbers until all has been read.
type decoder struct {
	s *stream
	b *Builder

	strings  pile[string]
	text     strings.Builder // the block that strings are put into
	textSize int             // of all strings

	sampleTypes []rawType
	periodType  rawType
	drop, keep  int64
	defaultType int64
	docURL      int64
	comments    []int64

	// In the tables, too, ids are numbers that stand for them until all has been read.
	mappings    []rawMapping
	functions   pile[rawFunction]
	locations   []Location
	lines       []Line   // the block that lines of locations are put into
	lineBlocks  [][]Line // that and those before it
	numLines    int      // of all locations
	mappingIDs  idNumbers
	functionIDs idNumbers

	wireIDs   []byte // the stack of a sample as the file has it; may be part of the message
	ids       idReader
	vals      []int64
	label     []byte
	labelSets map[string]uint32 // encoded labels of a sample → index in rawLabels
	rawLabels [][]rawLabel

	noID      error // the first entry without an id, in a large profile: it is malformed whatever comes
	labelSize int64 // bytes of rawLabels and labelSets
	check     int64 // the offset from which on to look at how much memory all that takes

	oddValues int // how many values the first sample has that has not as many as the one before; or -1
}

type rawType struct{ typ, unit int64 }

type rawLabel struct{ key, str, num, unit int64 }

type rawMapping struct {
	Mapping
	file, buildID int64
}

type rawFunction struct {
	id                 uint64
	name, system, file int64
	start              int64
}

// A pile is a table that grows without copying.
type pile[T any] struct {
	blocks [][]T
	n      int
	spare  *spare[T] // where blocks come from, and go to when nothing of them is needed
}

const pileBlock = 512 // entries

// add adds an entry.
func (p *pile[T]) add(x T) {
	if p.n == len(p.blocks)*pileBlock {
		block := p.spare.get(pileBlock)
		if block == nil {
			block = make([]T, pileBlock)
		}
		p.blocks = append(p.blocks, block[:pileBlock])
	}
	*p.at(p.n) = x
	p.n++
}

func (p *pile[T]) at(i int) *T { return &p.blocks[i/pileBlock][i%pileBlock] }

// release gives the blocks to other piles. The pile must not be used afterwards.
func (p *pile[T]) release() {
	for i, block := range p.blocks {
		clear(block[:min(pileBlock, p.n-i*pileBlock)]) // what it refers to is garbage
		p.spare.put(block, pileBlock, pileBlock)
	}
	p.blocks, p.n = nil, 0
}

var (
	errConcatenated = errors.New("concatenated profiles detected")
	errCutShort     = errors.New("input ends in the middle of a field")
	errComments     = limitError{fmt.Sprintf("%d comments", maxComments)}
)

// decodeProto reads the profile that s holds. When it fails with an error that wraps errNotProto, s.head may
// hold something in another format.
func decodeProto(s *stream, share func() float64, recognized func()) (*Profile, error) {
	d := &decoder{
		s:         s,
		b:         NewBuilder(Header{}),
		labelSets: make(map[string]uint32),
		rawLabels: make([][]rawLabel, 1),
		strings:   pile[string]{spare: &spareStrings},
		functions: pile[rawFunction]{spare: &spareRawFunctions},
		oddValues: -1,
		check:     boundFrom,
	}
	defer d.release()
	d.ids.roots.reuse()
	d.b.values = nil
	d.b.share = share
	if !s.fill(1) && s.err == io.EOF {
		return nil, ErrEmpty
	}
	for s.fill(1) {
		took, err := d.samples()
		if err == nil && !took {
			took, err = d.entries()
		}
		if err == nil && !took {
			err = d.field()
		}
		if err != nil {
			if err == errCutShort || s.err != nil && s.err != io.EOF {
				break
			}
			return nil, err
		}
		if s.off >= d.check {
			if err := d.bound(); err != nil {
				return nil, err
			}
		}
		if s.keep && s.off > knownFrom {
			// No other format looks like this for so long.
			if s.keep, s.head = false, nil; recognized != nil {
				recognized()
			}
		}
	}
	return d.finish()
}

// release keeps what the decoder alone needed for the next one.
func (d *decoder) release() {
	d.strings.release()
	d.functions.release()
	d.ids.roots.release()
}

// field reads one field of the profile message.
func (d *decoder) field() error {
	s := d.s
	s.fill(32) // enough for any key, number or length
	key, n := uvarint(s.buf)
	if n == 0 {
		if len(s.buf) < 10 {
			return errCutShort
		}
		return errVarint
	}
	f := field{num: key >> 3, wire: int(key & 7)}
	if f.num == 0 {
		return errNumber
	}
	if f.wire != wireBytes {
		rest, err := f.next(s.buf)
		if err != nil {
			if err != errWireType && len(s.buf) < 20 {
				return errCutShort
			}
			return err
		}
		s.skip(len(s.buf) - len(rest))
		return d.number(&f)
	}
	size, m := uvarint(s.buf[n:])
	if m == 0 {
		if len(s.buf) < 20 {
			return errCutShort
		}
		return errVarint
	}
	if size > maxField {
		return limitError{fmt.Sprintf("%s in one field", unit.Size(maxField))}
	}
	n += m
	if !s.fill(n + int(size)) {
		return errCutShort
	}
	f.data = s.buf[n : n+int(size)]
	err := d.message(&f)
	s.skip(n + int(size))
	return err
}

// number takes a number field of the profile message.
func (d *decoder) number(f *field) error {
	var err error
	h := &d.b.Header
	switch f.num {
	case 1, 2, 3, 4, 5, 6, 11:
		return errType
	case 7:
		d.drop = int64(f.uint(&err))
	case 8:
		d.keep = int64(f.uint(&err))
	case 9:
		if h.TimeNanos != 0 {
			return errConcatenated
		}
		h.TimeNanos = int64(f.uint(&err))
	case 10:
		h.DurationNanos = int64(f.uint(&err))
	case 12:
		h.Period = int64(f.uint(&err))
	case 13:
		if len(d.comments) >= maxComments {
			return errComments
		}
		d.comments = append(d.comments, int64(f.uint(&err)))
	case 14:
		d.defaultType = int64(f.uint(&err))
	case 15:
		d.docURL = int64(f.uint(&err))
	}
	return err
}

// message takes a bytes field of the profile message.
func (d *decoder) message(f *field) error {
	switch f.num {
	case 1:
		t, err := d.valueType(f.data)
		d.sampleTypes = append(d.sampleTypes, t)
		if err == nil && len(d.sampleTypes) > maxValues {
			return limitError{fmt.Sprintf("%d sample types", maxValues)}
		}
		return err
	case 2:
		return d.sample(f.data)
	case 3:
		return d.mapping(f.data)
	case 4:
		return d.location(f.data)
	case 5:
		return d.function(f.data)
	case 6:
		return d.string(f.data)
	case 7, 8, 10, 12, 14, 15:
		return errType
	case 9:
		if d.b.TimeNanos != 0 {
			return errConcatenated
		}
		return errType
	case 11:
		t, err := d.valueType(f.data)
		d.periodType = t
		return err
	case 13:
		for m := f.data; len(m) > 0; {
			v, n := uvarint(m)
			if n == 0 {
				return errVarint
			}
			if len(d.comments) >= maxComments {
				return errComments
			}
			d.comments = append(d.comments, int64(v))
			m = m[n:]
		}
	}
	return nil
}

const (
	keyLocationEntry = 4<<3 | wireBytes // of the profile
	keyFunctionEntry = 5<<3 | wireBytes
	keyStringEntry   = 6<<3 | wireBytes
)

// entries reads the entries of tables that lie in the buffer one after the other, and reports whether there was one. Whatever is unusual it leaves
// to field. In a profile of some thousand samples there are more of these than of those.
func (d *decoder) entries() (took bool, err error) {
	m := d.s.buf
table:
	for len(m) > 2 && err == nil {
		end := 2 + int(m[1])
		if m[1] >= 0x80 || end > len(m) {
			break
		}
		switch m[0] {
		case keyLocationEntry:
			err = d.location(m[2:end])
		case keyFunctionEntry:
			err = d.function(m[2:end])
		case keyStringEntry:
			err = d.string(m[2:end])
		default:
			break table
		}
		m, took = m[end:], true
	}
	d.s.skip(len(d.s.buf) - len(m))
	return took, err
}

func (d *decoder) string(text []byte) error {
	if d.strings.n >= maxTable {
		return limitError{fmt.Sprintf("%d strings", maxTable)}
	}
	if d.textSize += len(text); d.textSize > maxTableSize {
		return limitError{fmt.Sprintf("%s of strings", unit.Size(maxTableSize))}
	}
	if d.strings.n == 0 && len(text) != 0 {
		return errors.New("string_table[0] must be ''")
	}
	if d.text.Cap()-d.text.Len() < len(text) {
		d.text = strings.Builder{}
		d.text.Grow(max(textBlock, len(text)))
	}
	start := d.text.Len()
	d.text.Write(text)
	d.strings.add(d.text.String()[start:])
	return nil
}

// textBlock is how much text is put into one piece of memory.
const textBlock = 64 << 10

func (d *decoder) valueType(m []byte) (t rawType, err error) {
	err = scan(m, 3, func(f *field) (err error) {
		switch f.num {
		case 1:
			t.typ = int64(f.uint(&err))
		case 2:
			t.unit = int64(f.uint(&err))
		}
		return err
	})
	return t, err
}

func (d *decoder) mapping(m []byte) error {
	if len(d.mappings) >= maxTable {
		return limitError{fmt.Sprintf("%d mappings", maxTable)}
	}
	d.mappings = append(d.mappings, rawMapping{})
	x := &d.mappings[len(d.mappings)-1]
	err := scan(m, 11, func(f *field) (err error) {
		v := f.uint(&err)
		switch f.num {
		case 1:
			x.ID = v
		case 2:
			x.Start = v
		case 3:
			x.Limit = v
		case 4:
			x.Offset = v
		case 5:
			x.file = int64(v)
		case 6:
			x.buildID = int64(v)
		case 7:
			x.HasFunctions = v != 0
		case 8:
			x.HasFilenames = v != 0
		case 9:
			x.HasLineNumbers = v != 0
		case 10:
			x.HasInlineFrames = v != 0
		}
		return err
	})
	if x.ID == 0 && d.noID == nil {
		d.noID = errMappingID
	}
	return err
}

func (d *decoder) function(m []byte) error {
	if d.functions.n >= maxTable {
		return limitError{fmt.Sprintf("%d functions", maxTable)}
	}
	var x rawFunction
	var f field
	for len(m) > 0 {
		var err error
		if m, err = f.next(m); err != nil {
			return err
		}
		switch f.num {
		case 1:
			x.id = f.uint(&err)
		case 2:
			x.name = int64(f.uint(&err))
		case 3:
			x.system = int64(f.uint(&err))
		case 4:
			x.file = int64(f.uint(&err))
		case 5:
			x.start = int64(f.uint(&err))
		}
		if err != nil {
			return err
		}
	}
	if x.id == 0 && d.noID == nil {
		d.noID = errFunctionID
	}
	d.functions.add(x)
	return nil
}

func (d *decoder) location(m []byte) error {
	if len(d.locations) >= maxTable || d.numLines >= 4*maxTable {
		return limitError{fmt.Sprintf("%d locations", maxTable)}
	}
	var x Location
	var mapping uint64
	var f field
	var err error
	first := len(d.lines)
	for len(m) > 0 {
		if m, err = f.next(m); err != nil {
			return err
		}
		switch f.num {
		case 1:
			x.ID = f.uint(&err)
		case 2:
			mapping = f.uint(&err)
		case 3:
			x.Address = f.uint(&err)
		case 4:
			if f.wire != wireBytes {
				return errType
			}
			if len(d.lines) == cap(d.lines) {
				if len(d.lines)-first > maxDepth {
					return errDeep
				}
				d.moreLines(d.lines[first:])
				first = 0
			}
			err = d.line(f.data)
		case 5:
			x.Folded = f.uint(&err) != 0
		}
		if err != nil {
			return err
		}
	}
	if x.ID == 0 && d.noID == nil {
		d.noID = errLocationID
	}
	n, err := d.mappingIDs.number(mapping)
	if err != nil {
		return err
	}
	x.Mapping, x.Lines = int32(n), d.lines[first:len(d.lines):len(d.lines)]
	if d.locations == nil {
		d.locations = spareLocations.get(locationBlock)
	}
	if n := len(d.locations); n == cap(d.locations) {
		// What is not used of a column takes no memory, and what is copied takes twice as much. Samples that came before tell
		// most often how many locations there are, each of which takes some bytes there.
		room := max(locationBlock, min(4*n, 4*locationBlock), 2*n)
		if told := int(d.ids.max); n < told && int64(told) < d.s.off/8 {
			room = max(told, locationBlock)
		}
		d.locations = grown(d.locations, room)
	}
	d.locations = append(d.locations, x)
	return nil
}

const (
	lineBlock     = 8 << 10 // lines of locations that are next to each other
	locationBlock = 4 << 10 // locations for which there is room at first
)

// moreLines begins a block of lines with those of the current location, which are to be in one.
func (d *decoder) moreLines(mine []Line) {
	n := max(2*len(mine), lineBlock/32)
	block := spareLines.get(n)
	if block == nil {
		block = pages.Make[Line](0, max(n, min(2*cap(d.lines), lineBlock)))
	}
	d.lines = append(block, mine...)
	d.lineBlocks = append(d.lineBlocks, d.lines)
}

// line reads a line of a location into the current block, which has room for it.
func (d *decoder) line(m []byte) (err error) {
	var f field
	var l Line
	var function uint64
	for len(m) > 0 && err == nil {
		if m, err = f.next(m); err != nil {
			return err
		}
		switch f.num {
		case 1:
			function = f.uint(&err)
		case 2:
			l.Line = int64(f.uint(&err))
		case 3:
			l.Column = int64(f.uint(&err))
		}
	}
	if err != nil {
		return err
	}
	l.Function, err = d.functionIDs.number(function)
	d.lines = append(d.lines, l)
	d.numLines++
	return err
}
