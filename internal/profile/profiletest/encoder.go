package profiletest

import (
	"encoding/binary"
	"fmt"
	"io"
	"time"
)

// An encoder writes a profile. It numbers locations, functions and strings as samples need them.
type encoder struct {
	Config
	w    io.Writer
	walk *walker
	buf  []byte // written when large enough

	locs    []uint32 // in the order of first use
	locID   []uint32 // by location; 0 means not used yet
	funcs   []uint32 // in the order of first use
	funcID  []uint32 // by function; 0 means not used yet
	strings []string
	string  map[string]uint64

	endpoints, users []string

	// Messages under construction, one for each level.
	msg, sub, packed []byte
	values           []int64
	lines            []line
}

// A line is a function that is running at a location.
type line struct {
	fn   uint32
	line int
}

func newEncoder(w io.Writer, c Config) *encoder {
	p := newProgram(c.Seed, c.Functions)
	return &encoder{
		Config: c,
		w:      w,
		walk:   &walker{program: p, kind: c.Kind, n: uint64(c.Samples), seed: mix(c.Seed), run: mix(c.Run)},
		locID:  make([]uint32, len(p.locFunc)),
		funcID: make([]uint32, len(p.funcs)),

		strings: []string{""},
		string:  map[string]uint64{"": 0},

		endpoints: makeEndpoints(),
		users:     makeUsers(),
	}
}

func (e *encoder) encode() error {
	header := e.appendHeader(nil)
	if !e.TablesLast {
		e.buf = append(e.buf, header...)
	}
	for _, t := range kinds[e.Kind].sampleTypes {
		e.buf = e.appendValueType(e.buf, profileSampleType, t)
	}
	for i := range e.Samples {
		stack, h := e.walk.sample(uint64(i))
		e.use(stack)
		e.sample(stack, h)
		if err := e.flush(64 << 10); err != nil {
			return err
		}
	}
	e.mappings()
	if e.TablesLast {
		for _, loc := range e.locs {
			e.location(loc)
		}
		for _, fn := range e.funcs {
			e.function(fn)
		}
	}
	for _, s := range e.strings {
		e.buf = appendBytes(e.buf, profileString, s)
	}
	if e.TablesLast {
		e.buf = append(e.buf, header...)
	}
	return e.flush(0)
}

// flush writes what is buffered if it is more than so many bytes.
func (e *encoder) flush(over int) error {
	if len(e.buf) <= over {
		return nil
	}
	_, err := e.w.Write(e.buf)
	e.buf = e.buf[:0]
	return err
}

// str returns the index of s in the string table.
func (e *encoder) str(s string) uint64 {
	i, ok := e.string[s]
	if !ok {
		i = uint64(len(e.strings))
		e.string[s] = i
		e.strings = append(e.strings, s)
	}
	return i
}

// id turns a number that counts from 1 into an id.
func (e *encoder) id(n uint32) uint64 {
	if e.SparseIDs {
		return uint64(n) * 0x9e3779b97f4a7c15 // odd, hence different and not 0
	}
	return uint64(n)
}

func (e *encoder) appendValueType(b []byte, field int, t valueType) []byte {
	e.msg = appendNumber(e.msg[:0], valueTypeType, e.str(t.typ))
	e.msg = appendNumber(e.msg, valueTypeUnit, e.str(t.unit))
	return appendBytes(b, field, e.msg)
}

func (e *encoder) appendHeader(b []byte) []byte {
	k := kinds[e.Kind]
	start := time.Date(2026, time.January, 15, 9, 30, 0, 123456789, time.UTC)
	start = start.Add(time.Duration(e.Run%1e6) * time.Minute)
	b = appendNumber(b, profileTime, uint64(start.UnixNano()))
	// As if a few cores had been busy with it.
	length := 30*time.Second + time.Duration(e.Samples)*3*time.Millisecond
	b = appendNumber(b, profileDuration, uint64(length))
	b = e.appendValueType(b, profilePeriodType, k.periodType)
	b = appendNumber(b, profilePeriod, k.period)
	return appendNumber(b, profileDefaultType, e.str(k.defaultType))
}

// use numbers the locations of a stack, and writes them if they come before their samples.
func (e *encoder) use(stack []uint32) {
	for _, loc := range stack {
		if e.locID[loc] != 0 {
			continue
		}
		e.locs = append(e.locs, loc)
		e.locID[loc] = uint32(len(e.locs))
		known := len(e.funcs)
		for _, l := range e.linesOf(loc) {
			if e.funcID[l.fn] == 0 {
				e.funcs = append(e.funcs, l.fn)
				e.funcID[l.fn] = uint32(len(e.funcs))
			}
		}
		if !e.TablesLast {
			e.location(loc)
			for _, fn := range e.funcs[known:] {
				e.function(fn)
			}
		}
	}
}

// linesOf returns the functions that run at a location: those inlined, innermost first, and the one that contains
// it. The slice is valid until the next call.
func (e *encoder) linesOf(loc uint32) []line {
	p := e.walk.program
	outer := p.locFunc[loc]
	e.lines = e.lines[:0]
	rnd := random(mix(e.Seed ^ uint64(loc)<<20))
	if rnd.percent(15) {
		for range 1 + rnd.low(4)*3/4 {
			fn := p.inlined[rnd.below(len(p.inlined))]
			if pk := p.funcs[outer].pkg; pk != nil && rnd.percent(80) {
				fn = pk.funcs[rnd.below(len(pk.funcs))]
			}
			if fn != outer { // the compiler does not inline a function into itself
				e.lines = append(e.lines, line{fn, p.funcs[fn].start + 1 + rnd.below(p.funcs[fn].lines)})
			}
		}
	}
	f := &p.funcs[outer]
	return append(e.lines, line{outer, f.start + 1 + f.lines*f.place(loc)/(f.calls+f.bodies)})
}

