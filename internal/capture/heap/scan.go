package heap

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
	"sync"
)

// An edge is a pointer of an object.
type edge struct {
	to   uint32 // slot
	step uint32 // the word that points, with flags; then the name of the step
}

// Flags of a step that has no name yet.
const (
	interior  = 1 << 29 // it points into the middle of an object
	oneGroup  = 1 << 30 // it is the word of a map that has only one group
	resolved  = 1 << 31 // the step has its name
	wordLimit = 1<<29 - 1
)

// Edges with these steps are none. They say something of the next edge, or of the object.
const (
	markType   = 0xffffffff // the next edge is of an interface whose type is at to, counted from the runtime's first type
	markCode   = 0xfffffffe // the object begins with the address of code, counted from the first
	markHeader = 0xfffffffd // the object has this type
	markNone   = 0xfffffffc // the pointer holds nothing
	firstMark  = markNone
)

// edges are those of the slots from first on. They are in pieces, so that they need not be copied when they grow.
type edges struct {
	first  uint32
	starts []uint32 // of each slot's edges, and the end
	pieces []*[edgeChunk]edge
	count  uint64
}

const (
	edgeChunk = 1 << 17
	maxEdges  = 400_000_000
)

var errEdges = errors.New("the heap has more than 400 million pointers")

func (s *scanner) add(to, step uint32) {
	i := s.count % edgeChunk
	if i == 0 {
		s.pieces = append(s.pieces, new([edgeChunk]edge))
		s.chunks.Add(1)
	}
	s.pieces[len(s.pieces)-1][i] = edge{to, step}
	s.count++
}

func (e *edges) at(i uint32) *edge { return &e.pieces[i/edgeChunk][i%edgeChunk] }

// scanBytes is how much memory is read at once.
const scanBytes = 1 << 20

// scan reads the pointers of all objects. It reads only what has pointers, so no string and no array of bytes is ever read.
func (p *program) scan(ctx context.Context, workers int) ([]*edges, error) {
	total := uint64(0)
	for i := range p.spans {
		if !p.spans[i].noscan {
			total += uint64(p.spans[i].pages)
		}
	}
	mapSize, dirPtr, dirLen := uint64(0), uint64(0), uint64(0)
	if p.types.named("internal/runtime/maps.Map") != 0 {
		at := func(f string) uint64 { return p.layout.at("internal/runtime/maps.Map", f).off }
		if mapSize, dirPtr, dirLen = p.layout.size("internal/runtime/maps.Map"), at("dirPtr"), at("dirLen"); p.layout.err != nil {
			return nil, p.layout.err
		}
		if dirPtr > mapSize || dirLen > mapSize || max(dirPtr, dirLen)+8 > mapSize {
			return nil, &UnknownError{"internal/runtime/maps.Map"}
		}
	}
	var list []*edges
	var scanners []*scanner
	var wait sync.WaitGroup
	errs := make([]error, workers)
	from := 0
	for w := range workers {
		to, sum := from, uint64(0)
		for to < len(p.spans) && (w == workers-1 || sum < total/uint64(workers)) {
			if !p.spans[to].noscan {
				sum += uint64(p.spans[to].pages)
			}
			to++
		}
		first, end := p.slots, p.slots
		if from < len(p.spans) {
			first = p.spans[from].first
		}
		if to < len(p.spans) {
			end = p.spans[to].first
		}
		s := &scanner{program: p, edges: &edges{first: first, starts: make([]uint32, 1, end-first+1)}, mapSize: mapSize, dirPtr: dirPtr, dirLen: dirLen, masks: map[uint64]*mask{}}
		s.text, s.texts = p.modules[0].text, p.modules[0].etext-p.modules[0].text
		list, scanners = append(list, s.edges), append(scanners, s)
		spans := p.spans[from:to]
		wait.Go(func() { errs[w] = s.run(ctx, spans) })
		from = to
	}
	wait.Wait()
	for _, s := range scanners {
		if s.lost > 0 {
			p.note("object", "", s.lost)
		}
	}
	return list, cmp.Or(errs...)
}

// A scanner reads the objects of some spans.
type scanner struct {
	*program
	*edges
	masks                   map[uint64]*mask
	mapSize, dirPtr, dirLen uint64
	text, texts             uint64
	lost                    int // objects whose type could not be read
}

