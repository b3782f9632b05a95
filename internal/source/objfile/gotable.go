package objfile

// GoCode is what Go's own tables tell of the code at an address, as the runtime itself reads them when it walks a stack.
type GoCode struct {
	Frames   []GoFrame // the innermost inlined function first, the one whose code it is last
	Top      bool      // nobody called the function: it begins a stack
	Switches bool      // the function writes the stack pointer, as those do that change to another stack
	Assembly bool
	Depth    int // bytes between the stack pointer and the return address; -1 when the tables do not tell
}

// A GoFrame is a function on the stack, or one inlined there.
type GoFrame struct {
	Frame
	StartLine int  // where the function begins
	Wrapper   bool // made by the compiler, such as the method of a pointer for that of a value
}

// GoCode names the Go code at addr, an address of the file. It reports false when there is none.
//
// It finds inlined functions without DWARF, in the tree of inlined calls that the runtime uses. That is since Go 1.20;
// before, and in files other than ELF, there is only the function whose code it is.
func (f *File) GoCode(addr uint64) (GoCode, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.gotab()
	if g == nil {
		return GoCode{}, false
	}
	c, err := safely(func() (*GoCode, error) { return g.lookup(addr), nil })
	if err != nil || c == nil {
		return GoCode{}, false
	}
	return *c, true
}

// HasGo reports whether the file has the table of functions that every Go program carries.
func (f *File) HasGo() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.gotab() != nil
}

// A goTable is a line table and what goes with it.
type goTable struct {
	*lineTable
	trees   []byte // what functions know about themselves, with their trees of inlined calls; nil when not to be found
	wrapper byte   // mark of a function that the compiler made
}

// A moduleFinder is an object in which the runtime's description of the program, its moduledata, can be looked for.
type moduleFinder interface {
	// pointersTo returns the addresses that hold the address of the line table.
	pointersTo() []uint64
	// word returns the word at an address as the program sees it that runs where the file says.
	word(addr uint64) (uint64, bool)
	// rest returns what is in memory from addr on, to the end of its section.
	rest(addr uint64) []byte
}

// Words of the runtime's moduledata since Go 1.20. See runtime/symtab.go.
const (
	moduleTable  = 0
	moduleMinPC  = 20
	moduleMaxPC  = 21
	moduleText   = 22
	moduleGoFunc = 40
)

func (f *File) loadGo() *goTable {
	lines, err := f.lines()
	if err != nil || lines == nil {
		return nil
	}
	g := &goTable{lineTable: lines}
	m, ok := f.obj.(moduleFinder)
	if lines.layout < go120 || lines.ptr != 8 || !ok {
		return g
	}
	g.wrapper = g.markOfWrappers()
	_, err = safely(func() (struct{}, error) { g.findTrees(m); return struct{}{}, nil })
	if err != nil {
		g.trees = nil
	}
	return g
}

// findTrees looks for the trees of inlined calls by way of the moduledata, which holds the address of the line table
// and of the first and the last function. It also tells where the code begins, which after a strip nothing else does
// when C code comes before it.
func (g *goTable) findTrees(m moduleFinder) {
	for _, at := range m.pointersTo() {
		word := func(i uint64) uint64 { v, _ := m.word(at + 8*i); return v }
		text := word(moduleText)
		size := g.start(g.count) - g.text
		first := g.start(0) - g.text
		if text == 0 || word(moduleMinPC) != text+first || word(moduleMaxPC) != text+size {
			continue
		}
		lines := *g.lineTable
		lines.text = text
		g.lineTable = &lines
		if trees := m.rest(word(moduleGoFunc)); g.plausible(trees) {
			g.trees = trees
			return
		}
		// A later Go may have moved it.
		for i := uint64(moduleText + 2); i < moduleGoFunc+16; i++ {
			if trees := m.rest(word(i)); g.plausible(trees) {
				g.trees = trees
				return
			}
		}
		return
	}
}

// plausible reports whether trees are what the functions refer to: of the first that have a tree, the first call is of
// a function with a name and lies in the code.
func (g *goTable) plausible(trees []byte) bool {
	const enough = 50
	seen := 0
	for i := 0; i < g.count && seen < enough; i++ {
		off, ok := g.tree(g.record(i))
		if !ok {
			continue
		}
		call := from(trees, uint64(off))
		if len(call) < inlineSize || call[1]|call[2]|call[3] != 0 {
			return false
		}
		name, ok := g.string(g.names, uint64(g.bo.Uint32(call[4:])))
		if parent := uint64(g.bo.Uint32(call[8:])); !ok || name == "" || g.start(i)+parent >= g.start(i+1) {
			return false
		}
		seen++
	}
	return seen > 0
}

