package heap

import (
	"cmp"
	"fmt"
	"go/version"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hone-perf/hone/internal/heapgraph"
	"github.com/hone-perf/hone/internal/order"
)

// A program is one whose memory is read.
type program struct {
	*reader
	debug   *debugInfo
	types   *types
	layout  layout
	arch    arch
	bias    uint64 // how far the program is from where it was linked to
	modules []*module
	itabs   map[uint64]uint64 // where the runtime has a table of methods → where it has the type
	itabLow uint64            // of those outside the modules
	itabTop uint64
	masks   map[uint64]*mask
	rtype   runtimeType
	rtypes  map[uint64]uint32 // types that were made of what the runtime says of them, by address
	limit   uint64            // bytes of memory that the program may have at most
	spare   uint64            // bytes of memory that reading it may take; 0 means any
	tables  uint64            // bytes that were taken for tables of functions and types
	objects uint64            // slots in use, as the spans say
	chunks  atomic.Int64      // of edges

	masksLock sync.Mutex // of masks, and of all that making one needs
	threads   []thread
	notes     map[heapgraph.Note]int

	spans     []span   // with objects, by address
	bySlot    []uint32 // index of the span of every slotBlock-th slot
	bits      []byte   // which slots are allocated
	arenas    map[uint64]*arena
	dense     []*arena // the same, for those near each other
	lowest    uint64   // of dense
	slots     uint32
	allocated uint64 // bytes of slots in use, as the spans say
	header    uint64 // bytes before an object that say its type
	small     uint64 // the size up to which objects have bits for their pointers instead
	inline    uint64 // bytes for marks after those bits

	code   codeTables
	frames map[uint64]*codePlace
}

// A thread is one of the system, with where it was when it was stopped.
type thread struct {
	id     int
	pc, sp uint64
	words  []uint64 // its registers
}

// arch is what differs between processors.
type arch struct {
	link    bool   // a register has the address to return to
	minimum uint64 // of a frame
	quantum uint64 // of an instruction
}

// A module is the main program, or a plugin.
type module struct {
	text, etext, types, etypes, rodata, gofunc                                uint64
	data, edata, bss, ebss                                                    uint64
	dataMask, bssMask                                                         uint64
	dataBits, bssBits                                                         uint64
	names, namesLen, cu, cuLen, files, filesLen, pctab, pctabLen, line, lines uint64
	ftab                                                                      []funcEntry
	sections                                                                  []textSection
}

type funcEntry struct{ entry, off uint32 }

type textSection struct{ vaddr, end, base uint64 }

// wanted are the structs of the runtime and of the standard library that are looked up by name.
var wanted = map[string]bool{
	"runtime.mspan": true, "runtime.mheap": true, "runtime.moduledata": true, "runtime.g": true, "runtime.m": true, "runtime.special": true,
	"runtime.specialfinalizer": true, "runtime.specialCleanup": true, "runtime.specialprofile": true, "runtime.specialWeakHandle": true,
	"runtime.bucket": true, "runtime._func": true, "runtime.stackObjectRecord": true, "runtime.stackmap": true, "runtime.inlinedCall": true,
	"runtime.itabTableType": true, "runtime.itab": true, "internal/abi.ITab": true, "internal/abi.Type": true, "runtime._defer": true,
	"runtime.finblock": true, "runtime.finBlock": true, "runtime.finalizer": true, "runtime.cleanupBlock": true, "runtime.cleanupFn": true,
	"runtime.spanInlineMarkBits": true, "runtime.functab": true, "runtime.textsect": true, "runtime.bitvector": true, "runtime.timer": true,
	"runtime.timeTimer": true, "runtime.timerWhen": true, "runtime.p": true, "sync.poolLocal": true, "internal/runtime/maps.Map": true, "runtime.memRecord": true, "runtime._type": true,
	"internal/abi.ArrayType": true, "internal/abi.StructType": true, "internal/abi.StructField": true,
}

func isWanted(name []byte) bool {
	return wanted[string(name)] || strings.HasPrefix(string(name), "internal/sync.") || strings.HasPrefix(string(name), "internal/concurrent.")
}

