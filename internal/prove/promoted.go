package prove

import (
	"cmp"
	"go/token"
	"go/types"
	"slices"
)

// Limits of the methods of embedded types that are called.
const (
	mostPromoted  = 200 // of a package
	mostElsewhere = 12  // of a type, from other packages: where there are more, its own methods would seldom have their turn
)

// public returns the key by which callers know a function.
func (e *entry) public() string { return cmp.Or(e.outer, e.key) }

// is reports whether an entry is that of a target, or calls it on a value that embeds its receiver.
func (t *target) is(e *entry) bool { return e == t.entry || e.outer != "" && e.key == t.key }

// addPromoted adds the methods that types of the package have from what they embed. The types come first that functions have to do with
// which are compared.
func (s *surface) addPromoted() {
	left := mostPromoted
	for _, named := range s.embedding() {
		list := s.promotedOf(named)
		if len(list) > left {
			continue
		}
		left -= len(list)
		for _, e := range list {
			if at := slices.IndexFunc(s.entries, func(o *entry) bool { return e.key != "" && o.key == e.key && o.outer == "" }); at >= 0 {
				s.through[at] = append(s.through[at], e)
			}
			s.use(e.params[0], e)
		}
	}
}

// embedding returns the structs of the package that embed something.
func (s *surface) embedding() (out []*types.Named) {
	had := make(map[string]bool)
	add := func(t types.Type) {
		named, st := structOf(t)
		if st == nil || named.Obj().Pkg() != s.new.pkg.Types || had[s.baseKey(named)] {
			return
		}
		had[s.baseKey(named)] = true
		for f := range st.Fields() {
			if f.Embedded() {
				out = append(out, named)
				return
			}
		}
	}
	for _, t := range s.targets {
		if t.entry == nil {
			continue
		}
		for _, of := range slices.Concat(t.params, t.results) {
			add(of)
		}
	}
	for _, key := range sortedKeys(s.new.decls) {
		d := s.new.decls[key]
		tn, ok := d.obj.(*types.TypeName)
		if !ok || d.test || tn.IsAlias() {
			continue
		}
		named, ok := tn.Type().(*types.Named)
		if ok && named.TypeParams().Len() > 0 {
			named, ok = s.instantiateNamed(named)
		}
		if ok {
			add(named)
		}
	}
	return out
}

// promotedOf returns the methods that both versions of a type have, and the new one from what it embeds.
func (s *surface) promotedOf(named *types.Named) (own []*entry) {
	name := named.Obj().Name()
	was, ok := s.old.pkg.Types.Scope().Lookup(name).(*types.TypeName)
	if !ok || types.IsInterface(was.Type()) {
		return nil
	}
	p := types.NewPointer(named)
	var elsewhere []*entry
	for m := range types.NewMethodSet(p).Methods() {
		fn, ok := m.Obj().(*types.Func)
		if !ok || len(m.Index()) < 2 || !token.IsExported(fn.Name()) && fn.Pkg() != s.new.pkg.Types || !s.embeds(named, m.Index()) {
			continue
		}
		old, _, _ := types.LookupFieldOrMethod(types.NewPointer(was.Type()), true, s.old.pkg.Types, fn.Name())
		now, _, _ := types.LookupFieldOrMethod(types.NewPointer(named.Origin()), true, s.new.pkg.Types, fn.Name())
		before, ok := old.(*types.Func)
		if !ok || now == nil || !s.sameType(before.Type(), now.Type()) {
			continue
		}
		e := &entry{
			name: "(*" + name + ")." + fn.Name(), expr: "(*" + s.spell(named) + ")." + fn.Name(),
			key: s.new.keyOf(fn), outer: name + "." + fn.Name(), method: true,
		}
		if s.new.decls[e.key] == nil {
			e.key = "" // of an interface
		}
		e.fill(m.Type().(*types.Signature))
		e.params = append([]types.Type{p}, e.params...)
		if s.incomparable(e) != "" {
			continue
		}
		if e.key == "" {
			if s.callsElsewhere(e, fn) {
				elsewhere = append(elsewhere, e)
			}
			continue
		}
		forbidden := false
		for _, key := range []string{e.key, s.old.keyOf(before)} {
			what, refuses := s.forbids(key)
			forbidden = forbidden || what != ""
			e.refuses = e.refuses || refuses
		}
		if !forbidden {
			own = append(own, e)
		}
	}
	if len(elsewhere) <= mostElsewhere {
		own = append(own, elsewhere...)
	}
	return own
}

// embeds reports whether values of a type that are made up have what a method is promoted from, which is at the end of a path of fields. In
// a type without a constructor, a pointer or an interface that nobody sets is nil: each call would panic.
func (s *surface) embeds(named *types.Named, path []int) bool {
	if len(s.ctors[s.baseKey(named)]) > 0 {
		return true
	}
	var t types.Type = named
	for _, i := range path[:len(path)-1] {
		of, st := structOf(t)
		if st == nil {
			return true
		}
		f := st.Field(i)
		switch f.Type().Underlying().(type) {
		case *types.Pointer, *types.Interface:
			set := f.Exported()
			if of.Obj().Pkg() == s.new.pkg.Types {
				set = slices.ContainsFunc(s.rules[of.Obj().Name()], func(r fieldRule) bool { return r.name == f.Name() && r.set })
			}
			if !set {
				return false
			}
		}
		t = f.Type()
	}
	return true
}

// callsElsewhere reports whether a method of another package, or of an interface, is called on what embeds it: as one is of a value that a
// function returned.
func (s *surface) callsElsewhere(e *entry, fn *types.Func) bool {
	recv := fn.Signature().Recv()
	if recv == nil || len(e.params) > 4 || s.dangerousMethod(recv.Type(), fn) {
		return false
	}
	if knownType(s.new.typeKey(recv.Type())) != 0 || knownType("*"+s.baseKey(recv.Type())) != 0 {
		return false
	}
	return !slices.ContainsFunc(e.params[1:], s.foreign) && !slices.ContainsFunc(e.results, s.foreign)
}
