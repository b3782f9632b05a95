package heap

import (
	"cmp"
	"slices"

	"github.com/hone-perf/hone/internal/heapgraph"
)

// codeTables is where the runtime's tables of functions have what is needed to walk stacks.
type codeTables struct {
	entry, name, args, deferReturn, pcsp, pcfile, pcln, npcdata, cu, id, flag, nfuncdata place
	size                                                                                 uint64

	stackMapIndex, inlineIndex                      uint64 // tables by pc
	argsMaps, localsMaps, stackObjects, inlineTree  uint64 // tables by function
	argsUnknown                                     uint64
	topFrame, spWrite                               uint64 // flags
	asyncPreempt, debugCall, sigpanic, cgocallback_ uint64 // ids

	mapN, mapBits, mapData                      place // stack maps
	objectOff, objectSize, objectPtrs, objectGC place
	objects                                     uint64 // size of the description of an object on the stack
	inlinedName, inlinedParent                  place
	inlined                                     uint64
}

func (c *codeTables) read(l *layout) error {
	f := func(names ...string) place { return l.at("runtime._func", names...) }
	c.entry, c.name, c.args, c.deferReturn = f("entryOff"), f("nameOff"), f("args"), f("deferreturn")
	c.pcsp, c.pcfile, c.pcln, c.npcdata, c.cu = f("pcsp"), f("pcfile"), f("pcln"), f("npcdata"), f("cuOffset")
	c.id, c.flag, c.nfuncdata = f("funcID"), f("flag"), f("nfuncdata")
	c.stackMapIndex, c.inlineIndex = l.constant("internal/abi.PCDATA_StackMapIndex"), l.constant("internal/abi.PCDATA_InlTreeIndex")
	c.argsMaps, c.localsMaps = l.constant("internal/abi.FUNCDATA_ArgsPointerMaps"), l.constant("internal/abi.FUNCDATA_LocalsPointerMaps")
	c.stackObjects, c.inlineTree = l.constant("internal/abi.FUNCDATA_StackObjects"), l.constant("internal/abi.FUNCDATA_InlTree")
	c.argsUnknown = l.constant("internal/abi.ArgsSizeUnknown")
	c.topFrame, c.spWrite = l.constant("internal/abi.FuncFlagTopFrame"), l.constant("internal/abi.FuncFlagSPWrite")
	c.asyncPreempt, c.debugCall = l.constant("internal/abi.FuncID_asyncPreempt"), l.constant("internal/abi.FuncID_debugCallV2")
	c.sigpanic, c.cgocallback_ = l.constant("internal/abi.FuncID_sigpanic"), l.constant("internal/abi.FuncID_cgocallback")
	c.mapN, c.mapBits, c.mapData = l.at("runtime.stackmap", "n"), l.at("runtime.stackmap", "nbit"), l.at("runtime.stackmap", "bytedata")
	o := func(names ...string) place { return l.at("runtime.stackObjectRecord", names...) }
	c.objectOff, c.objectSize, c.objectPtrs, c.objectGC = o("off"), o("size"), o("ptrBytes", "_ptrdata"), o("gcdataoff")
	c.inlinedName, c.inlinedParent = l.at("runtime.inlinedCall", "nameOff"), l.at("runtime.inlinedCall", "parentPc")
	if l.err != nil {
		return l.err
	}
	c.size, c.objects, c.inlined = l.size("runtime._func"), l.size("runtime.stackObjectRecord"), l.size("runtime.inlinedCall")
	return nil
}

// A goFunc is a function in the runtime's tables.
type goFunc struct {
	m     *module
	addr  uint64 // of its description
	entry uint64
	id    uint64
	flag  uint64
}

// maxPCSteps limits how far a table is followed.
const maxPCSteps = 1 << 20

func (m *module) textOffset(pc uint64) (uint32, bool) {
	if pc < m.text || pc > m.etext {
		return 0, false
	}
	if len(m.sections) > 1 {
		for i, s := range m.sections {
			if size := s.end - s.vaddr; pc >= s.base && (pc-s.base < size || i == len(m.sections)-1) {
				return uint32(pc - s.base + s.vaddr), true
			}
		}
		return 0, false
	}
	return uint32(pc - m.text), true
}

func (m *module) textAddress(off uint32) uint64 {
	if len(m.sections) > 1 {
		for i, s := range m.sections {
			if o := uint64(off); o >= s.vaddr && (o < s.end || i == len(m.sections)-1) {
				return s.base + o - s.vaddr
			}
		}
	}
	return m.text + uint64(off)
}

