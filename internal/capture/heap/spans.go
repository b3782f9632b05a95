package heap

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/hone-perf/hone/internal/unit"
)

// A span is a run of pages with objects of one size.
type span struct {
	base, end uint64 // of its objects
	size      uint64 // of one
	typ       uint64 // of a large object, as the runtime says
	specials  uint64
	bits      uint32 // index into program.bits
	first     uint32 // slot
	count     uint32 // of slots
	free      uint32 // slots from here on are free unless their bit is set
	divide    uint32 // to divide an offset by size: multiply and shift
	pages     uint32
	noscan    bool // no pointers
	headers   bool // objects begin with their type
}

const (
	heapPage   = 8 << 10
	arenaBytes = 64 << 20
)

// An arena says for each page of it which span it is of: its number plus one.
type arena [arenaBytes / heapPage]uint32

// readSpans reads which objects there are.
func (p *program) readSpans() error {
	l := &p.layout
	at := func(fields ...string) place { return l.at("runtime.mspan", fields...) }
	base, pages, elems, size, class := at("startAddr"), at("npages"), at("nelems"), at("elemsize"), at("spanclass")
	free, allocBits, state, specials := at("freeindex"), at("allocBits"), at("state.s.value", "state.s", "state"), at("specials")
	divide, large, userArena, allocated := at("divMul"), at("largeType"), at("isUserArenaChunk"), at("allocCount")
	inUse := l.constant("runtime.mSpanInUse")
	p.header = l.constant("runtime.mallocHeaderSize", "internal/runtime/gc.MallocHeaderSize")
	p.small = l.constant("runtime.minSizeForMallocHeader", "internal/runtime/gc.MinSizeForMallocHeader")
	pageSize := l.constant("runtime.pageSize", "runtime._PageSize", "internal/runtime/gc.PageSize")
	mspan := l.of("runtime.mspan")
	all := l.at("runtime.mheap", "allspans")
	if l.err != nil {
		return l.err
	}
	if mspan.size > 4096 || pageSize != heapPage || p.header != 8 || p.small != 512 {
		return &UnknownError{"runtime.pageSize"}
	}
	heap := p.global("runtime.mheap_")
	if heap == 0 {
		return &UnknownError{"runtime.mheap_"}
	}
	list, n := p.u64(heap+all.off), p.u64(heap+all.off+8)
	if n > maxSpans {
		return fmt.Errorf("the heap has %d spans; the limit is %d", n, maxSpans)
	}
	pointers, err := p.readAll(list, n*8)
	if err != nil {
		return fmt.Errorf("reading the list of spans: %w", err)
	}
	p.inline = p.inlineMarks()
	var rows []uint64 // where the bits of a span are
	var batch []piece
	buf := make([]byte, 0, maxPieces*int(mspan.size))
	flush := func() error {
		buf = buf[:len(batch)*int(mspan.size)]
		if err := p.readMany(batch, buf); err != nil {
			return fmt.Errorf("reading spans: %w", err)
		}
		for i := range batch {
			b := buf[uint64(i)*mspan.size:][:mspan.size]
			if fieldOf(b, state) != inUse {
				continue
			}
			s := span{
				base: fieldOf(b, base), size: fieldOf(b, size), typ: fieldOf(b, large), specials: fieldOf(b, specials),
				count: uint32(fieldOf(b, elems)), free: uint32(fieldOf(b, free)), divide: uint32(fieldOf(b, divide)),
			}
			n, c := fieldOf(b, pages), fieldOf(b, class)
			s.noscan = c&1 != 0
			s.headers = c>>1 != 0 && !s.noscan && s.size > p.small
			if n == 0 || n > 1<<34 || s.size == 0 || s.size > n*heapPage || s.size%8 != 0 || uint64(s.count)*s.size > n*heapPage || s.base%heapPage != 0 || s.base > 1<<56 || n > math.MaxUint32 {
				p.note("span", "", 1) // it was being made
				continue
			}
			if fieldOf(b, userArena) != 0 {
				p.note("arena", "", 1)
				s.noscan = true
			}
			s.pages, s.end = uint32(n), s.base+uint64(s.count)*s.size
			s.free = min(s.free, s.count)
			p.allocated += fieldOf(b, allocated) * s.size
			p.objects += fieldOf(b, allocated)
			p.spans = append(p.spans, s)
			rows = append(rows, fieldOf(b, allocBits))
		}
		batch = batch[:0]
		return nil
	}
	for i := range n {
		if batch = append(batch, piece{word(pointers, i*8), mspan.size}); len(batch) == maxPieces {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	if err := p.readBits(rows); err != nil {
		return err
	}
	if err := p.number(); err != nil {
		return err
	}
	return p.enough(0)
}

// What it takes to read a heap and to find who holds it, in bytes: no less than what was measured for heaps of any shape.
const (
	perSlot   = 13 // free or not
	perObject = 48
	perEdge   = 20
	perRoot   = 400
)

// A MemoryError says that the heap of the program is too large to be read in the memory that is left.
type MemoryError struct {
	Objects     uint64
	Edges       uint64 // as far as they were read
	StackWords  uint64
	Need, Spare uint64 // bytes: what it takes, and what may be taken
}

func (e *MemoryError) Error() string {
	what := fmt.Sprintf("%d objects", e.Objects)
	if e.Edges > 0 {
		what += fmt.Sprintf(", %d pointers or more", e.Edges)
	}
	if e.StackWords > 0 {
		what += fmt.Sprintf(", %d pointers or more on stacks", e.StackWords)
	}
	return fmt.Sprintf("it has %s, for which hone needs %s of memory; it takes up to three quarters of what is left, which is %s",
		what, unit.Size(int64(e.Need)), unit.Size(int64(e.Spare)))
}

// enough returns an error if there is not enough memory for the objects, for the edges as far as there are any, and for some pointers on stacks.
func (p *program) enough(stackWords uint64) error {
	edges := uint64(max(p.chunks.Load()-maxWorkers, 0)) * edgeChunk // each worker has one that is not full
	if edges > maxEdges {
		return errEdges
	}
	if stackWords > maxRoots {
		return errRoots
	}
	if need := uint64(p.slots)*perSlot + p.objects*perObject + edges*perEdge + stackWords*perRoot; p.spare != 0 && need > p.spare {
		return &MemoryError{p.objects, edges, stackWords, need, p.spare}
	}
	return nil
}

// maxPieces is how many pieces of memory one system call reads.
const maxPieces = 1024

// readAll reads a table of the runtime.
func (p *program) readAll(addr, size uint64) ([]byte, error) {
	if size > maxTableBytes {
		return nil, fmt.Errorf("the runtime has a table of %s; the limit is %s", unit.Size(int64(min(size, 1<<62))), unit.Size(maxTableBytes))
	}
	var all []byte // grows as far as there is memory to read, whatever its size is said to be
	const step = 4 << 20
	for uint64(len(all)) < size {
		n := min(size-uint64(len(all)), step)
		at := len(all)
		all = append(all, make([]byte, n)...)
		if err := p.read(addr+uint64(at), all[at:]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

const maxTableBytes = 2 << 30

// readBits reads which slots of each span are allocated.
func (p *program) readBits(rows []uint64) error {
	total := uint64(0)
	for i := range p.spans {
		p.spans[i].bits = uint32(total)
		if total += (uint64(p.spans[i].count) + 63) / 64 * 8; total > math.MaxUint32 {
			return fmt.Errorf("the heap has more than %d objects", uint64(math.MaxUint32)*8)
		}
	}
	p.bits = make([]byte, total)
	var batch []piece
	from := uint64(0)
	for i := range p.spans {
		n := (uint64(p.spans[i].count) + 63) / 64 * 8
		batch = append(batch, piece{rows[i], n})
		if to := uint64(p.spans[i].bits) + n; len(batch) == maxPieces || i == len(p.spans)-1 {
			if p.readMany(batch, p.bits[from:to]) != nil {
				// one of them is not there; the others still are
				for _, b := range batch {
					if p.read(b.addr, p.bits[from:from+b.size]) != nil {
						clear(p.bits[from : from+b.size])
						p.note("span", "", 1)
					}
					from += b.size
				}
			}
			from, batch = to, batch[:0]
		}
	}
	return nil
}

// number sorts the spans by address and numbers their slots.
func (p *program) number() error {
	slices.SortFunc(p.spans, func(a, b span) int { return cmp.Compare(a.base, b.base) })
	p.arenas = map[uint64]*arena{}
	total, end, used := uint64(0), uint64(0), uint64(0)
	spans := p.spans[:0]
	for _, s := range p.spans {
		if s.base < end { // while memory changes hands
			p.note("span", "", 1)
			continue
		}
		end = s.base + uint64(s.pages)*heapPage
		if used += uint64(s.pages) * heapPage; used > p.limit {
			return fmt.Errorf("the spans of the heap are larger than the memory of the process, of %s", unit.Size(int64(p.limit)))
		}
		s.first = uint32(total)
		if total += uint64(s.count); total >= maxSlots {
			return fmt.Errorf("the heap has room for more than %d objects", maxSlots)
		}
		if s.count == 0 {
			continue
		}
		spans = append(spans, s)
		for at := uint64(len(p.bySlot)) * slotBlock; at < total; at += slotBlock {
			p.bySlot = append(p.bySlot, uint32(len(spans)-1))
		}
		for page := s.base / heapPage; page < (s.end+heapPage-1)/heapPage; page++ {
			n := page / (arenaBytes / heapPage)
			a := p.arenas[n]
			if a == nil {
				if len(p.arenas) >= maxArenas {
					return fmt.Errorf("the heap is larger than %s", unit.Size(maxArenas*arenaBytes))
				}
				a = new(arena)
				p.arenas[n] = a
			}
			a[page%(arenaBytes/heapPage)] = uint32(len(spans))
		}
	}
	p.spans, p.slots = spans, uint32(total)
	if len(spans) == 0 {
		return nil
	}
	p.lowest = spans[0].base / arenaBytes
	if top := end / arenaBytes; top-p.lowest < 1<<16 {
		p.dense = make([]*arena, top-p.lowest+1)
		for n, a := range p.arenas {
			p.dense[n-p.lowest] = a
		}
	}
	return nil
}

const (
	maxSlots  = 200_000_000
	maxArenas = 1 << 17 // 8 TB
)

// find returns the span with an object at an address, and the slot within it, or nil.
func (p *program) find(addr uint64) (*span, uint32) {
	n := addr / arenaBytes
	var a *arena
	if p.dense != nil {
		if n -= p.lowest; n >= uint64(len(p.dense)) {
			return nil, 0
		}
		a = p.dense[n]
	} else {
		a = p.arenas[n]
	}
	if a == nil {
		return nil, 0
	}
	i := a[addr/heapPage%(arenaBytes/heapPage)]
	if i == 0 {
		return nil, 0
	}
	s := &p.spans[i-1]
	if addr < s.base || addr >= s.end {
		return nil, 0
	}
	off := addr - s.base
	if off < 1<<32 && s.divide != 0 {
		if q := off * uint64(s.divide) >> 32; q < uint64(s.count) && off-q*s.size < s.size {
			return s, uint32(q)
		}
	}
	return s, uint32(off / s.size)
}

// isInterior reports whether a pointer to a slot of a span leads into the middle of the object.
func (p *program) isInterior(s *span, i uint32, addr uint64) bool {
	off := addr - s.base - uint64(i)*s.size
	return off != 0 && !(s.headers && off == p.header)
}

// isAllocated reports whether there is an object in a slot of a span. Slots before the next that is handed out count as such.
func (p *program) isAllocated(s *span, i uint32) bool {
	return i < s.free || p.bits[uint64(s.bits)+uint64(i/8)]>>(i%8)&1 != 0
}

// spanOf returns the span of a slot.
func (p *program) spanOf(slot uint32) *span {
	i := p.bySlot[slot/slotBlock]
	for int(i)+1 < len(p.spans) && p.spans[i+1].first <= slot {
		i++
	}
	return &p.spans[i]
}

// slotBlock is how many slots have an entry in bySlot together. At most so many spans have one of them.
const slotBlock = 64

// inlineMarks returns how many bytes of marks follow the bits of small objects. A build of Go with the newer collector has some.
func (p *program) inlineMarks() uint64 {
	s := p.types.named("runtime.spanInlineMarkBits")
	if s == 0 {
		return 0
	}
	return p.types.list[s].size
}
