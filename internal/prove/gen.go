package prove

import (
	"go/types"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/order"
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
	costs map[int]cost          // of functions that came before, in programs of few
}

// A cost is the least that programs with a function took, and how many batches of them that is of.
type cost struct {
	least   time.Duration
	batches int
}

// A function that is called before or after the one under test is left out if programs with it were this slow this many times.
const (
	slowCost    = 20 * time.Millisecond
	slowBatches = 3
)

// took notes how long each of a few programs about a target took, for what else they call.
func (g *gen) took(t *target, list []*worker.Program, each time.Duration) {
	if len(list) > firstBatch {
		return
	}
	had := make(map[int]bool)
	for _, p := range list {
		for _, s := range p.Steps {
			if s.Func == t.id || had[s.Func] {
				continue
			}
			had[s.Func] = true
			c := g.costs[s.Func]
			if c.batches++; c.batches == 1 || each < c.least {
				c.least = each
			}
			g.costs[s.Func] = c
		}
	}
}

func newGen(s *surface, seed uint64) *gen {
	g := &gen{surface: s, rng: rand.New(rand.NewPCG(seed, 0x686f6e65)), dict: newDictionary(s), calm: make(map[*target]bool), slow: make(map[int]int), costs: make(map[int]cost), nils: make(map[[2]int]bool)}
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

var knownTypes = map[string]int{
	"io.Reader": isReader, "io.ReadCloser": isReader, "*bytes.Reader": isReader, "*strings.Reader": isReader, "*bytes.Buffer": isReader,
	"*bufio.Reader": isReader, "io.ByteReader": isReader, "io.RuneScanner": isReader, "io.ReadSeeker": isReader, "io.ReaderAt": isReader,
	"io.ByteScanner": isReader, "io.RuneReader": isReader, "io.ReadWriter": isReader,
	"io.Writer": isWriter, "io.WriteCloser": isWriter, "*strings.Builder": isWriter, "*bufio.Writer": isWriter, "io.StringWriter": isWriter,
	"io.ByteWriter": isWriter, "net/http.ResponseWriter": isWriter,
	"context.Context": isContext, "error": isError, "time.Time": isTime, "time.Duration": isDuration,
	"*net/http.Request": isRequest, "net/http.Handler": isHandler, "net/http.HandlerFunc": isHandler,
	"func(net/http.ResponseWriter, *net/http.Request)": isHandler,
}

func knownType(key string) bool { return knownTypes[key] != 0 }

// A builder makes one program.
type builder struct {
	*gen
	p     *worker.Program
	types [][]types.Type // of the results of the steps so far
	said  []string       // texts that were made so far
	near  *target
	depth int
}

// program makes a program about a target.
func (g *gen) program(t *target) *worker.Program {
	p := &worker.Program{After: g.chance(20)}
	b := &builder{gen: g, p: p, near: t}
	g.sized = !g.calm[t] || g.chance(5)
	g.dict.near = t.key
	b.target(t.entry)
	return p
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
	args := b.args(e.params[first:])
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
		if c := b.costs[e.id]; b.slow[e.id] < 2 && (c.batches < slowBatches || c.least < slowCost) {
			out = append(out, e)
		}
	}
	return out
}

// value makes an argument.
func (b *builder) value(t types.Type) worker.Value {
	if v, ok := b.earlier(t); ok {
		return v
	}
	if lits := b.dict.literals[b.new.typeKey(t)]; len(lits) > 0 && b.chance(30) {
		v := clone(pick(b.gen, lits))
		if b.chance(40) {
			b.mutateValue(&v)
		}
		return v
	}
	if _, st := structOf(t); st != nil && !knownType(b.new.typeKey(t)) {
		v, _ := b.object(t, nil)
		return v
	}
	return b.literal(t)
}

// earlier returns a result of an earlier step of this type: what a method gave is often what the next one takes.
func (b *builder) earlier(t types.Type) (worker.Value, bool) {
	if len(b.types) == 0 || !b.chance(35) {
		return worker.Value{}, false
	}
	for range 4 {
		step := b.rng.IntN(len(b.types))
		for i, r := range b.types[step] {
			if types.Identical(r, t) {
				return worker.Value{Kind: worker.Ref, Int: int64(step)<<8 | int64(i)}, true
			}
		}
	}
	return worker.Value{}, false
}

