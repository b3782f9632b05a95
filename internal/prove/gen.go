package prove

import (
	"go/types"
	"math/rand/v2"
	"slices"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// A gen makes up programs: calls of a function with arguments of the right types, and what has to come before.
type gen struct {
	*surface
	rng   *rand.Rand
	dict  *dictionary
	calm  map[*target]bool      // large numbers were no good
	seeds map[string][]seedCall // by key of the function
	sized bool                  // large numbers may be made
	slow  map[int]int           // how often a function that came before took too long
	nils  map[[2]int]bool       // arguments of entries that a version compares with nil
	costs costs
}

func newGen(s *surface, seed uint64) *gen {
	g := &gen{surface: s, rng: rand.New(rand.NewPCG(seed, 0x686f6e65)), dict: newDictionary(s), calm: make(map[*target]bool), slow: make(map[int]int), costs: make(costs), nils: make(map[[2]int]bool)}
	g.seeds = findSeeds(s)
	return g
}

// chance is true in n of 100 cases.
func (g *gen) chance(n int) bool { return g.rng.IntN(100) < n }

func pick[T any](g *gen, list []T) T { return list[g.rng.IntN(len(list))] }

// kinds of types that are made in a way of their own, by how they are spelled.
const (
	isReader = iota + 1
	isWriter
	isContext
	isError
	isTime
	isDuration
	isRequest
	isHandler
)

// knownType returns the kind of a type that is made in a way of its own, or 0.
func knownType(key string) int {
	switch key {
	case "io.Reader", "io.ReadCloser", "*bytes.Reader", "*strings.Reader", "*bytes.Buffer", "*bufio.Reader", "io.ByteReader", "io.RuneScanner",
		"io.ReadSeeker", "io.ReaderAt", "io.ByteScanner", "io.RuneReader", "io.ReadWriter":
		return isReader
	case "io.Writer", "io.WriteCloser", "*strings.Builder", "*bufio.Writer", "io.StringWriter", "io.ByteWriter", "net/http.ResponseWriter":
		return isWriter
	case "context.Context":
		return isContext
	case "error":
		return isError
	case "time.Time":
		return isTime
	case "time.Duration":
		return isDuration
	case "*net/http.Request":
		return isRequest
	case "net/http.Handler", "net/http.HandlerFunc", "func(net/http.ResponseWriter, *net/http.Request)":
		return isHandler
	}
	return 0
}

// A builder makes one program.
type builder struct {
	*gen
	p     *worker.Program
	types [][]types.Type // of the results of the steps so far
	said  []string       // texts that were made so far
	near  *target
	depth int

	before  []worker.Step // of a program that is changed
	routing bool          // what is made is for a function that takes a handler
}

// program makes a program about a target.
func (g *gen) program(t *target) *worker.Program {
	p := &worker.Program{After: g.chance(20)}
	b := &builder{gen: g, p: p, near: t}
	g.sized = !g.calm[t] || g.chance(5)
	g.dict.near = t.key
	b.target(g.onEmbedding(t.entry))
	return p
}

// onEmbedding returns the entry of a method, or half of the time the same of a type that embeds its receiver: often only such a one has
// what the method needs.
func (g *gen) onEmbedding(e *entry) *entry {
	if list := g.through[e.id]; len(list) > 0 && g.chance(50) {
		return pick(g, list)
	}
	return e
}

// target calls e, after what has to come before, and looks afterwards.
func (b *builder) target(e *entry) {
	if !e.method {
		args := b.argsOf(e, 0)
		n := b.call(e, args)
		b.follow(e, n)
		for b.chance(25) && len(b.p.Steps) < 8 {
			n := b.call(e, b.argsOf(e, 0))
			b.follow(e, n)
		}
		return
	}
	if e.name == serveName {
		b.call(e, b.args(e.params))
		return
	}
	recv, made := b.object(e.params[0], e)
	siblings := b.siblings(e)
	if !made && len(siblings) > 0 {
		for range b.rng.IntN(5) {
			recv = b.callOn(pick(b.gen, siblings), recv)
		}
	}
	recv = b.callOn(e, recv)
	for len(b.p.Steps) < 14 && b.chance(45) {
		if b.chance(50) || len(siblings) == 0 {
			recv = b.callOn(e, recv)
		} else {
			recv = b.callOn(pick(b.gen, siblings), recv)
		}
	}
	for _, m := range siblings { // look at it
		if len(m.params) == 1 && len(m.results) > 0 && len(b.p.Steps) < 18 && b.chance(60) {
			recv = b.callOn(m, recv)
		}
	}
}

// siblings are the other methods of the receiver.
func (b *builder) siblings(e *entry) []*entry {
	var out []*entry
	for _, m := range b.methods[b.baseKey(e.params[0])] {
		if m != e {
			out = append(out, m)
		}
	}
	return b.quick(out)
}

// callOn calls a method and returns how to name the receiver from then on.
func (b *builder) callOn(m *entry, recv worker.Value) worker.Value {
	rest := b.argsOf(m, 1)
	at := b.call(m, append([]worker.Value{recv}, rest...))
	b.follow(m, at)
	if recv.Kind == worker.Ref || recv.Kind == worker.Same {
		return recv
	}
	return worker.Value{Kind: worker.Same, Int: int64(at) << 8}
}

// call adds a step and returns its number.
func (b *builder) call(e *entry, args []worker.Value) int {
	b.p.Steps = append(b.p.Steps, worker.Step{Func: e.id, Args: args})
	b.types = append(b.types, e.results)
	return len(b.p.Steps) - 1
}

// follow uses what was returned: it serves requests with handlers, and calls methods and functions.
func (b *builder) follow(e *entry, at int) {
	for i, t := range e.results {
		ref := worker.Value{Kind: worker.Ref, Int: int64(at)<<8 | int64(i)}
		if isHandlerType(t) {
			if serve := b.entryNamed(serveName); serve != nil {
				for range 1 + b.rng.IntN(2) {
					b.call(serve, append([]worker.Value{ref}, b.args(serve.params[1:])...))
				}
			}
			continue
		}
		uses := b.quick(b.uses(t))
		if len(uses) == 0 || b.depth > 2 || e.method && b.baseKey(t) == b.baseKey(e.params[0]) || !b.chance(50) {
			continue
		}
		b.depth++
		for range 1 + b.rng.IntN(4) {
			if len(b.p.Steps) < 14 {
				b.callOn(pick(b.gen, uses), ref)
			}
		}
		b.depth--
	}
}

func isHandlerType(t types.Type) bool {
	named, ok := types.Unalias(base(t)).(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "net/http" &&
		slices.Contains([]string{"Handler", "HandlerFunc", "ServeMux"}, named.Obj().Name())
}

func (b *builder) entryNamed(name string) *entry {
	for _, e := range b.entries {
		if e.name == name {
			return e
		}
	}
	return nil
}

// argsOf makes the arguments of a function from the first one on. One that a version compares with nil is nil more often.
func (b *builder) argsOf(e *entry, first int) []worker.Value {
	was := b.routing
	b.routing = takesHandler(e)
	args := b.args(e.params[first:])
	b.routing = was
	for i := range args {
		if b.asksNil(e, first+i) && b.chance(8) {
			args[i] = worker.Value{}
		}
	}
	return args
}

// asksNil reports whether one of the versions compares an argument with nil.
func (g *gen) asksNil(e *entry, arg int) bool {
	switch e.params[arg].Underlying().(type) {
	case *types.Pointer, *types.Signature, *types.Interface:
	default:
		return false
	}
	key := [2]int{e.id, arg}
	asks, known := g.nils[key]
	if !known {
		asks = e.key != "" && (g.old.comparesWithNil(e, arg, 0) || g.new.comparesWithNil(e, arg, 0))
		g.nils[key] = asks
	}
	return asks
}

func (b *builder) args(params []types.Type) []worker.Value {
	args := make([]worker.Value, len(params))
	for i, t := range params {
		args[i] = b.value(t)
		if i > 0 && len(b.made) > 0 && isAny(t) && b.chance(40) {
			args[i] = b.filled()
		}
		for j := range i { // the same slice, map or object twice
			if b.chance(3) && types.Identical(params[j], t) && !isBasic(t) {
				args[i] = args[j]
			}
			if args[j].Kind == worker.String && b.chance(18) && types.Identical(params[j], t) { // what is compared is related
				args[i] = clone(args[j])
				args[i].Text = b.related(args[i].Text)
			}
		}
	}
	return args
}

func isAny(t types.Type) bool {
	it, ok := t.Underlying().(*types.Interface)
	return ok && it.NumMethods() == 0
}

// filled makes what decoders fill: a pointer to a number, a text, or a struct.
func (b *builder) filled() worker.Value {
	var t types.Type = types.Typ[pick(b.gen, filledKinds)]
	if b.chance(30) {
		t = pick(b.gen, b.made)
	}
	return worker.Value{Kind: worker.Iface, Text: b.spell(types.NewPointer(t)), Elems: []worker.Value{{Kind: worker.Ptr, Elems: []worker.Value{b.literal(t)}}}}
}

// object makes a receiver or another value with methods: with what constructs it, or as a literal, and sometimes with
// things done to it. It reports whether it did things.
func (b *builder) object(t types.Type, of *entry) (worker.Value, bool) {
	v := b.fresh(t)
	if of != nil || b.depth > 2 {
		return v, false
	}
	methods := b.quick(b.methods[b.baseKey(t)])
	if _, ptr := types.Unalias(t).(*types.Pointer); !ptr || len(methods) == 0 || v.Kind == worker.Zero || b.chance(30) {
		return v, false
	}
	b.depth++
	for range b.rng.IntN(8) {
		v = b.callOn(pick(b.gen, methods), v)
	}
	b.depth--
	return v, true
}

// fresh makes a value by a constructor or as a literal.
func (b *builder) fresh(t types.Type) worker.Value {
	ctors := b.quick(b.ctors[b.baseKey(t)])
	if len(ctors) > 0 && b.depth < 4 && !b.chance(4) {
		e := pick(b.gen, ctors)
		b.depth++
		args := b.args(e.params)
		b.depth--
		at := b.call(e, args)
		return worker.Value{Kind: worker.Ref, Int: int64(at) << 8}
	}
	return b.literal(t)
}

// quick leaves out what took too long before, nearly always.
func (b *builder) quick(list []*entry) []*entry {
	if len(b.slow) == 0 && len(b.costs) == 0 || b.chance(2) {
		return list
	}
	var out []*entry
	for _, e := range list {
		if b.slow[e.id] < 2 && b.costs.of(trait{e.id, -1, 0}) < slowCost {
			out = append(out, e)
		}
	}
	return out
}

func clone(v worker.Value) worker.Value {
	v.Names = slices.Clone(v.Names)
	v.Elems = slices.Clone(v.Elems)
	for i := range v.Elems {
		v.Elems[i] = clone(v.Elems[i])
	}
	return v
}

func cloneProgram(p *worker.Program) *worker.Program {
	q := &worker.Program{After: p.After, Steps: slices.Clone(p.Steps)}
	for i := range q.Steps {
		q.Steps[i].Args = slices.Clone(q.Steps[i].Args)
		for j := range q.Steps[i].Args {
			q.Steps[i].Args[j] = clone(q.Steps[i].Args[j])
		}
	}
	return q
}
