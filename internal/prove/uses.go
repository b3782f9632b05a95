package prove

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// maxUses is how many functions are added for what functions return.
const maxUses = 150

// noUses are packages whose values are not used when a function returns one: what they do depends on more than calls.
var noUses = append([]string{"sync", "sync/atomic", "time", "reflect", "log", "log/slog", "net/http", "go/types", "math/rand", "math/rand/v2", "crypto/rand"}, noConstructors...)

// addUses adds what can be done with what functions of the package return: calls of functions, methods of interfaces, and
// methods of types from elsewhere. Those of the package's own types are there already.
func (s *surface) addUses() {
	first := len(s.entries)
	for i := 0; i < len(s.entries) && len(s.entries)-first < maxUses; i++ { // it grows
		if e := s.entries[i]; e.key != "" || i >= first {
			for _, t := range e.results {
				s.addUsesOf(t)
			}
		}
	}
}

// uses returns what can be done with a result.
func (s *surface) uses(t types.Type) []*entry { return s.methods[s.baseKey(t)] }

func (s *surface) addUsesOf(t types.Type) {
	if s.used[s.baseKey(t)] || isErrorType(t) {
		return
	}
	s.used[s.baseKey(t)] = true
	switch u := t.Underlying().(type) {
	case *types.Signature:
		if !isIterator(u) {
			s.addCall(t, u)
		}
	case *types.Interface:
		if s.reads(t) {
			s.addReadAll(t)
		} else {
			s.addMethods(t, types.NewMethodSet(t))
		}
	default:
		named, ok := types.Unalias(base(t)).(*types.Named)
		if !ok || named.Obj().Pkg() == nil || named.Obj().Pkg() == s.new.pkg.Types || knownType(s.new.typeKey(t)) != 0 {
			return
		}
		if _, ok := named.Underlying().(*types.Struct); ok && s.canImport(named.Obj().Pkg().Path()) {
			p := types.NewPointer(named)
			s.addMethods(p, types.NewMethodSet(p))
		}
	}
}

// use adds an entry for something that can be done with a t, unless what it takes is another type now.
func (s *surface) use(t types.Type, e *entry) {
	e.inOld = true
	if s.incomparable(e) != "" {
		return
	}
	e.id = len(s.entries)
	s.entries = append(s.entries, e)
	k := s.baseKey(t)
	s.methods[k] = append(s.methods[k], e)
}

// addCall adds the call of a function that was returned.
func (s *surface) addCall(t types.Type, sig *types.Signature) {
	e := &entry{name: "function", method: true, called: true}
	e.fill(sig)
	var params, args []string
	for i, p := range e.params {
		params = append(params, fmt.Sprintf("a%d %s", i, s.spell(p)))
		args = append(args, fmt.Sprintf("a%d", i))
	}
	dots := ""
	if e.variadic {
		n := len(e.params) - 1
		params[n] = fmt.Sprintf("a%d ...%s", n, s.spell(e.params[n].(*types.Slice).Elem()))
		dots = "..."
	}
	results := make([]string, len(e.results))
	for i, r := range e.results {
		results[i] = s.spell(r)
	}
	give := ""
	if len(results) > 0 {
		give = "return "
	}
	e.expr = fmt.Sprintf("func(%s) (%s) { %sf(%s%s) }", strings.Join(append([]string{"f " + s.spell(t)}, params...), ", "),
		strings.Join(results, ", "), give, strings.Join(args, ", "), dots)
	e.params = append([]types.Type{t}, e.params...)
	s.use(t, e)
}

// addMethods adds methods by their expressions.
func (s *surface) addMethods(t types.Type, set *types.MethodSet) {
	name := types.TypeString(t, func(p *types.Package) string {
		if p == s.new.pkg.Types {
			return ""
		}
		return p.Name()
	})
	spelled := s.spell(t)
	if strings.HasPrefix(spelled, "*") || strings.HasPrefix(spelled, "interface") {
		spelled = "(" + spelled + ")"
		name = "(" + name + ")"
	}
	for m := range set.Methods() {
		fn, ok := m.Obj().(*types.Func)
		if !ok || !token.IsExported(fn.Name()) && fn.Pkg() != s.new.pkg.Types || s.dangerousMethod(t, fn) {
			continue
		}
		sig, ok := m.Type().(*types.Signature)
		if !ok || sig.Params().Len() > 3 {
			continue
		}
		e := &entry{name: name + "." + fn.Name(), expr: spelled + "." + fn.Name(), method: true}
		e.fill(sig)
		e.params = append([]types.Type{t}, e.params...)
		if slices.ContainsFunc(e.params[1:], s.foreign) || slices.ContainsFunc(e.results, s.foreign) {
			continue
		}
		s.use(t, e)
	}
}

// foreign reports whether the code of a worker cannot name a type.
func (s *surface) foreign(t types.Type) bool {
	found := false
	types.TypeString(t, func(p *types.Package) string {
		found = found || p != s.new.pkg.Types && !s.canImport(p.Path())
		return ""
	})
	return found
}

// dangerousMethod reports whether a method may do things that stay: itself, or where a type of the package has it.
func (s *surface) dangerousMethod(t types.Type, fn *types.Func) bool {
	if p := fn.Pkg(); p != nil && p != s.new.pkg.Types && slices.Contains(noUses, p.Path()) {
		return true
	}
	for _, v := range []*side{s.old, s.new} {
		if s.danger.from(v.name()+" "+fn.Origin().FullName()) != "" {
			return true
		}
	}
	if !types.IsInterface(t) {
		return false
	}
	for _, v := range []*side{s.old, s.new} {
		for key := range v.decls {
			if of, name, ok := strings.Cut(key, "."); ok && of != "" && name == fn.Name() {
				if what, _ := s.forbids(key); what != "" {
					return true
				}
			}
		}
	}
	return false
}

// reads reports whether a type is an interface of a reader.
func (s *surface) reads(t types.Type) bool {
	p := s.new.pkg.Imports["io"]
	if p == nil || !s.canImport("io") {
		return false
	}
	r, ok := p.Types.Scope().Lookup("Reader").Type().Underlying().(*types.Interface)
	return ok && types.Implements(t, r)
}

const readAllName = "io.ReadAll"

// addReadAll adds that a reader is read.
func (s *surface) addReadAll(t types.Type) {
	io := s.importName(s.new.pkg.Imports["io"].Types)
	errType := types.Universe.Lookup("error").Type()
	s.use(t, &entry{
		name: readAllName, params: []types.Type{t}, results: []types.Type{types.NewSlice(types.Typ[types.Byte]), errType},
		expr: fmt.Sprintf("func(r %s) ([]byte, error) { return %s.ReadAll(%s.LimitReader(r, 1<<20)) }", s.spell(t), io, io),
	})
}

func isErrorType(t types.Type) bool {
	return types.Identical(t, types.Universe.Lookup("error").Type())
}

// isIterator reports whether a function yields values; those are looked at without a call.
func isIterator(sig *types.Signature) bool {
	if sig.Params().Len() != 1 || sig.Results().Len() != 0 {
		return false
	}
	yield, ok := sig.Params().At(0).Type().Underlying().(*types.Signature)
	if !ok || yield.Variadic() || yield.Results().Len() != 1 {
		return false
	}
	b, ok := yield.Results().At(0).Type().Underlying().(*types.Basic)
	return ok && b.Kind() == types.Bool
}