// literal makes a value from nothing.
func (b *builder) literal(t types.Type) worker.Value {
	b.depth++
	defer func() { b.depth-- }()
	if b.depth > 7 {
		return worker.Value{}
	}
	switch knownTypes[b.new.typeKey(t)] {
	case isReader:
		mode := worker.ReadAll
		if b.chance(40) {
			mode = b.rng.IntN(4)
		}
		return worker.Value{Kind: worker.Reader, Int: int64(mode), Text: b.str()}
	case isWriter:
		mode := int64(worker.WriteAll)
		if b.chance(12) {
			mode = int64(1 + b.rng.IntN(12))
		}
		return worker.Value{Kind: worker.Writer, Int: mode}
	case isContext:
		v := worker.Value{Kind: worker.Context}
		if b.chance(15) {
			v.Int = 1
		}
		return v
	case isError:
		switch {
		case b.chance(40):
			return worker.Value{}
		case b.chance(20):
			return worker.Value{Kind: worker.Error, Text: "EOF"}
		}
		return worker.Value{Kind: worker.Error, Text: b.str()}
	case isTime:
		if b.chance(4) {
			return worker.Value{Kind: worker.Time, Int: 253402300800, Text: worker.Seconds} // year 10000, which has no text in JSON
		}
		return worker.Value{Kind: worker.Time, Int: pick(b.gen, []int64{0, 1, -1, 1e9, 1700000000e9, 1709210096789e6, 951782400e9, -62135596800, 1<<62 - 1})}
	case isDuration:
		unit := pick(b.gen, []int64{1, 1e3, 1e6, 1e9, 60e9, 3600e9})
		return worker.Value{Kind: worker.Int, Int: b.integer(types.Typ[types.Int16]) * unit}
	case isRequest:
		return b.request()
	case isHandler:
		return worker.Value{Kind: worker.Func, Int: int64(b.rng.IntN(6))}
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return b.basic(u, t)
	case *types.Slice:
		return b.slice(u)
	case *types.Array:
		v := worker.Value{Kind: worker.List}
		for range min(u.Len(), 64) {
			v.Elems = append(v.Elems, b.value(u.Elem()))
		}
		return v
	case *types.Map:
		if b.chance(8) {
			return worker.Value{}
		}
		v := worker.Value{Kind: worker.Map}
		for range b.rng.IntN(5) {
			v.Elems = append(v.Elems, b.value(u.Key()), b.value(u.Elem()))
		}
		return v
	case *types.Pointer:
		if b.chance(4) {
			return worker.Value{}
		}
		return worker.Value{Kind: worker.Ptr, Elems: []worker.Value{b.literal(u.Elem())}}
	case *types.Struct:
		return b.structValue(t, u)
	case *types.Interface:
		return b.iface(t)
	case *types.Signature:
		return worker.Value{Kind: worker.Func, Int: int64(b.rng.IntN(8))}
	case *types.Chan:
		v := worker.Value{Kind: worker.Chan}
		for range b.rng.IntN(4) {
			v.Elems = append(v.Elems, b.value(u.Elem()))
		}
		return v
	}
	return worker.Value{}
}

func (b *builder) basic(u *types.Basic, t types.Type) worker.Value {
	info := u.Info()
	switch {
	case info&types.IsBoolean != 0:
		return worker.Value{Kind: worker.Bool, Int: int64(b.rng.IntN(2))}
	case info&types.IsInteger != 0:
		if b.new.typeKey(t) == "rune" {
			return worker.Value{Kind: worker.Int, Int: int64(b.char())}
		}
		return worker.Value{Kind: worker.Int, Int: b.integer(u)}
	case info&(types.IsFloat|types.IsComplex) != 0:
		return worker.Value{Kind: worker.Float, Int: int64(math.Float64bits(b.float()))}
	case info&types.IsString != 0:
		if named, ok := t.(*types.Named); ok && strings.HasSuffix(named.Obj().Name(), "Number") && b.chance(80) {
			n := b.integer(types.Typ[types.Int64])
			text := strconv.FormatInt(n, 10)
			if b.chance(50) {
				text = strconv.FormatUint(uint64(n), 10)
			}
			return worker.Value{Kind: worker.String, Text: text}
		}
		return worker.Value{Kind: worker.String, Text: b.str()}
	}
	return worker.Value{}
}

func (b *builder) slice(u *types.Slice) worker.Value {
	if b.chance(7) {
		return worker.Value{}
	}
	spare := int64(0)
	if b.chance(30) {
		spare = int64(b.rng.IntN(9))
	}
	if e, ok := u.Elem().Underlying().(*types.Basic); ok && e.Kind() == types.Uint8 {
		return worker.Value{Kind: worker.String, Text: b.str(), Int: spare}
	}
	v := worker.Value{Kind: worker.List, Int: spare}
	n := b.rng.IntN(6)
	if b.depth < 3 && isBasic(u.Elem()) {
		switch {
		case b.chance(10):
			n = 6 + b.rng.IntN(12)
		case b.chance(8):
			n = pick(b.gen, []int{15, 16, 17, 31, 32, 33, 63, 64, 65, 100})
		}
	}
	for range n {
		if len(v.Elems) > 0 && b.chance(20) {
			v.Elems = append(v.Elems, clone(pick(b.gen, v.Elems)))
			continue
		}
		v.Elems = append(v.Elems, b.value(u.Elem()))
	}
	if b.chance(15) {
		order.Stable(v.Elems, func(a, b worker.Value) int {
			if a.Int != b.Int {
				if a.Int < b.Int {
					return -1
				}
				return 1
			}
			return strings.Compare(a.Text, b.Text)
		})
	}
	return v
}