func (s *scanner) run(ctx context.Context, spans []span) error {
	buf := make([]byte, scanBytes)
	for i := 0; i < len(spans); {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.enough(0); err != nil {
			return err
		}
		sp := &spans[i]
		switch n := uint64(sp.pages) * heapPage; {
		case sp.noscan:
			s.skip(sp.count)
			i++
		case n > scanBytes:
			if err := s.large(ctx, sp, buf); err != nil {
				return err
			}
			i++
		default:
			var batch []piece
			at := uint64(0)
			j := i
			for ; j < len(spans) && len(batch) < maxPieces; j++ {
				n := uint64(spans[j].pages) * heapPage
				if spans[j].noscan {
					continue
				}
				if at+n > scanBytes {
					break
				}
				if last := len(batch) - 1; last >= 0 && batch[last].addr+batch[last].size == spans[j].base {
					batch[last].size += n
				} else {
					batch = append(batch, piece{spans[j].base, n})
				}
				at += n
			}
			failed := s.readMany(batch, buf[:at])
			at = 0
			for ; i < j; i++ {
				sp := &spans[i]
				if sp.noscan {
					s.skip(sp.count)
					continue
				}
				n := uint64(sp.pages) * heapPage
				b := buf[at : at+n]
				at += n
				if failed != nil && s.read(sp.base, b) != nil {
					s.lost += int(sp.count)
					s.skip(sp.count)
					continue
				}
				s.span(sp, b)
			}
		}
	}
	return nil
}

// skip notes that some slots have no edges.
func (s *scanner) skip(n uint32) {
	for range n {
		s.starts = append(s.starts, uint32(s.count))
	}
}

// span reads the objects of a span whose memory is in b.
func (s *scanner) span(sp *span, b []byte) {
	if sp.size <= s.small {
		s.bitSpan(sp, b)
		return
	}
	for i := range sp.count {
		if s.isAllocated(sp, i) {
			o := b[uint64(i)*sp.size:][:sp.size]
			typ := sp.typ
			if sp.headers {
				typ, o = binary.LittleEndian.Uint64(o), o[s.header:]
			}
			s.typed(typ, o)
		}
		s.starts = append(s.starts, uint32(s.count))
	}
}

// bitSpan reads small objects, whose pointers are marked by bits at the end of the span.
func (s *scanner) bitSpan(sp *span, b []byte) {
	n := uint64(len(b)) / 8 / 8 // a bit for each word
	at := uint64(len(b)) - n
	if sp.size >= 16 {
		at -= min(s.inline, at)
	}
	marks := b[at : at+n]
	words := sp.size / 8
	for i := range sp.count {
		if s.isAllocated(sp, i) {
			o := b[uint64(i)*sp.size:][:sp.size]
			w := uint64(i) * words
			set := binary.LittleEndian.Uint64(marks[w/64*8:]) >> (w % 64)
			if w%64+words > 64 {
				set |= binary.LittleEndian.Uint64(marks[w/64*8+8:]) << (64 - w%64)
			}
			if words < 64 {
				set &= 1<<words - 1
			}
			if set&1 == 0 {
				s.mayBeClosure(o)
			}
			for ; set != 0; set &= set - 1 {
				s.pointer(o, uint64(bits.TrailingZeros64(set))*8)
			}
		}
		s.starts = append(s.starts, uint32(s.count))
	}
}

// mayBeClosure notes the code that an object begins with.
func (s *scanner) mayBeClosure(o []byte) {
	if pc := binary.LittleEndian.Uint64(o) - s.text; pc < s.texts && pc < 1<<32 {
		s.add(uint32(pc), markCode)
	}
}

// pointer notes the pointer at an offset of an object.
func (s *scanner) pointer(o []byte, off uint64) {
	v := binary.LittleEndian.Uint64(o[off:])
	if v == 0 {
		return
	}
	sp, i := s.find(v)
	if sp == nil {
		return
	}
	step := uint32(min(off/8, wordLimit))
	if s.isInterior(sp, i, v) {
		step |= interior
	}
	if off == s.dirPtr && uint64(len(o)) == s.mapSize && binary.LittleEndian.Uint64(o[s.dirLen:]) == 0 {
		step |= oneGroup
	}
	if off >= 8 {
		if t := s.dynamic(binary.LittleEndian.Uint64(o[off-8:])); t != 0 {
			s.add(t, markType)
		}
	}
	s.add(sp.first+i, step)
}

// typed reads an object, or several of the same type, by the type of which the runtime says that it has.
func (s *scanner) typed(typ uint64, o []byte) {
	if typ == 0 {
		return // it is being made
	}
	m := s.mask(typ)
	if m == nil {
		s.lost++
		return
	}
	if t := s.dynamic(typ); t != 0 {
		s.add(t, markHeader)
	}
	if m.first == 8 {
		s.mayBeClosure(o)
	}
	for base := uint64(0); base < uint64(len(o)); base += m.size {
		for _, off := range m.offsets {
			if base+off+8 > uint64(len(o)) {
				break
			}
			s.pointer(o, base+off)
		}
	}
}

