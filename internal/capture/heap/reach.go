package heap

import (
	"context"
	"errors"
	"iter"
	"math/bits"
	"runtime"
	"strings"

	"github.com/hone-perf/hone/internal/heapgraph"
)

// A root keeps an object alive. Its type is of the object, if that is known.
type root struct {
	slot uint32
	typ  objectType
	weak bool // the pointer may lead into the middle of the object
	code bool // it is a function
	info heapgraph.Root
}

// A tracer finds out what can be reached, and gives types to it.
type tracer struct {
	*program
	list   []*edges
	typ    []objectType // by slot
	seen   []uint64     // a bit for each slot
	done   []uint64     // its edges were followed with its type
	ready  []uint32     // slots whose type is known
	later  []uint32     // those whose type is not
	maybe  []guess
	number func(slot uint32) uint32 // of the object in the graph

	timer uint64 // where a timer of the time package has the runtime's
}

// A guess is a type for an object that only pointers into its middle say.
type guess struct {
	slot uint32
	typ  objectType
}

func each(lists [][]root) iter.Seq[*root] {
	return func(yield func(*root) bool) {
		for _, list := range lists {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// kinds is the order in which roots are followed.
var kinds = []heapgraph.RootKind{heapgraph.Global, heapgraph.Variable, heapgraph.Finalizer, heapgraph.Runtime, heapgraph.Word}

const maxGuesses = 1 << 22

func bit(set []uint64, i uint32) bool { return set[i/64]>>(i%64)&1 != 0 }
func mark(set []uint64, i uint32)     { set[i/64] |= 1 << (i % 64) }

// trace follows all pointers from the roots on.
func (p *program) trace(ctx context.Context, list []*edges, roots [][]root) (*tracer, error) {
	t := &tracer{program: p, list: list, typ: make([]objectType, p.slots), seen: make([]uint64, p.slots/64+1), done: make([]uint64, p.slots/64+1)}
	if p.types.named("runtime.timeTimer") != 0 {
		if f := p.types.list[p.types.named("runtime.timeTimer")].field("timer"); f != nil {
			t.timer = f.off
		}
	}
	// Those that a user can name come first: what they lead to gets its types and names from them.
	for n := range 2 * len(kinds) {
		kind := kinds[n/2]
		for r := range each(roots) {
			if r.info.Kind != kind || (n%2 == 0) != (r.typ != 0 || r.code) {
				continue
			}
			ot := r.typ
			if r.code {
				ot = p.funcType()
			}
			t.reach(r.slot, ot, r.weak)
			if err := t.drain(ctx); err != nil {
				return nil, err
			}
		}
	}
	for n := 0; ; n++ {
		if n%4096 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		if err := t.drain(ctx); err != nil {
			return nil, err
		}
		if k := len(t.maybe); k > 0 {
			g := t.maybe[k-1]
			t.maybe = t.maybe[:k-1]
			t.reach(g.slot, g.typ, false)
			continue
		}
		k := len(t.later)
		if k == 0 {
			return t, nil
		}
		slot := t.later[k-1]
		t.later = t.later[:k-1]
		if !bit(t.done, slot) {
			t.follow(slot, false)
		}
	}
}

// drain follows the pointers of the objects whose types are known.
func (t *tracer) drain(ctx context.Context) error {
	for n := 0; len(t.ready) > 0; n++ {
		if n%4096 == 4095 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		k := len(t.ready) - 1
		slot := t.ready[k]
		t.ready = t.ready[:k]
		if !bit(t.done, slot) {
			mark(t.done, slot)
			t.follow(slot, true)
		}
	}
	return nil
}

// reach notes that an object is reached, as one of a type that may be 0.
func (t *tracer) reach(slot uint32, ot objectType, weak bool) {
	if weak && ot != 0 {
		if len(t.maybe) < maxGuesses && t.typ[slot] == 0 {
			t.maybe = append(t.maybe, guess{slot, ot})
		}
		ot = 0
	}
	first := !bit(t.seen, slot)
	if first {
		mark(t.seen, slot)
	}
	if ot != 0 && t.typ[slot] == 0 {
		if tt := t.types.list[ot>>1]; ot&1 == 0 && tt.begins {
			ot = objectType(t.types.fit(uint32(ot>>1), t.spanOf(slot).size) << 1)
		}
		t.typ[slot] = ot
		if t.hasEdges(slot) {
			t.ready = append(t.ready, slot)
		}
	} else if first && t.hasEdges(slot) {
		t.later = append(t.later, slot)
	}
}

func (t *tracer) hasEdges(slot uint32) bool {
	e := t.part(slot)
	i := slot - e.first
	return e.starts[i] != e.starts[i+1]
}

func (t *tracer) part(slot uint32) *edges {
	for i := len(t.list) - 1; i > 0; i-- {
		if slot >= t.list[i].first {
			return t.list[i]
		}
	}
	return t.list[0]
}

// follow follows the pointers of an object. Those of an object without a type get no names; it may yet get one.
func (t *tracer) follow(slot uint32, named bool) {
	e := t.part(slot)
	i, end := e.starts[slot-e.first], e.starts[slot-e.first+1]
	ot := t.typ[slot]
	dynamic, code := uint32(0), uint32(0)
	for ; i < end; i++ {
		x := e.at(i)
		switch x.step {
		case markHeader:
			if h := t.types.runtime(t.types.base + uint64(x.to)); h != 0 && (ot == 0 || !t.types.list[h].vague()) {
				many := objectType(0)
				if size := t.types.list[h].size; ot&1 != 0 && ot>>1 == objectType(h) || size > 0 && t.spanOf(slot).size >= 2*size {
					many = 1
				}
				// the parts of a map know their names, of which the runtime knows nothing
				if was := t.types.list[ot>>1]; ot == 0 || !was.inside {
					ot = objectType(h<<1) | many
				}
				if t.typ[slot] = ot; !named {
					named = true
					mark(t.done, slot)
				}
			}
			continue
		case markType:
			dynamic = x.to
			continue
		case markCode:
			code = x.to
			if uint32(ot>>1) == t.types.generic {
				if c := t.types.closure(t.modules[0].text + uint64(code)); c != 0 {
					ot = objectType(c << 1)
					t.typ[slot] = ot
				}
			}
			continue
		}
		if x.step&resolved != 0 {
			continue
		}
		l := t.types.leaf(ot, uint64(x.step&wordLimit)*8)
		to, weak := l.to, x.step&interior != 0
		switch l.how {
		case directory:
			if x.step&oneGroup != 0 {
				to = l.other
			}
		case function:
			to = t.funcType()
		case face, plain:
			to = 0
			if dynamic != 0 {
				if d := t.types.runtime(t.types.base + uint64(dynamic)); d != 0 {
					var isFunc bool
					if to, isFunc = t.types.held(d); isFunc {
						to = t.funcType()
					}
				}
			}
		case pointer:
			if weak && to>>1 == objectType(t.types.timerType) && t.timer != 0 {
				to, weak = objectType(t.types.timeTimer<<1), false
			} else if weak {
				to = 0
			}
		}
		dynamic = 0
		if named {
			x.step = l.step | resolved
		}
		t.reach(x.to, to, weak)
	}
}

func (p *program) funcType() objectType { return objectType(p.types.generic << 1) }

// vague reports whether the runtime gives the type to objects that are more than it says.
func (t *typ) vague() bool {
	return strings.HasPrefix(t.name, "*internal/runtime/maps.") || strings.HasPrefix(t.name, "internal/runtime/maps.") || strings.HasPrefix(t.name, "runtime.bmap") || t.unsafe
}

var errObjects = errors.New("the heap has no objects that can be reached")

// graph turns what was reached into a graph: it numbers the objects, and leaves out what was not reached.
func (t *tracer) graph(roots [][]root) (*heapgraph.Graph, error) {
	ranks := make([]uint32, len(t.seen)+1)
	for i, w := range t.seen {
		ranks[i+1] = ranks[i] + uint32(bits.OnesCount64(w))
	}
	id := func(slot uint32) uint32 {
		return ranks[slot/64] + uint32(bits.OnesCount64(t.seen[slot/64]&(1<<(slot%64)-1)))
	}
	n := ranks[len(t.seen)]
	if n == 0 {
		return nil, errObjects
	}
	g := &heapgraph.Graph{Words: make([]uint32, 0, n), Type: make([]uint32, 0, n), First: make([]uint32, 0, n+1), Types: []string{""}}
	names := map[string]uint32{"": 0}
	numbers := map[objectType]uint32{}
	for i := range t.spans {
		s := &t.spans[i]
		for slot := s.first; slot < s.first+s.count; slot++ {
			if !bit(t.seen, slot) {
				continue
			}
			ot := t.typ[slot]
			number, ok := numbers[ot]
			if !ok {
				name := t.types.name(ot)
				if number, ok = names[name]; !ok {
					number = uint32(len(g.Types))
					g.Types, names[name] = append(g.Types, name), number
				}
				numbers[ot] = number
			}
			g.Words = append(g.Words, uint32(min(s.size/8, 1<<32-1)))
			g.Type = append(g.Type, number)
		}
	}
	// Edges: how many, then where they lead, then by which step, so that no more than one copy of each is there at a time.
	total := uint64(0)
	reached := func(visit func(*edge)) {
		for _, e := range t.list {
			for i := range uint32(len(e.starts) - 1) {
				if !bit(t.seen, e.first+i) {
					continue
				}
				for k := e.starts[i]; k < e.starts[i+1]; k++ {
					if x := e.at(k); x.step < markHeader {
						visit(x)
					}
				}
			}
		}
	}
	reached(func(*edge) { total++ })
	if total > maxEdges {
		return nil, errEdges
	}
	t.typ, t.done = nil, nil
	runtime.GC()
	g.To, g.Step = make([]uint32, 0, total), make([]uint32, 0, total)
	for _, e := range t.list {
		freed := uint32(0)
		for i := range uint32(len(e.starts) - 1) {
			if !bit(t.seen, e.first+i) {
				continue
			}
			g.First = append(g.First, uint32(len(g.To)))
			for k := e.starts[i]; k < e.starts[i+1]; k++ {
				x := e.at(k)
				if x.step >= markHeader {
					continue
				}
				g.To = append(g.To, id(x.to))
				step := uint32(0)
				if x.step&resolved != 0 {
					step = x.step &^ resolved
				}
				g.Step = append(g.Step, step)
			}
			for ; freed < e.starts[i]/edgeChunk; freed++ {
				e.pieces[freed] = nil
			}
		}
		e.pieces, e.starts = nil, nil
	}
	g.First = append(g.First, uint32(len(g.To)))
	g.Steps = t.types.steps
	n = 0
	for range each(roots) {
		n++
	}
	g.Roots = make([]heapgraph.Root, 0, n)
	for r := range each(roots) {
		r.info.Object = id(r.slot)
		g.Roots = append(g.Roots, r.info)
	}
	t.number = id
	return g, nil
}