func (b *builder) structValue(t types.Type, u *types.Struct) worker.Value {
	v := worker.Value{Kind: worker.Struct}
	var allowed map[string]bool
	ctors := 0
	if named, _ := structOf(t); named != nil {
		rules, ours := b.rules[named.Obj().Name()]
		if named.Obj().Pkg() == b.new.pkg.Types && ours {
			allowed = make(map[string]bool)
			for _, r := range rules {
				allowed[r.name] = r.set
			}
		}
		ctors = len(b.ctors[b.baseKey(t)])
	}
	for f := range u.Fields() {
		if allowed != nil && !allowed[f.Name()] || allowed == nil && !f.Exported() || f.Name() == "_" {
			continue
		}
		if !f.Exported() && ctors > 0 || b.chance(12) {
			continue
		}
		e := b.value(f.Type())
		if e.Kind != worker.Zero {
			v.Names = append(v.Names, f.Name())
			v.Elems = append(v.Elems, e)
		}
	}
	return v
}

// iface fills an interface.
func (b *builder) iface(t types.Type) worker.Value {
	it, ok := t.Underlying().(*types.Interface)
	if !ok || b.chance(5) {
		return worker.Value{}
	}
	if it.NumMethods() == 0 && b.chance(5) {
		return worker.Value{Kind: worker.Error, Text: b.str()}
	}
	switch {
	case has(it, writerMethods):
		return worker.Value{Kind: worker.Writer}
	case has(it, readerMethods):
		return worker.Value{Kind: worker.Reader, Text: b.str()}
	}
	var names []string
	for name, c := range b.types0() {
		if types.Implements(c, it) && !(it.NumMethods() == 0 && b.holdsRecast(c, 0)) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return worker.Value{}
	}
	slices.Sort(names)
	name := pick(b.gen, names)
	switch {
	case it.NumMethods() > 0:
	case b.chance(30):
		if asked := b.askedNear(); len(asked) > 0 {
			name = pick(b.gen, asked)
		}
	case len(b.tested) > 0 && b.chance(30):
		name = pick(b.gen, b.tested)
	}
	c := b.surface.types[name]
	var v worker.Value
	if _, ptr := c.(*types.Pointer); ptr && it.NumMethods() > 0 && b.chance(10) {
		return worker.Value{Kind: worker.Iface, Text: name, Elems: []worker.Value{v}} // nil with a type
	}
	if _, st := structOf(c); st != nil {
		v, _ = b.object(c, nil)
		if v.Kind == worker.Ref { // a constructor gave it
			return v
		}
	} else {
		v = b.literal(c)
	}
	return worker.Value{Kind: worker.Iface, Text: name, Elems: []worker.Value{v}}
}

// askedNear returns the types that the function which is asked about tells from others, or one that it uses; or else what changed, or else
// any other.
func (b *builder) askedNear() []string {
	near := b.dict.near
	list := slices.Clone(b.asked[near])
	if d := b.new.decls[near]; d != nil {
		for _, u := range d.uses {
			list = append(list, b.asked[u]...)
		}
	}
	if len(list) > 0 {
		return list
	}
	var all []string
	for _, key := range sortedKeys(b.asked) {
		if far, ok := b.changes[key]; ok && far == 0 {
			list = append(list, b.asked[key]...)
		}
		all = append(all, b.asked[key]...)
	}
	if len(list) > 0 {
		return list
	}
	return all
}

// What the writers and readers have that workers make.
var (
	writerMethods = []string{"Write", "WriteByte", "WriteRune", "WriteString"}
	readerMethods = []string{"Read", "ReadByte", "ReadRune", "UnreadByte", "UnreadRune", "ReadAt", "Seek", "Len", "Size"}
)

// has reports whether an interface has methods, and no others than these.
func has(it *types.Interface, names []string) bool {
	for m := range it.Methods() {
		if !slices.Contains(names, m.Name()) {
			return false
		}
	}
	return it.NumMethods() > 0
}

func (b *builder) types0() map[string]types.Type { return b.surface.types }

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
