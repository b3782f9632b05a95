package heap

import (
	"context"
	"errors"
	"iter"
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
	list  []*edges
	of    []object // by slot
	order []uint32 // slots, as they were reached
	done  []uint64 // a bit for each slot: its edges were followed with its type
	ready []uint32 // slots whose type is known
	later []uint32 // those whose type is not
	maybe []guess

	timer uint64 // where a timer of the time package has the runtime's
}

// An object is what is known of a slot.
type object struct {
	typ   objectType
	place uint32 // which it was to be reached, from 1 on; 0 if it was not. The graph has it there
}

// number returns the number of an object in the graph.
func (t *tracer) number(slot uint32) (uint32, bool) {
	n := t.of[slot].place
	return n - 1, n != 0
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
	t := &tracer{program: p, list: list, of: make([]object, p.slots), done: make([]uint64, p.slots/64+1)}
	t.order = make([]uint32, 0, min(p.objects, uint64(p.slots)))
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
	o := &t.of[slot]
	if weak && ot != 0 {
		if len(t.maybe) < maxGuesses && o.typ == 0 {
			t.maybe = append(t.maybe, guess{slot, ot})
		}
		ot = 0
	}
	first := o.place == 0
	if first {
		t.order = append(t.order, slot)
		o.place = uint32(len(t.order))
	}
	if ot != 0 && o.typ == 0 {
		if tt := t.types.list[ot>>1]; ot&1 == 0 && tt.begins {
			ot = objectType(t.types.fit(uint32(ot>>1), t.spanOf(slot).size) << 1)
		}
		o.typ = ot
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
	ot := t.of[slot].typ
	dynamic, code := uint32(0), uint32(0)
	for ; i < end; i++ {
		x := e.at(i)
		switch x.step {
		case markHeader:
			if h := t.described(t.types.base + uint64(x.to)); h != 0 && (ot == 0 || !t.types.list[h].vague()) {
				many := objectType(0)
				if size := t.types.list[h].size; ot&1 != 0 && ot>>1 == objectType(h) || size > 0 && t.spanOf(slot).size >= 2*size {
					many = 1
				}
				// the parts of a map know their names, of which the runtime knows nothing
				if was := t.types.list[ot>>1]; ot == 0 || !was.inside {
					ot = objectType(h<<1) | many
				}
				if t.of[slot].typ = ot; !named {
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
					t.of[slot].typ = ot
				}
			}
			continue
		}
		if x.step&resolved != 0 { // also with markNone
			continue
		}
		l := t.types.leaf(ot, uint64(x.step&wordLimit)*8)
		if l.none {
			x.step, dynamic = markNone, 0
			continue
		}
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
				if d := t.described(t.types.base + uint64(dynamic)); d != 0 {
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
		t.reach(x.to, to, weak)
		if named {
			x.to, x.step = t.of[x.to].place-1, l.step|resolved
		}
	}
}

func (p *program) funcType() objectType { return objectType(p.types.generic << 1) }

// vague reports whether the runtime gives the type to objects that are more than it says.
func (t *typ) vague() bool {
	return strings.HasPrefix(t.name, "*internal/runtime/maps.") || strings.HasPrefix(t.name, "internal/runtime/maps.") || strings.HasPrefix(t.name, "runtime.bmap") || t.unsafe
}

var errObjects = errors.New("the heap has no objects that can be reached")

// graph turns what was reached into a graph, without what was not. Objects are numbered as they were reached: what is near each other on the way from the roots is near
// each other in memory then, and all that reads the graph goes that way. By address, each pointer of a large map would be to memory that is in no cache.
func (t *tracer) graph(roots [][]root) (*heapgraph.Graph, error) {
	n := len(t.order)
	if n == 0 {
		return nil, errObjects
	}
	total := uint64(0)
	for _, e := range t.list {
		total += e.count
	}
	g := &heapgraph.Graph{
		Words: make([]uint32, n), Type: make([]uint32, n), First: make([]uint32, n+1), Types: []string{""},
		To: make([]uint32, 0, total), Step: make([]uint32, 0, total),
	}
	t.done, t.ready, t.later, t.maybe = nil, nil, nil, nil
	names := map[string]uint32{"": 0}
	numbers := map[objectType]uint32{}
	for i, slot := range t.order {
		ot := t.of[slot].typ
		number, ok := numbers[ot]
		if !ok {
			name := t.types.name(ot)
			if number, ok = names[name]; !ok {
				number = uint32(len(g.Types))
				g.Types, names[name] = append(g.Types, name), number
			}
			numbers[ot] = number
		}
		g.Type[i], g.Words[i] = number, uint32(min(t.spanOf(slot).size/8, 1<<32-1))
		e := t.part(slot)
		for k := e.starts[slot-e.first]; k < e.starts[slot-e.first+1]; k++ {
			switch x := e.at(k); {
			case x.step >= firstMark:
			case x.step&resolved != 0:
				g.To, g.Step = append(g.To, x.to), append(g.Step, x.step&^resolved)
			default:
				g.To, g.Step = append(g.To, t.of[x.to].place-1), append(g.Step, 0)
			}
		}
		g.First[i+1] = uint32(len(g.To))
	}
	if len(g.To) > maxEdges {
		return nil, errEdges
	}
	for _, e := range t.list {
		e.pieces, e.starts = nil, nil
	}
	t.order = nil
	g.Steps = t.types.steps
	n = 0
	for _, list := range roots {
		n += len(list)
	}
	g.Roots = make([]heapgraph.Root, 0, n)
	for i, list := range roots {
		for _, r := range list {
			r.info.Object = t.of[r.slot].place - 1
			g.Roots = append(g.Roots, r.info)
		}
		roots[i] = nil // they are not needed any more
	}
	return g, nil
}