// large reads an object that is larger than the buffer.
func (s *scanner) large(ctx context.Context, sp *span, buf []byte) error {
	defer s.skip(sp.count)
	if sp.count != 1 || sp.typ == 0 || !s.isAllocated(sp, 0) {
		return nil
	}
	m := s.mask(sp.typ)
	if m == nil {
		s.lost++
		return nil
	}
	if t := s.dynamic(sp.typ); t != 0 {
		s.add(t, markHeader)
	}
	have := buf[:0]
	start := uint64(0) // offset of have
	for base := uint64(0); base < sp.size; base += m.size {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.enough(0); err != nil {
			return err
		}
		for _, off := range m.offsets {
			at := base + off
			if at+8 > sp.size {
				break
			}
			if at+8 > start+uint64(len(have)) {
				start = at - min(at, 8) // with the word before, which may say the type
				have = buf[:min(scanBytes, sp.size-start)]
				if s.read(sp.base+start, have) != nil {
					s.lost++
					return nil
				}
			}
			s.pointerAt(have, at-start, at)
		}
	}
	return nil
}

// pointerAt is pointer for a part of an object.
func (s *scanner) pointerAt(part []byte, at, off uint64) {
	v := binary.LittleEndian.Uint64(part[at:])
	if v == 0 {
		return
	}
	sp, i := s.find(v)
	if sp == nil {
		return
	}
	step := uint32(min(off/8, wordLimit))
	if s.isInterior(sp, i, v) {
		step |= interior
	}
	if at >= 8 {
		if t := s.dynamic(binary.LittleEndian.Uint64(part[at-8:])); t != 0 {
			s.add(t, markType)
		}
	}
	s.add(sp.first+i, step)
}

// A mask says where a type has pointers.
type mask struct {
	size    uint64
	offsets []uint64
	first   uint64 // offset of the first
}

// maxMask limits the pointers of one type. A type with more is an array, of which there are few.
const maxMask = 1 << 24

// mask returns the mask of a type of the runtime, or nil.
func (s *scanner) mask(typ uint64) *mask {
	if m, ok := s.masks[typ]; ok {
		return m
	}
	s.masksLock.Lock()
	m, ok := s.program.masks[typ]
	if !ok {
		m = s.readMask(typ)
		s.program.masks[typ] = m
	}
	s.masksLock.Unlock()
	s.masks[typ] = m
	return m
}

func (p *program) readMask(typ uint64) *mask {
	t := &p.rtype
	size, ptrs := p.get(typ, t.size), p.get(typ, t.ptrs)
	data, flags, kind := p.get(typ, t.data), p.get(typ, t.flags), p.get(typ, t.kind)
	if size == 0 || size > 1<<40 || ptrs == 0 || ptrs > size || ptrs%8 != 0 || data == 0 {
		return nil
	}
	words := ptrs / 8
	if words > maxMask*64 {
		return nil
	}
	var marks []byte
	switch {
	case t.demand != 0 && flags&t.demand != 0:
		if data = p.u64(data); data == 0 {
			// the collector has not needed it yet
			return p.ownMask(typ, size)
		}
		fallthrough
	case t.program == 0 || kind&t.program == 0:
		var err error
		if marks, err = p.readAll(data, (words+7)/8); err != nil {
			return nil
		}
	default:
		if marks = p.runProgram(data+4, words); marks == nil {
			return nil
		}
	}
	n := uint64(0)
	for _, b := range marks {
		n += uint64(bits.OnesCount8(b))
	}
	if n > maxMask || !p.table(n*8) {
		return nil
	}
	m := &mask{size: size, offsets: make([]uint64, 0, n)}
	for i, b := range marks {
		for ; b != 0; b &= b - 1 {
			if w := uint64(i*8 + bits.TrailingZeros8(b)); w < words {
				m.offsets = append(m.offsets, w*8)
			}
		}
	}
	if len(m.offsets) == 0 {
		return nil
	}
	m.first = m.offsets[0]
	return m
}

// ownMask makes the mask of a type as the runtime does when it first needs it.
func (p *program) ownMask(typ, size uint64) *mask {
	budget := maxMask
	offsets := p.parts(nil, typ, 0, 0, &budget)
	if len(offsets) == 0 || budget <= 0 || !p.table(uint64(len(offsets))*8) {
		return nil
	}
	slices.Sort(offsets)
	return &mask{size: size, offsets: offsets, first: offsets[0]}
}

