package prove

import (
	"go/types"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/prove/worker"
)

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
	if _, st := structOf(t); st != nil && knownType(b.new.typeKey(t)) == 0 {
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
	switch knownType(b.new.typeKey(t)) {
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
	for name, c := range b.surface.types {
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