// limits of what a damaged process may claim.
const (
	maxModules = 1 << 10
	maxSpans   = 1 << 28
	maxThreads = 1 << 16
	maxFuncs   = 1 << 24
	maxItabs   = 1 << 22
)

// maxTables limits what is kept of tables of functions and types.
const maxTables = 512 << 20

// table takes n bytes for a table. Sizes may be wrong, but many of them together are not taken.
func (p *program) table(n uint64) bool {
	if n > maxTables || p.tables+n > maxTables {
		p.note("tables", "", 1)
		return false
	}
	p.tables += n
	return true
}

func (p *program) note(code, name string, n int) {
	p.notes[heapgraph.Note{Code: code, Name: name}] += n
}

// global returns the address of a variable of the runtime, or 0.
func (p *program) global(name string) uint64 {
	for i := range p.debug.globals {
		if p.debug.globals[i].name == name {
			return p.debug.globals[i].addr + p.bias
		}
	}
	return 0
}

// known returns an error unless hone knows the runtime of a version of Go.
func known(v string) error {
	v, _, _ = strings.Cut(v, " ") // experiments
	v, _, _ = strings.Cut(v, "-") // changes of a company
	if !version.IsValid(v) || version.Compare(version.Lang(v), "go1.22") < 0 || version.Compare(version.Lang(v), "go1.27") > 0 {
		return &VersionError{v}
	}
	return nil
}

// open reads the tables of the runtime.
func (p *program) open() error {
	p.notes = map[heapgraph.Note]int{}
	p.masks, p.rtypes = map[uint64]*mask{}, map[uint64]uint32{}
	p.frames = map[uint64]*codePlace{}
	p.layout = layout{types: p.types, structs: map[string]*structure{}}
	if err := p.openModules(); err != nil {
		return err
	}
	p.types.base, p.types.end, p.types.bias = p.modules[0].types, p.modules[0].etypes, p.bias
	if err := p.code.read(&p.layout); err != nil {
		return err
	}
	if err := p.readItabs(); err != nil {
		return err
	}
	if p.readRuntimeType(); p.layout.err != nil {
		return p.layout.err
	}
	return p.readSpans()
}

func (p *program) openModules() error {
	addr := p.global("runtime.firstmoduledata")
	if addr == 0 {
		return &UnknownError{"runtime.firstmoduledata"}
	}
	l := &p.layout
	at := func(fields ...string) place { return l.at("runtime.moduledata", fields...) }
	next, ftab := at("next"), at("ftab")
	fields := map[string]place{}
	for _, f := range []string{"text", "etext", "types", "etypes", "rodata", "gofunc", "data", "edata", "bss", "ebss", "gcdatamask.bytedata", "gcbssmask.bytedata",
		"gcdatamask.n", "gcbssmask.n", "funcnametab", "cutab", "filetab", "pctab", "pclntable", "textsectmap"} {
		fields[f] = at(f)
	}
	entry, section := l.of("runtime.functab"), l.of("runtime.textsect")
	vaddr, end, base := l.at("runtime.textsect", "vaddr"), l.at("runtime.textsect", "end"), l.at("runtime.textsect", "baseaddr")
	entryOff, funcOff := l.at("runtime.functab", "entryoff"), l.at("runtime.functab", "funcoff")
	if l.err != nil {
		return l.err
	}
	for addr != 0 && len(p.modules) < maxModules {
		get := func(f string) uint64 { return p.get(addr, fields[f]) }
		list := func(f string) (uint64, uint64) { return p.u64(addr + fields[f].off), p.u64(addr + fields[f].off + 8) }
		m := &module{
			text: get("text"), etext: get("etext"), types: get("types"), etypes: get("etypes"), rodata: get("rodata"), gofunc: get("gofunc"),
			data: get("data"), edata: get("edata"), bss: get("bss"), ebss: get("ebss"), dataMask: get("gcdatamask.bytedata"), bssMask: get("gcbssmask.bytedata"),
			dataBits: get("gcdatamask.n"), bssBits: get("gcbssmask.n"),
		}
		m.names, m.namesLen = list("funcnametab")
		m.cu, m.cuLen = list("cutab")
		m.files, m.filesLen = list("filetab")
		m.pctab, m.pctabLen = list("pctab")
		m.line, m.lines = list("pclntable")
		if m.text == 0 || m.etext <= m.text || m.etypes < m.types || m.edata < m.data || m.ebss < m.bss || m.edata-m.data > maxGlobals || m.ebss-m.bss > maxGlobals {
			return fmt.Errorf("the runtime's table of module %d makes no sense", len(p.modules))
		}
		n := p.u64(addr + ftab.off + 8)
		if n > maxFuncs {
			return fmt.Errorf("the runtime has %d functions; the limit is %d", n, maxFuncs)
		}
		b, err := p.readAll(p.u64(addr+ftab.off), n*min(entry.size, 64))
		if err != nil {
			return fmt.Errorf("reading the runtime's table of functions: %w", err)
		}
		m.ftab = make([]funcEntry, n)
		for i := range m.ftab {
			e := b[uint64(i)*min(entry.size, 64):]
			m.ftab[i] = funcEntry{uint32(fieldOf(e, entryOff)), uint32(fieldOf(e, funcOff))}
		}
		at, n := list("textsectmap")
		for i := range min(n, maxModules) {
			s := at + i*section.size
			m.sections = append(m.sections, textSection{p.get(s, vaddr), p.get(s, end), p.get(s, base)})
		}
		p.modules = append(p.modules, m)
		addr = p.get(addr, next)
	}
	if p.modules[0].types == 0 {
		return fmt.Errorf("the runtime has no types")
	}
	return nil
}

