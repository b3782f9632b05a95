package heapgraph

import (
	"slices"
	"strings"
	"time"
)

// A holder is what keeps objects alive: a variable of a package, goroutines with the same stack, a finalizer. They are nodes above the objects.
//
// Goroutines are a tree, as their stacks are: below a function is what it calls. What a variable of a caller and one of what it calls both refer to is then
// held by the caller, and not by two.
type holder struct {
	kind  RootKind
	name  string
	file  string
	line  int
	up    int32  // the holder above, or -1
	below []edge // holders, by index
	holds []edge // objects

	goroutines uint32
	stacks     uint64
	waits      string
	since      time.Duration
}

type edge struct{ to, step uint32 }

// tier orders holders: what one of a lower tier holds counts for nobody in a higher one. The runtime has second copies of much that a program has, and a
// finalizer only delays the end of what nobody else holds.
func (h *holder) tier() int {
	switch {
	case h.kind == Runtime:
		return 1
	case h.kind == Word:
		return 2
	case h.kind == Finalizer:
		return 3
	}
	return 0
}

const tiers = 4

const runtimePrefix = "runtime."

// maxStack is how many frames of a stack are told apart. The outermost are left out.
const maxStack = 32

// holdersOf groups the roots of a graph. Steps are those of the graph, and more.
func holdersOf(g *Graph) (all []holder, steps []string) {
	steps = slices.Clone(g.Steps)
	stepOf := make(map[string]uint32, len(steps))
	for i, s := range steps {
		stepOf[s] = uint32(i)
	}
	intern := func(s string) uint32 {
		at, ok := stepOf[s]
		if !ok {
			at = uint32(len(steps))
			steps = append(steps, s)
			stepOf[s] = at
		}
		return at
	}
	type key struct {
		kind RootKind
		up   int32
		name string
		file string
		line int
	}
	index := make(map[key]int32)
	find := func(kind RootKind, up int32, name, file string, line int) int32 {
		k := key{kind, up, name, file, line}
		at, ok := index[k]
		if !ok {
			at = int32(len(all))
			index[k] = at
			all = append(all, holder{kind: kind, name: name, file: file, line: line, up: up})
			if up >= 0 {
				all[up].below = append(all[up].below, edge{to: uint32(at)})
			}
		}
		return at
	}
	where := make(map[uint32]int32) // by site: stacks are walked once
	seen := make(map[[3]uint32]bool)
	for i := range g.Roots {
		r := &g.Roots[i]
		var at int32
		step := r.Step
		switch {
		case r.Kind == Variable && len(g.Sites[r.Where]) > 0:
			var known bool
			if at, known = where[r.Where]; !known {
				at = -1
				stack := ofProgram(g.Sites[r.Where])
				for _, f := range slices.Backward(stack[:min(len(stack), maxStack)]) {
					at = find(Variable, at, f.Func, f.File, 0)
				}
				where[r.Where] = at
			}
			h := &all[at]
			if r.Count >= h.goroutines {
				h.goroutines, h.stacks = r.Count, r.Stacks
			}
			if h.waits == "" {
				h.waits = r.Waits
			}
			h.since = max(h.since, r.Since)
			if h.line == 0 {
				h.line = ofProgram(g.Sites[r.Where])[0].Line
			}
			if step = intern("var " + r.Name + g.Steps[r.Step]); r.Name == "" {
				step = intern("a temporary" + g.Steps[r.Step])
			}
		case (r.Kind == Global || r.Kind == Runtime) && strings.HasPrefix(r.Name, runtimePrefix):
			// Its variables refer to each other's objects, and nobody can change one of them.
			at = find(Runtime, -1, strings.TrimSuffix(runtimePrefix, "."), "", 0)
			step = intern(r.Name + g.Steps[r.Step])
		case r.Kind == Word && r.Name == "" && len(g.Sites[r.Where]) > 0:
			f := g.Sites[r.Where][0]
			at = find(Word, -1, f.Func, f.File, f.Line)
		default:
			at = find(r.Kind, -1, r.Name, r.File, r.Line)
		}
		if k := [3]uint32{uint32(at), r.Object, step}; !seen[k] {
			seen[k] = true
			all[at].holds = append(all[at].holds, edge{r.Object, step})
		}
	}
	return all, steps
}

// ofProgram returns a stack without functions of the runtime at its ends. What these refer to is what the program called them with, or the goroutine itself.
// All goroutines end in goexit, and would be below it.
func ofProgram(stack []Frame) []Frame {
	rest := stack
	for len(rest) > 0 && strings.HasPrefix(rest[0].Func, runtimePrefix) {
		rest = rest[1:]
	}
	for len(rest) > 0 && strings.HasPrefix(rest[len(rest)-1].Func, runtimePrefix) {
		rest = rest[:len(rest)-1]
	}
	if n := len(rest) - 1; n > 0 && strings.Contains(rest[n].Func, ".gowrap") { // the compiler's own, around the call of a go statement
		rest = rest[:n]
	}
	if len(rest) == 0 {
		return stack
	}
	return rest
}