// function returns the function that has the code at pc.
func (p *program) function(pc uint64) (goFunc, bool) {
	for _, m := range p.modules {
		off, ok := m.textOffset(pc)
		if !ok || len(m.ftab) < 2 {
			continue
		}
		i, exact := slices.BinarySearchFunc(m.ftab, off, func(e funcEntry, off uint32) int { return cmp.Compare(e.entry, off) })
		if !exact {
			i--
		}
		if i < 0 || i >= len(m.ftab)-1 { // the last one is the end
			continue
		}
		f := goFunc{m: m, addr: m.line + uint64(m.ftab[i].off)}
		if uint64(m.ftab[i].off)+p.code.size > m.lines {
			continue
		}
		f.entry = m.textAddress(uint32(p.get(f.addr, p.code.entry)))
		f.id, f.flag = p.get(f.addr, p.code.id), p.get(f.addr, p.code.flag)
		if f.entry > pc {
			continue
		}
		return f, true
	}
	return goFunc{}, false
}

// value looks up what a table says of pc.
func (p *program) value(f goFunc, off, target uint64) int32 {
	if off == 0 || off >= f.m.pctabLen {
		return -1
	}
	at, end := f.m.pctab+off, f.m.pctab+f.m.pctabLen
	varint := func() (v uint32) {
		for shift := uint(0); shift < 32 && at < end; shift += 7 {
			b := p.u8(at)
			at++
			v |= uint32(b&0x7f) << shift
			if b < 0x80 {
				break
			}
		}
		return v
	}
	pc, val := f.entry, int32(-1)
	for n := range maxPCSteps {
		d := varint()
		if d == 0 && n > 0 || at >= end {
			break
		}
		val += int32(-(d & 1) ^ d>>1)
		step := uint64(varint()) * p.arch.quantum
		if pc += step; target < pc {
			return val
		}
	}
	return -1
}

// pcdata looks up what the function's table of a number says of pc.
func (p *program) pcdata(f goFunc, table, pc uint64) int32 {
	if table >= uint64(uint32(p.get(f.addr, p.code.npcdata))) {
		return -1
	}
	return p.value(f, uint64(p.u32(f.addr+p.code.size+table*4)), pc)
}

// funcdata returns where a table of the function is, or 0.
func (p *program) funcdata(f goFunc, table uint64) uint64 {
	if table >= p.get(f.addr, p.code.nfuncdata) {
		return 0
	}
	off := p.u32(f.addr + p.code.size + uint64(uint32(p.get(f.addr, p.code.npcdata)))*4 + table*4)
	if off == 1<<32-1 {
		return 0
	}
	return f.m.gofunc + uint64(off)
}

func (p *program) nameAt(m *module, off uint64) string {
	if off >= m.namesLen {
		return ""
	}
	return p.text(m.names + off)
}

// position returns the file and line of pc.
func (p *program) position(f goFunc, pc uint64) (string, int) {
	file, line := p.value(f, uint64(uint32(p.get(f.addr, p.code.pcfile))), pc), p.value(f, uint64(uint32(p.get(f.addr, p.code.pcln))), pc)
	if file < 0 {
		return "", max(int(line), 0)
	}
	i := uint64(uint32(p.get(f.addr, p.code.cu))) + uint64(file)
	if i >= f.m.cuLen {
		return "", max(int(line), 0)
	}
	off := uint64(p.u32(f.m.cu + i*4))
	if off >= f.m.filesLen {
		return "", max(int(line), 0)
	}
	return p.text(f.m.files + off), max(int(line), 0)
}

// calls returns the calls that pc is in, the innermost first: those that the compiler put into the function, and its own.
func (p *program) calls(f goFunc, pc uint64) []heapgraph.Frame {
	var list []heapgraph.Frame
	tree := p.funcdata(f, p.code.inlineTree)
	at := pc
	for range maxDepth {
		if tree == 0 {
			break
		}
		i := p.pcdata(f, p.code.inlineIndex, at)
		if i < 0 {
			break
		}
		call := tree + uint64(i)*p.code.inlined
		file, line := p.position(f, at)
		list = append(list, heapgraph.Frame{Func: p.nameAt(f.m, uint64(uint32(p.get(call, p.code.inlinedName)))), File: file, Line: line})
		at = f.entry + uint64(uint32(p.get(call, p.code.inlinedParent)))
	}
	file, line := p.position(f, at)
	return append(list, heapgraph.Frame{Func: p.nameAt(f.m, uint64(uint32(p.get(f.addr, p.code.name)))), File: file, Line: line})
}