// fieldOf reads a field of a struct that is in b.
func fieldOf(b []byte, at place) uint64 {
	c := cursor{b: b, at: at.off}
	return c.uint(min(max(at.size, 1), 8))
}

const maxGlobals = 4 << 30 // bytes of global variables

// readItabs reads which types are in interfaces with methods.
func (p *program) readItabs() error {
	p.itabs = map[uint64]uint64{}
	l := &p.layout
	count, size, entries := l.at("runtime.itabTableType", "count"), l.at("runtime.itabTableType", "size"), l.at("runtime.itabTableType", "entries")
	name := "internal/abi.ITab"
	if p.types.named(name) == 0 {
		name = "runtime.itab"
	}
	typ := l.at(name, "Type", "_type")
	if l.err != nil {
		return l.err
	}
	table := p.u64(p.global("runtime.itabTable"))
	n := p.get(table, size)
	if n > maxItabs || p.get(table, count) > n {
		return fmt.Errorf("the runtime has %d interface tables; the limit is %d", n, maxItabs)
	}
	b, err := p.readAll(table+entries.off, n*8)
	if err != nil {
		return fmt.Errorf("reading the runtime's interface tables: %w", err)
	}
	p.itabLow = ^uint64(0)
	for i := range n {
		if itab := word(b, i*8); itab != 0 {
			p.itabs[itab] = p.get(itab, typ)
			p.itabLow, p.itabTop = min(p.itabLow, itab), max(p.itabTop, itab)
		}
	}
	return nil
}

// dynamic returns where the runtime has the type that the first word of an interface says, counted from its first type, or 0.
func (p *program) dynamic(v uint64) uint32 {
	m := p.modules[0]
	if v-p.itabLow <= p.itabTop-p.itabLow && v >= p.itabLow {
		if t, ok := p.itabs[v]; ok {
			v = t
		}
	}
	if v > m.types && v < m.etypes && v-m.types < 1<<32 {
		return uint32(v - m.types)
	}
	return 0
}

func (p *program) sortedNotes() []heapgraph.Note {
	var list []heapgraph.Note
	for n, count := range p.notes {
		n.Count = count
		list = append(list, n)
	}
	order.Stable(list, func(a, b heapgraph.Note) int { return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Name, b.Name)) })
	return list
}