// parts appends the offsets of the pointers of a type. Only arrays and structs have no mask of their own.
func (p *program) parts(list []uint64, typ, base uint64, depth int, budget *int) []uint64 {
	t := &p.rtype
	if *budget--; depth > maxDepth || *budget <= 0 {
		return list
	}
	if p.get(typ, t.flags)&t.demand == 0 {
		m := p.readMask(typ)
		if m == nil {
			return list
		}
		if *budget -= len(m.offsets); *budget <= 0 {
			return list
		}
		for _, off := range m.offsets {
			list = append(list, base+off)
		}
		return list
	}
	switch p.get(typ, t.kind) & t.kinds {
	case t.array:
		elem := p.get(typ, t.elem)
		size := p.get(elem, t.size)
		for i := uint64(0); i < p.get(typ, t.count) && *budget > 0; i++ {
			list = p.parts(list, elem, base+i*size, depth+1, budget)
		}
	case t.record:
		at, n := p.u64(typ+t.fields.off), p.u64(typ+t.fields.off+8)
		for i := uint64(0); i < n && *budget > 0; i++ {
			f := at + i*t.field
			if ft := p.get(f, t.fieldType); p.get(ft, t.ptrs) != 0 {
				list = p.parts(list, ft, base+p.get(f, t.fieldAt), depth+1, budget)
			}
			*budget--
		}
	}
	return list
}

// runProgram returns the marks of a type that has a program to make them, as large ones had before Go 1.24.
func (p *program) runProgram(at, words uint64) []byte {
	var out []byte // a mark in each byte, for simplicity
	varint := func() (v uint64) {
		for shift := uint(0); shift < 64; shift += 7 {
			b := p.u8(at)
			at++
			v |= uint64(b&0x7f) << shift
			if b < 0x80 {
				break
			}
		}
		return v
	}
	for failed := p.failed; uint64(len(out)) < words+64 && p.failed == failed; {
		inst := p.u8(at)
		at++
		n := uint64(inst & 0x7f)
		switch {
		case inst == 0:
			marks := make([]byte, (words+7)/8)
			for i, b := range out[:min(uint64(len(out)), words)] {
				marks[i/8] |= b << (i % 8)
			}
			return marks
		case inst < 0x80:
			for i := uint64(0); i < n; i++ {
				out = append(out, p.u8(at+i/8)>>(i%8)&1)
			}
			at += (n + 7) / 8
		default:
			if n == 0 {
				n = varint()
			}
			times := varint()
			if n == 0 || n > uint64(len(out)) || times > words || n*times > words+64 || n*times > maxMask*64 {
				return nil
			}
			from := out[uint64(len(out))-n:]
			for range times {
				out = append(out, from...)
			}
		}
	}
	return nil
}

// runtimeType is where the runtime's description of a type has what the collector needs.
type runtimeType struct {
	size, ptrs, data, flags, kind place
	demand, program               uint64 // flags of types whose mask is made on demand, and of those with a program

	name place

	// For those on demand, and for types that the debug data does not have.
	kinds, array, record       uint64
	elem, count                place // of arrays
	fields, fieldType, fieldAt place // of structs
	field                      uint64
}

func (p *program) readRuntimeType() {
	l := &p.layout
	name := "internal/abi.Type"
	if p.types.named(name) == 0 {
		name = "runtime._type"
	}
	p.rtype = runtimeType{
		size: l.at(name, "Size_"), ptrs: l.at(name, "PtrBytes"), data: l.at(name, "GCData"), flags: l.at(name, "TFlag"), kind: l.at(name, "Kind_"),
		demand:  uint64(p.debug.consts["internal/abi.TFlagGCMaskOnDemand"]),
		program: uint64(p.debug.consts["internal/abi.KindGCProg"]),
	}
	t := &p.rtype
	t.name = l.at(name, "Str")
	if p.rtype.demand == 0 { // before Go 1.24
		return
	}
	if t.kinds = 1<<5 - 1; p.debug.consts["internal/abi.KindMask"] != 0 {
		t.kinds = uint64(p.debug.consts["internal/abi.KindMask"])
	}
	t.array, t.record = l.constant("internal/abi.Array"), l.constant("internal/abi.Struct")
	t.elem, t.count = l.at("internal/abi.ArrayType", "Elem"), l.at("internal/abi.ArrayType", "Len")
	t.fields = l.at("internal/abi.StructType", "Fields")
	t.fieldType, t.fieldAt = l.at("internal/abi.StructField", "Typ"), l.at("internal/abi.StructField", "Offset")
	t.field = l.size("internal/abi.StructField")
}

// sortedEdges returns the part of the edges that a slot is in.
func sortedEdges(list []*edges, slot uint32) *edges {
	i, ok := slices.BinarySearchFunc(list, slot, func(e *edges, slot uint32) int { return cmp.Compare(e.first, slot) })
	if !ok {
		i--
	}
	return list[max(i, 0)]
}