// place returns where in f a location comes: calls and other instructions take turns.
func (f *function) place(loc uint32) int {
	i, calls := int(loc-f.loc), min(f.calls, f.bodies)
	switch {
	case i < calls:
		return 2*i + 1
	case i < f.calls:
		return i + calls
	case i-f.calls < calls:
		return 2 * (i - f.calls)
	}
	return i
}

func (e *encoder) location(loc uint32) {
	p := e.walk.program
	f := &p.funcs[p.locFunc[loc]]
	b := appendNumber(e.msg[:0], locationID, e.id(e.locID[loc]))
	mapping := e.id(1)
	if e.TablesLast {
		b = appendNumber(b, locationMapping, mapping)
	}
	step := f.size / uint64(f.calls+f.bodies)
	b = appendNumber(b, locationAddress, f.entry+uint64(f.place(loc))*step+mix(uint64(loc))%step)
	for _, l := range e.linesOf(loc) {
		e.sub = appendNumber(e.sub[:0], lineFunction, e.id(e.funcID[l.fn]))
		e.sub = appendNumber(e.sub, lineLine, uint64(l.line))
		b = appendBytes(b, locationLine, e.sub)
	}
	if !e.TablesLast {
		b = appendNumber(b, locationMapping, mapping)
	}
	e.buf = appendBytes(e.buf, profileLocation, b)
	e.msg = b
}

func (e *encoder) function(fn uint32) {
	f := &e.walk.funcs[fn]
	b := appendNumber(e.msg[:0], functionID, e.id(e.funcID[fn]))
	b = appendNumber(b, functionName, e.str(f.name))
	b = appendNumber(b, functionSystemName, e.str(f.name))
	b = appendNumber(b, functionFile, e.str(f.file))
	b = appendNumber(b, functionStart, uint64(f.start))
	e.buf = appendBytes(e.buf, profileFunction, b)
	e.msg = b
}

// mappings writes the program and the libraries that a program linked with the C library has.
func (e *encoder) mappings() {
	last := &e.walk.funcs[0]
	for i := range e.walk.funcs {
		if f := &e.walk.funcs[i]; f.entry > last.entry {
			last = f
		}
	}
	for i, m := range []struct {
		start, limit, offset uint64
		file, buildID        string
	}{
		{0x400000, (last.entry + last.size + 0xfff) &^ 0xfff, 0, "/srv/shop/bin/shop", fmt.Sprintf("%016x%016x%08x",
			mix(e.Seed+1), mix(e.Seed+2), uint32(mix(e.Seed+3)))},
		{0x7f1be6c28000, 0x7f1be6dbd000, 0x28000, "/usr/lib/x86_64-linux-gnu/libc.so.6",
			"203de0ae33b53fee1578b117cb4123e85d0534f0"},
		{0x7f1be6ec4000, 0x7f1be6ed5000, 0x2000, "/usr/lib/x86_64-linux-gnu/libresolv.so.2",
			"7fd7253c61aa6fce2b7e13851c15afa14a5ab160"},
		{0x7ffd8a3f2000, 0x7ffd8a3f4000, 0, "[vdso]", "6d2a93c1f1b0a1b4b7d7d8a0f1f8c5b9a2d3e4f5"},
		{0xffffffffff600000, 0xffffffffff601000, 0, "[vsyscall]", ""},
	} {
		b := appendNumber(e.msg[:0], mappingID, e.id(uint32(i+1)))
		b = appendNumber(b, mappingStart, m.start)
		b = appendNumber(b, mappingLimit, m.limit)
		b = appendNumber(b, mappingOffset, m.offset)
		b = appendNumber(b, mappingFile, e.str(m.file))
		b = appendNumber(b, mappingBuildID, e.str(m.buildID))
		if i == 0 {
			b = appendNumber(b, mappingHasFunctions, 1)
		}
		e.buf = appendBytes(e.buf, profileMapping, b)
		e.msg = b
	}
}

func (e *encoder) sample(stack []uint32, h uint64) {
	b := e.msg[:0]
	e.values = appendValues(e.values[:0], e.Kind, h)
	if e.TablesLast {
		b = e.appendLocations(b, stack)
		b = e.appendValues(b)
	} else {
		b = e.appendValues(b)
		b = e.appendLocations(b, stack)
	}
	e.msg = e.appendLabels(b, h)
	e.buf = appendBytes(e.buf, profileSample, e.msg)
}

func (e *encoder) appendLocations(b []byte, stack []uint32) []byte {
	if e.UnpackedIDs {
		for _, loc := range stack {
			b = appendNumber(b, sampleLocation, e.id(e.locID[loc]))
		}
		return b
	}
	e.packed = e.packed[:0]
	for _, loc := range stack {
		e.packed = binary.AppendUvarint(e.packed, e.id(e.locID[loc]))
	}
	return appendBytes(b, sampleLocation, e.packed)
}

func (e *encoder) appendValues(b []byte) []byte {
	e.packed = e.packed[:0]
	for _, v := range e.values {
		if e.UnpackedIDs {
			// Zeros too: every value counts.
			b = append(b, sampleValue<<3)
			b = binary.AppendUvarint(b, uint64(v))
		} else {
			e.packed = binary.AppendUvarint(e.packed, uint64(v))
		}
	}
	if e.UnpackedIDs {
		return b
	}
	return appendBytes(b, sampleValue, e.packed)
}