// inlineSize is the size of a call in a tree: the mark of the function called and three bytes that are zero, its name,
// the offset of an instruction that has the place of the call, the line where the function begins.
const inlineSize = 16

// Offsets in the record of a function since Go 1.20. Behind them are the tables of values by address, and then what
// else there is, such as the tree.
const (
	recordValues    = 28 // number of tables
	recordStartLine = 36
	recordMark      = 40
	recordFlags     = 41
	recordExtras    = 43 // number of other things
	recordSize      = 44

	treeIndex = 2 // table of places in the tree
	treeExtra = 3 // the tree
)

// tree returns where in trees the tree of a function begins.
func (g *goTable) tree(fn []byte) (uint32, bool) {
	if len(fn) < recordSize || fn[recordExtras] <= treeExtra {
		return 0, false
	}
	values := uint64(g.bo.Uint32(fn[recordValues:]))
	b := from(fn, recordSize+4*(values+treeExtra))
	if len(b) < 4 || g.bo.Uint32(b) == ^uint32(0) {
		return 0, false
	}
	return g.bo.Uint32(b), true
}

// index returns which call of its tree the code at pc is from, or -1.
func (g *goTable) index(fn []byte, entry, pc uint64) int32 {
	if g.bo.Uint32(fn[recordValues:]) <= treeIndex {
		return -1
	}
	off := uint32(g.uint(from(fn, recordSize+4*treeIndex), 4))
	if off == 0 {
		return -1
	}
	return g.value(off, entry, pc)
}

// markOfWrappers returns the mark of functions that the compiler made. Marks are numbers that change with each version,
// but this is the last one, behind that of a function which every program has.
func (g *goTable) markOfWrappers() byte {
	for i := range g.count {
		if fn := g.record(i); len(fn) >= recordSize && fn[recordMark] != 0 && g.name(i) == "runtime.systemstack_switch" {
			return fn[recordMark] + 1
		}
	}
	return 0
}

func (g *goTable) lookup(pc uint64) *GoCode {
	i, ok := g.find(pc)
	if !ok {
		return nil
	}
	fn := g.record(i)
	entry := g.start(i)
	outer, ok := g.frame(fn, entry, pc)
	if !ok {
		return nil
	}
	c := &GoCode{Depth: int(g.value(g.field(fn, 4), entry, pc))}
	last := GoFrame{Frame: outer}
	if g.layout >= go120 && len(fn) >= recordSize {
		last.StartLine = int(int32(g.bo.Uint32(fn[recordStartLine:])))
		last.Wrapper = g.isWrapper(fn[recordMark])
		flags := fn[recordFlags]
		c.Top, c.Switches, c.Assembly = flags&1 != 0, flags&2 != 0, flags&4 != 0
		pc = g.inlined(c, fn, entry, pc)
	}
	last.File, last.Line = g.place(fn, entry, pc)
	c.Frames = append(c.Frames, last)
	return c
}

// inlined adds the calls inlined at pc to c, and returns the address that has the place of the outermost.
func (g *goTable) inlined(c *GoCode, fn []byte, entry, pc uint64) uint64 {
	off, ok := g.tree(fn)
	if !ok || g.trees == nil {
		return pc
	}
	for len(c.Frames) < maxInline {
		n := g.index(fn, entry, pc)
		call := from(g.trees, uint64(off)+inlineSize*uint64(max(n, 0)))
		if n < 0 || len(call) < inlineSize {
			break
		}
		name, ok := g.string(g.names, uint64(g.bo.Uint32(call[4:])))
		if !ok {
			break
		}
		fr := GoFrame{StartLine: int(int32(g.bo.Uint32(call[12:]))), Wrapper: g.isWrapper(call[0])}
		fr.Func = name
		fr.File, fr.Line = g.place(fn, entry, pc)
		c.Frames = append(c.Frames, fr)
		pc = entry + uint64(g.bo.Uint32(call[8:]))
	}
	return pc
}

func (g *goTable) isWrapper(mark byte) bool { return mark != 0 && mark == g.wrapper }
