package profile

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"slices"
	"strings"
)

// A mergeSource brings one profile into a sum and remembers what its entries have become there; numbers are 1 + index.
//
// Adding up a hundred profiles is mostly looking up what is there already, and that is mostly waiting for memory. So
// tables are looked up as a whole and samples by the block. What is new is added when a sample needs it, one at a time:
// entries of the sum are in the order in which samples use them.
type mergeSource struct {
	*Merger
	p         *Profile
	first     int // column of the sum for the first value
	mappings  []mappedMapping
	functions []uint32
	locations []uint32
	sets      []uint32 // by label set, the number of the same set in the sum
	roots     []mappedRoot
	stack     []uint32
	values    []int64
}

// A mappedRoot is a root in terms of the sum.
type mappedRoot struct {
	known, ok bool // ok: its locations still fit two bytes, and it has a number
	number    uint16
}

type mappingKey struct {
	size, offset uint64
	name         string
}

type mappedMapping struct {
	index int32
	start uint64 // of the mapping as it was; addresses are compared from there
	shift uint64 // what to add to addresses
}

// blockSize is how many samples are looked up together.
const blockSize = 64

// A mergeBlock is samples that are looked up together.
type mergeBlock struct {
	samples [blockSize]mergeSample
	hashes  [blockSize]uint64
	at      [blockSize]uint32 // 1 + the sample in the sum that they may be
	packed  []byte            // their stacks, as the sum holds them
}

type mergeSample struct {
	i     int    // in its profile
	set   uint32 // of labels in the sum
	stack []byte
	place uint32 // of the stack that may be the same
}

// add adds the samples of p, whose first value goes to column first.
func (m *Merger) add(p *Profile, first int) {
	s := &mergeSource{
		Merger:    m,
		p:         p,
		first:     first,
		mappings:  make([]mappedMapping, len(p.Mappings)),
		functions: make([]uint32, len(p.Functions)),
		locations: make([]uint32, len(p.Locations)),
		sets:      make([]uint32, len(p.sets)),
		values:    make([]int64, len(m.b.values)),
	}
	if len(m.b.Mappings) == 0 && len(p.Mappings) > 0 {
		// The first mapping is the main program, whichever the first sample is in.
		s.addMapping(0)
	}
	for i, set := range p.sets {
		s.sets[i] = m.b.labels.id(set)
	}
	s.findFunctions()
	s.findLocations()
	for from := 0; from < len(p.stack) && m.b.err == nil; from += blockSize {
		m.b.err = s.addBlock(from, min(from+blockSize, len(p.stack)))
	}
}

// addBlock adds some samples.
func (s *mergeSource) addBlock(from, to int) error {
	m, b, p := s.Merger, s.b, s.p
	x := &m.block
	x.packed = x.packed[:0]
	n := 0
	for i := from; i < to; i++ {
		if p.isZero(i) {
			continue
		}
		start := len(x.packed)
		x.packed = s.pack(x.packed, i)
		// A stack stays where it is when the buffer grows.
		stack, set := x.packed[start:], s.sets[p.Label(i)]
		x.samples[n] = mergeSample{i: i, set: set, stack: stack}
		x.hashes[n] = mix(maphash.Bytes(hashSeed, stack), uint64(set))
		n++
	}
	m.samples.candidates(x.hashes[:n], x.at[:n])
	for k, at := range x.at[:n] {
		if at != 0 {
			x.samples[k].place = b.stack[at-1]
		}
	}
	for k := range x.samples[:n] {
		sample := &x.samples[k]
		at := x.at[k]
		if at == 0 || !b.stacks.holds(sample.place, sample.stack) || !b.hasLabels(at-1, sample.set) {
			slot := m.samples.find(x.hashes[k], func(at uint32) bool {
				return b.stacks.holds(b.stack[at], sample.stack) && b.hasLabels(at, sample.set)
			})
			if slot.free() {
				slot.put(uint32(len(b.stack)))
				if err := s.addSample(sample); err != nil {
					return err
				}
				continue
			}
			at = slot.at() + 1
		}
		for k, col := range p.values {
			b.values[s.first+k][at-1] += col[sample.i]
		}
	}
	return nil
}

// addSample adds a sample that is not in the sum.
func (s *mergeSource) addSample(sample *mergeSample) (err error) {
	var at uint32
	if sample.set == 0 {
		at, err = s.b.stacks.put(sample.stack)
	} else {
		at, err = s.stacks.place(sample.stack)
	}
	if err != nil {
		return err
	}
	for k, col := range s.p.values {
		s.values[s.first+k] = col[sample.i]
	}
	s.b.add(at, sample.set, s.values)
	return nil
}

// pack appends the stack of sample i, as the sum holds it.
func (s *mergeSource) pack(buf []byte, i int) []byte {
	stack := s.p.StackAt(i)
	start := len(buf)
	if out, ok := s.packShared(buf, &stack); ok {
		return out
	}
	s.stack = stack.Append(s.stack[:0])
	for j, l := range s.stack {
		s.stack[j] = s.location(l) - 1
	}
	buf = appendStack(buf[:start], s.stack, 1)
	return buf[:start+len(s.b.stacks.share(buf[start:]))]
}

