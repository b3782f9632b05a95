package profiletest

import "slices"

// A program is what samples walk through. Functions are ordered by how deep in the stack they like to be: main and
// handlers first, then what they use, then the standard library; the functions named in known come last.
//
// The places of a function that can be on a stack are its locations, numbered for the whole program: those of its
// calls first, then those of its other instructions, where a sample may find it running.
type program struct {
	funcs   []function
	locFunc []uint32 // function of each location
	edges   []edge
	roots   []uint32              // where goroutines begin
	ends    [Mutex + 1][][]uint32 // by kind: the calls a stack may end with, caller first; the likely ones first
	inlined []uint32              // small functions that are inlined everywhere
}

type function struct {
	pkg   *pkg // nil for known functions
	name  string
	file  string
	start int // first line
	lines int
	entry uint64 // address
	size  uint64

	loc    uint32 // first location
	calls  int    // locations of calls
	bodies int    // other locations
	edge   uint32 // first edge; the likeliest comes first
	edges  int
	skew   int // how much likelier
}

// An edge is a call: from where and of what. Several edges of one location are a call through an interface or a
// function value; their callees differ, so that no two edges look the same on a stack.
type edge struct {
	loc    uint32
	callee uint32
}

const (
	textStart  = 0x401000
	pathLength = 40 // calls it takes to get from the top of the program to the bottom
)

// newProgram draws a program of n functions.
func newProgram(seed uint64, n int) *program {
	p := &program{}
	b := &builder{program: p, rnd: random(mix(seed)), names: newNamer(seed), known: map[string]uint32{}}
	b.addFunctions(n - numKnown())
	b.walked = len(p.funcs)
	b.addKnown()
	callees := b.drawCalls()
	b.addRoots(callees)
	b.addLocations(callees)
	b.layOut()
	return p
}

type builder struct {
	*program
	rnd    random
	names  *namer
	pkgs   [layers][]*pkg
	walked int // functions that the calls lead through; the others are known ones
	known  map[string]uint32
}

// addFunctions makes the functions of the layers.
func (b *builder) addFunctions(n int) {
	share := [layers]int{own: 32, deps: 38, std: 30}
	b.pkgs = packages()
	for l, pkgs := range b.pkgs {
		count := n * share[l] / 100
		if layer(l) == std {
			count = n - len(b.funcs)
		}
		for i := range count {
			// Functions that belong together are near one another in the stack too, but not strictly.
			p := pkgs[i*len(pkgs)/count]
			if b.rnd.percent(40) {
				p = pkgs[b.rnd.low(len(pkgs))]
			}
			b.addFunction(p)
		}
	}
}

func (b *builder) addFunction(p *pkg) {
	f := function{pkg: p, name: b.names.function(p), lines: 3 + b.rnd.low(150), skew: min(b.rnd.below(4), 2)}
	f.file, f.start = b.names.place(p, f.lines)
	f.bodies = 2 + b.rnd.low(12)
	p.funcs = append(p.funcs, uint32(len(b.funcs)))
	b.funcs = append(b.funcs, f)
}

// drawCalls draws the callees of every function, the likeliest first.
//
// A walk must be able to end, which takes a choice again and again (see walker): a function with a single callee
// has one further down, and those at the bottom have several.
func (b *builder) drawCalls() [][]uint32 {
	n := b.walked
	bottom := n * 4 / 5
	block := max(n/60, 8)
	callees := make([][]uint32, len(b.funcs))
	add := func(f, callee int) {
		if c := uint32(callee); len(callees[f]) < maxChoices && !slices.Contains(callees[f], c) {
			callees[f] = append(callees[f], c)
		}
	}
	// below picks a function further down than f. In each block of functions some are called from everywhere.
	below := func(f int) int {
		if f >= bottom {
			return bottom + b.rnd.low(n-bottom)
		}
		to := f + 1 + n/pathLength/3 + b.rnd.below(n*2/pathLength)
		to = to / block * block
		return min(max(to+b.rnd.low(block), f+1), n-1)
	}
	for f := range n {
		for range 1 + b.rnd.low(8) {
			add(f, below(f))
		}
	}
	// Somebody calls every function, be it rarely.
	for f := n / pathLength; f < n; f++ {
		caller := f - 1 - n/pathLength/3 - b.rnd.below(n*2/pathLength)
		if caller >= 0 {
			add(caller, f)
		}
	}
	for f := range n {
		for f >= bottom && len(callees[f]) < 3 {
			add(f, below(f))
		}
		if len(callees[f]) < 2 {
			continue
		}
		if b.rnd.percent(5) {
			add(f, f)
		}
		if b.rnd.percent(5) {
			add(f, max(0, f-b.rnd.below(block)))
		}
	}
	return callees
}

// addLocations numbers the places of all functions and ties the calls to them.
func (b *builder) addLocations(callees [][]uint32) {
	for i := range b.funcs {
		f := &b.funcs[i]
		f.loc = uint32(len(b.locFunc))
		f.edge = uint32(len(b.edges))
		f.edges = len(callees[i])
		for j, c := range callees[i] {
			// A known function makes all its calls from one location: the way into the program calls what it was given.
			if f.pkg != nil && (j == 0 || !b.rnd.percent(10)) {
				f.calls++
			}
			b.edges = append(b.edges, edge{loc: f.loc + uint32(f.calls-1), callee: c})
		}
		for range f.calls + f.bodies {
			b.locFunc = append(b.locFunc, uint32(i))
		}
	}
}

// layOut gives every function its addresses, package by package as the linker does.
func (b *builder) layOut() {
	entry := uint64(textStart)
	place := func(i uint32) {
		f := &b.funcs[i]
		f.entry = entry
		f.size = uint64(32+12*f.lines)&^31 + 32*uint64(f.calls+f.bodies)
		entry += f.size
	}
	for i := b.walked; i < len(b.funcs); i++ {
		place(uint32(i))
	}
	for _, l := range []layer{std, deps, own} {
		for _, p := range b.pkgs[l] {
			for _, i := range p.funcs {
				place(i)
			}
		}
	}
}