// A codePlace is what is known of a place in the code that goroutines are at.
type codePlace struct {
	f       goFunc
	ok      bool
	delta   int32 // from the stack pointer to the frame's end
	mapped  bool  // there are maps of the pointers of locals
	locals  []byte
	nlocals uint64 // words
	args    []byte
	nargs   uint64
	objects []stackObject
	vars    []frameVar
	calls   []heapgraph.Frame
	named   bool
}

// A stackObject is a variable on the stack whose address was taken.
type stackObject struct {
	off   int64
	size  uint64
	ptrs  uint64
	marks []byte
}

// at returns what is known of a place that a call returns to or, if it is exact, of the place itself.
func (p *program) at(pc uint64, exact bool) *codePlace {
	key := pc << 1
	if exact {
		key |= 1
	}
	if c := p.frames[key]; c != nil {
		return c
	}
	c := &codePlace{}
	if len(p.frames) >= maxPlaces {
		return c
	}
	p.frames[key] = c
	if c.f, c.ok = p.function(pc); !c.ok {
		return c
	}
	c.delta = p.value(c.f, uint64(uint32(p.get(c.f.addr, p.code.pcsp))), pc)
	if uint32(p.get(c.f.addr, p.code.pcsp)) == 0 {
		c.delta = -1
	}
	target, index := pc, int32(-1)
	if pc != c.f.entry {
		target-- // the call
		index = p.pcdata(c.f, p.code.stackMapIndex, target)
	}
	if index < 0 {
		index = 0
	}
	c.locals, c.nlocals, c.mapped = p.stackMap(p.funcdata(c.f, p.code.localsMaps), index)
	c.args, c.nargs, _ = p.stackMap(p.funcdata(c.f, p.code.argsMaps), index)
	if args := uint32(p.get(c.f.addr, p.code.args)); args != uint32(p.code.argsUnknown) {
		c.nargs = min(c.nargs, uint64(args)/8)
	}
	if at := p.funcdata(c.f, p.code.stackObjects); at != 0 {
		n := min(p.u64(at), maxStackObjects)
		for i := range n {
			o := at + 8 + i*p.code.objects
			so := stackObject{off: int64(int32(p.get(o, p.code.objectOff))), size: p.get(o, p.code.objectSize)}
			ptrs := int64(int32(p.get(o, p.code.objectPtrs)))
			gc := c.f.m.rodata + uint64(uint32(p.get(o, p.code.objectGC)))
			switch {
			case ptrs < 0 && p.table(uint64(-ptrs)/64+128): // a program, before Go 1.24
				so.ptrs = uint64(-ptrs)
				so.marks = p.runProgram(gc, so.ptrs/8)
			case ptrs > 0 && p.table(uint64(ptrs)/64+128):
				so.ptrs = uint64(ptrs)
				so.marks = make([]byte, (so.ptrs/8+7)/8)
				p.bytes(gc, so.marks)
			}
			if so.marks != nil {
				c.objects = append(c.objects, so)
			}
		}
	}
	return c
}

const (
	maxPlaces       = 1 << 20
	maxStackObjects = 1 << 16
	maxStackBits    = 1 << 27
)

// stackMap returns the marks of a map with a number.
func (p *program) stackMap(at uint64, i int32) (marks []byte, words uint64, ok bool) {
	if at == 0 {
		return nil, 0, false
	}
	n, bits := int32(p.get(at, p.code.mapN)), int32(p.get(at, p.code.mapBits))
	if n <= 0 || bits < 0 || i < 0 || i >= n || bits > maxStackBits {
		return nil, 0, false
	}
	size := (uint64(bits) + 7) / 8
	if !p.table(size) {
		return nil, 0, false
	}
	marks = make([]byte, size)
	if !p.bytes(at+p.code.mapData.off+uint64(i)*size, marks) {
		return nil, 0, false
	}
	return marks, uint64(bits), true
}

// name reads the calls and variables of a place.
func (p *program) name(c *codePlace, pc uint64, exact bool) {
	if c.named || !c.ok {
		return
	}
	c.named = true
	if !exact && pc > c.f.entry {
		pc--
	}
	c.calls = p.calls(c.f, pc)
	if c.f.m == p.modules[0] {
		c.vars, _ = p.debug.variables(pc - p.bias) // without them, words have no names
	}
}