// packShared does the same for a narrow stack that has a root or is shorter than one, unless it does not fit two bytes any more.
func (s *mergeSource) packShared(buf []byte, stack *Stack) ([]byte, bool) {
	if stack.wide || stack.root == noRoot && stack.depth >= RootDepth {
		return buf, false
	}
	start := len(buf)
	buf = binary.AppendUvarint(buf, uint64(stack.depth)<<headBits)
	from, own := len(buf), 2*stack.n
	buf = slices.Grow(buf, own+2)[:from+own]
	if !s.packNarrow(buf[from:], stack.own[:own]) {
		return buf, false
	}
	if stack.root != noRoot {
		r := s.root(stack)
		if !r.ok {
			return buf, false
		}
		buf[start] |= headShared
		buf = binary.LittleEndian.AppendUint16(buf, r.number)
	}
	return buf, true
}

// root returns what the root of a narrow stack has become, which is found out once for all stacks that have it.
func (s *mergeSource) root(stack *Stack) *mappedRoot {
	if s.roots == nil {
		s.roots = make([]mappedRoot, s.p.NumRoots())
	}
	r := &s.roots[stack.root]
	if !r.known {
		r.known = true
		var body [2 * RootDepth]byte
		if s.packNarrow(body[:], stack.rest[:len(body)]) {
			var n uint32
			n, r.ok = s.b.stacks.roots.number(body[:], false)
			r.number = uint16(n)
		}
	}
	return r
}

// packNarrow translates numbers of two bytes. It reports whether the new ones are no longer than that.
func (s *mergeSource) packNarrow(out, in []byte) bool {
	all := uint32(0)
	out = out[:len(in)]
	for len(in) >= 2 && len(out) >= 2 {
		l := uint32(binary.LittleEndian.Uint16(in)) - 1
		n := s.locations[l]
		if n == 0 {
			n = s.location(l)
		}
		all |= n
		binary.LittleEndian.PutUint16(out, uint16(n))
		in, out = in[2:], out[2:]
	}
	return all <= math.MaxUint16
}

// findLocations finds the locations that are in the sum.
func (s *mergeSource) findLocations() {
	var hashes [blockSize]uint64
	var at, first [blockSize]uint32
	var lines [blockSize][]Line
	if s.Merger.locations.n == 0 {
		return
	}
	for i := range s.mappings {
		s.knownMapping(int32(i))
	}
	for from := 0; from < len(s.locations); from += blockSize {
		locations := s.p.Locations[from:min(from+blockSize, len(s.locations))]
		for k := range locations {
			hashes[k] = s.hashLocation(&locations[k])
		}
		s.Merger.locations.candidates(hashes[:len(locations)], at[:len(locations)])
		// These two loops only bring into the cache, all at once, what will be compared.
		for k, at := range at[:len(locations)] {
			if at != 0 {
				lines[k] = s.b.Locations[at-1].Lines
			}
		}
		for k, at := range at[:len(locations)] {
			if at != 0 && len(lines[k]) > 0 {
				first[k] = lines[k][0].Function
			}
		}
		for k := range locations {
			if at[k] != 0 && s.sameLocation(&s.b.Locations[at[k]-1], &locations[k]) {
				s.locations[from+k] = at[k]
			}
		}
	}
}

// mappingOf returns what the mapping of a location has become.
func (s *mergeSource) mappingOf(l *Location) mappedMapping {
	if l.Mapping == NoMapping {
		return mappedMapping{index: NoMapping + 1}
	}
	return s.mappings[l.Mapping]
}

// hashLocation returns the hash of a location in terms of the sum. Its mapping and functions must be known if it is there.
func (s *mergeSource) hashLocation(l *Location) uint64 {
	m := s.mappingOf(l)
	hash := mix(mix(0, l.Address-m.start), uint64(uint32(m.index)))
	for i := range l.Lines {
		ln := &l.Lines[i]
		hash = mix(hash, uint64(s.functions[ln.Function])<<32^uint64(ln.Line))
	}
	return hash
}

// sameLocation reports whether a, which is in the sum, is the same place as l. Of the columns only that of the last line
// counts, as in pprof.
func (s *mergeSource) sameLocation(a, l *Location) bool {
	m := s.mappingOf(l)
	if a.Mapping != m.index-1 || a.Address != l.Address+m.shift || a.Folded != l.Folded || len(a.Lines) != len(l.Lines) {
		return false
	}
	for i := range l.Lines {
		x, y := &a.Lines[i], &l.Lines[i]
		if x.Function != s.functions[y.Function]-1 || x.Line != y.Line || i == len(l.Lines)-1 && x.Column != y.Column {
			return false
		}
	}
	return true
}

// location returns the number in the sum of location i, which is added when it is not there.
func (s *mergeSource) location(i uint32) uint32 {
	if s.locations[i] != 0 {
		return s.locations[i]
	}
	l := &s.p.Locations[i]
	if l.Mapping != NoMapping {
		s.addMapping(l.Mapping)
	}
	for _, ln := range l.Lines {
		s.addFunction(ln.Function)
	}
	slot := s.Merger.locations.find(s.hashLocation(l), func(at uint32) bool { return s.sameLocation(&s.b.Locations[at], l) })
	if slot.free() {
		slot.put(uint32(len(s.b.Locations)))
		m := s.mappingOf(l)
		added := *l
		added.Mapping = m.index - 1
		added.Address += m.shift
		added.Lines = s.keepLines(l.Lines)
		for i := range added.Lines {
			added.Lines[i].Function = s.functions[added.Lines[i].Function] - 1
		}
		if n := len(s.b.Locations); n == cap(s.b.Locations) {
			s.b.Locations = grown(s.b.Locations, max(2*n, len(s.p.Locations)))
		}
		s.b.Locations = append(s.b.Locations, added)
	}
	s.locations[i] = slot.at() + 1
	return s.locations[i]
}

// keepLines returns a copy of lines. Most locations have one line, which is not worth an allocation of its own.
func (m *Merger) keepLines(lines []Line) []Line {
	if cap(m.lines)-len(m.lines) < len(lines) {
		m.lines = make([]Line, 0, max(1024, len(lines)))
	}
	start := len(m.lines)
	m.lines = append(m.lines, lines...)
	return slices.Clip(m.lines[start:])
}

// mappingKey returns what makes mapping i the same as another. Sizes are compared in pages and addresses from the start,
// since the same file may be mapped elsewhere in another run.
func (s *mergeSource) mappingKey(i int32) mappingKey {
	const page = 0x1000
	m := &s.p.Mappings[i]
	size := m.Limit - m.Start + page - 1
	key := mappingKey{size - size%page, m.Offset, m.BuildID}
	if m.BuildID == "" {
		key.name = m.File
	}
	return key
}

// knownMapping finds mapping i in the sum and reports whether it is there.
func (s *mergeSource) knownMapping(i int32) bool {
	if s.mappings[i].index > 0 {
		return true
	}
	at, ok := s.Merger.mappings[s.mappingKey(i)]
	if !ok {
		s.mappings[i].index = -1 // of no location
		return false
	}
	start := s.p.Mappings[i].Start
	s.mappings[i] = mappedMapping{at + 1, start, s.b.Mappings[at].Start - start}
	return true
}

// addMapping adds mapping i to the sum when it is not there.
func (s *mergeSource) addMapping(i int32) {
	if !s.knownMapping(i) {
		s.Merger.mappings[s.mappingKey(i)] = int32(len(s.b.Mappings))
		s.b.Mappings = append(s.b.Mappings, s.p.Mappings[i])
		s.knownMapping(i)
	}
}

// findFunctions finds the functions that are in the sum.
func (s *mergeSource) findFunctions() {
	var hashes [blockSize]uint64
	var at [blockSize]uint32
	if s.Merger.functions.n == 0 {
		return
	}
	for from := 0; from < len(s.functions); from += blockSize {
		functions := s.p.Functions[from:min(from+blockSize, len(s.functions))]
		for k := range functions {
			hashes[k] = functions[k].hash()
		}
		s.Merger.functions.candidates(hashes[:len(functions)], at[:len(functions)])
		for k := range functions {
			if at[k] != 0 && sameFunction(&s.b.Functions[at[k]-1], &functions[k]) {
				s.functions[from+k] = at[k]
			}
		}
	}
}

func (f *Function) hash() uint64 { return mix(maphash.String(hashSeed, f.Name), uint64(f.StartLine)) }

// sameFunction reports whether a and b differ in nothing but their ids.
func sameFunction(a, b *Function) bool {
	if a.Name != b.Name || a.StartLine != b.StartLine || a.File != b.File {
		return false
	}
	// Nearly always this is the name again, which is then the same string and quickly compared.
	return a.SystemName == a.Name && b.SystemName == b.Name || a.SystemName == b.SystemName
}

// addFunction adds function i to the sum when it is not there.
func (s *mergeSource) addFunction(i uint32) {
	if s.functions[i] != 0 {
		return
	}
	f := &s.p.Functions[i]
	slot := s.Merger.functions.find(f.hash(), func(at uint32) bool { return sameFunction(&s.b.Functions[at], f) })
	if slot.free() {
		slot.put(uint32(len(s.b.Functions)))
		if n := len(s.b.Functions); n == cap(s.b.Functions) {
			s.b.Functions = grown(s.b.Functions, max(2*n, len(s.p.Functions)))
		}
		s.b.Functions = append(s.b.Functions, s.keepFunction(*f))
	}
	s.functions[i] = slot.at() + 1
}

// keepFunction returns f for the sum. Strings of a profile are part of one, all of which stays as long as any does. Most
// names of the first two profiles stay anyway; of those that follow, only new ones shall.
func (m *Merger) keepFunction(f Function) Function {
	if f.ID = 0; m.n <= 2 {
		return f
	}
	name := f.Name
	f.Name = strings.Clone(name)
	if f.SystemName == name {
		f.SystemName = f.Name
	} else {
		f.SystemName = strings.Clone(f.SystemName)
	}
	f.File = strings.Clone(f.File)
	return f
}
