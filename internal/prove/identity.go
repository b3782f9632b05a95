package prove

import (
	"go/types"
	"go/version"
	"strings"
)

// sameType reports whether a type of the old version is the same as one of the new: as types.Identical does within one version, with
// packages of the change taken for each other. Names of parameters, results and type parameters, and tags of fields, do not count.
func (p *pair) sameType(old, now types.Type) bool {
	old, now = types.Unalias(old), types.Unalias(now)
	switch a := old.(type) {
	case nil:
		return now == nil
	case *types.Basic:
		b, ok := now.(*types.Basic)
		return ok && a.Kind() == b.Kind()
	case *types.Named:
		b, ok := now.(*types.Named)
		return ok && a.Obj().Name() == b.Obj().Name() && p.samePackage(a.Obj().Pkg(), b.Obj().Pkg()) && p.sameList(a.TypeArgs(), b.TypeArgs())
	case *types.Pointer:
		b, ok := now.(*types.Pointer)
		return ok && p.sameType(a.Elem(), b.Elem())
	case *types.Slice:
		b, ok := now.(*types.Slice)
		return ok && p.sameType(a.Elem(), b.Elem())
	case *types.Array:
		b, ok := now.(*types.Array)
		return ok && a.Len() == b.Len() && p.sameType(a.Elem(), b.Elem())
	case *types.Chan:
		b, ok := now.(*types.Chan)
		return ok && a.Dir() == b.Dir() && p.sameType(a.Elem(), b.Elem())
	case *types.Map:
		b, ok := now.(*types.Map)
		return ok && p.sameType(a.Key(), b.Key()) && p.sameType(a.Elem(), b.Elem())
	case *types.Struct:
		b, ok := now.(*types.Struct)
		return ok && p.sameFields(a, b)
	case *types.Tuple:
		b, ok := now.(*types.Tuple)
		return ok && p.sameTuple(a, b)
	case *types.Signature:
		b, ok := now.(*types.Signature)
		return ok && a.Variadic() == b.Variadic() && p.sameParams(a.TypeParams(), b.TypeParams()) &&
			p.sameTuple(a.Params(), b.Params()) && p.sameTuple(a.Results(), b.Results())
	case *types.Interface:
		b, ok := now.(*types.Interface)
		return ok && p.sameInterface(a, b)
	case *types.Union:
		b, ok := now.(*types.Union)
		return ok && p.sameUnion(a, b)
	case *types.TypeParam:
		b, ok := now.(*types.TypeParam)
		return ok && a.Index() == b.Index()
	}
	return false
}

// sameReceiver reports whether a function has the same receiver in both versions, or none.
func (p *pair) sameReceiver(old, now *types.Func) bool {
	a, b := old.Signature().Recv(), now.Signature().Recv()
	if a == nil || b == nil {
		return a == b
	}
	return p.sameType(a.Type(), b.Type())
}

// samePackage reports whether two packages are two versions of one.
func (p *pair) samePackage(old, now *types.Package) bool {
	if old == nil || now == nil {
		return old == now
	}
	return p.old.pathKey(old) == p.new.pathKey(now)
}

// pathKey spells a package the same in both versions: "" is the one that is compared.
func (s *side) pathKey(p *types.Package) string {
	if p == s.pkg.Types || p.Path() == s.pkg.Types.Path() {
		return ""
	}
	if root := s.root(); root != "" {
		if rest, ok := strings.CutPrefix(p.Path(), root); ok && (rest == "" || rest[0] == '/') {
			return "~" + rest
		}
	}
	if m := s.pkg.Module; m != nil {
		if rest, ok := strings.CutPrefix(p.Path(), m.Path); ok && (rest == "" || rest[0] == '/') {
			return "~~" + rest
		}
	}
	return p.Path()
}

// root is the import path of the folder of the version, of which two of one module may be compared. It is "" when that has none.
func (s *side) root() string {
	if s.rel == "." {
		return s.pkg.PkgPath
	}
	root, ok := strings.CutSuffix(s.pkg.PkgPath, "/"+s.rel)
	if !ok {
		return ""
	}
	return root
}

func (p *pair) sameList(a, b *types.TypeList) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		if !p.sameType(a.At(i), b.At(i)) {
			return false
		}
	}
	return true
}

func (p *pair) sameParams(a, b *types.TypeParamList) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		if !p.sameType(a.At(i).Constraint(), b.At(i).Constraint()) {
			return false
		}
	}
	return true
}

func (p *pair) sameTuple(a, b *types.Tuple) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		if !p.sameType(a.At(i).Type(), b.At(i).Type()) {
			return false
		}
	}
	return true
}

func (p *pair) sameFields(a, b *types.Struct) bool {
	if a.NumFields() != b.NumFields() {
		return false
	}
	for i := range a.NumFields() {
		f, g := a.Field(i), b.Field(i)
		if f.Name() != g.Name() || f.Embedded() != g.Embedded() || !f.Exported() && !p.samePackage(f.Pkg(), g.Pkg()) || !p.sameType(f.Type(), g.Type()) {
			return false
		}
	}
	return true
}

// sameInterface compares all methods, however they come into the interface, and the terms of constraints.
func (p *pair) sameInterface(a, b *types.Interface) bool {
	if a.NumMethods() != b.NumMethods() || a.IsComparable() != b.IsComparable() || a.IsMethodSet() != b.IsMethodSet() {
		return false
	}
	methods := make(map[string]*types.Func)
	for m := range b.Methods() {
		methods[m.Name()] = m
	}
	for m := range a.Methods() {
		n := methods[m.Name()]
		if n == nil || !m.Exported() && !p.samePackage(m.Pkg(), n.Pkg()) || !p.sameType(m.Type(), n.Type()) {
			return false
		}
	}
	if a.IsMethodSet() {
		return true
	}
	if a.NumEmbeddeds() != b.NumEmbeddeds() {
		return false
	}
	for i := range a.NumEmbeddeds() {
		if !p.sameType(a.EmbeddedType(i), b.EmbeddedType(i)) {
			return false
		}
	}
	return true
}

func (p *pair) sameUnion(a, b *types.Union) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		if a.Term(i).Tilde() != b.Term(i).Tilde() || !p.sameType(a.Term(i).Type(), b.Term(i).Type()) {
			return false
		}
	}
	return true
}

// The interface without methods can be spelled "interface{}" and "any". That of any is spelled "any" by Go 1.26 where the alias is resolved, too.
var (
	spelledInterface = types.NewInterfaceType(nil, nil)
	spelledAny       = types.Universe.Lookup("any").Type()
)

// empty returns the one that both versions can spell. It is any unless the go.mod of one of them names an older language.
func (s *surface) empty() types.Type {
	for _, v := range []*side{s.old, s.new} {
		if m := v.pkg.Module; m != nil && version.Compare("go"+m.GoVersion, "go1.18") < 0 {
			return spelledInterface
		}
	}
	return spelledAny
}

// plain returns t without the names of parameters and results, without the aliases that only chosen packages have, and with one of the interfaces
// without methods: how a type is spelled would depend on them.
func plain(t, empty types.Type, unalias func(*types.Alias) bool) types.Type {
	in := func(t types.Type) types.Type { return plain(t, empty, unalias) }
	switch t := t.(type) {
	case *types.Interface:
		if t.NumMethods() == 0 && t.NumEmbeddeds() == 0 {
			return empty
		}
	case *types.Alias:
		if unalias(t) {
			return in(t.Rhs())
		}
	case *types.Pointer:
		return types.NewPointer(in(t.Elem()))
	case *types.Slice:
		return types.NewSlice(in(t.Elem()))
	case *types.Array:
		return types.NewArray(in(t.Elem()), t.Len())
	case *types.Chan:
		return types.NewChan(t.Dir(), in(t.Elem()))
	case *types.Map:
		return types.NewMap(in(t.Key()), in(t.Elem()))
	case *types.Signature:
		if t.TypeParams().Len() == 0 && t.Recv() == nil {
			return types.NewSignatureType(nil, nil, nil, plainTuple(t.Params(), in), plainTuple(t.Results(), in), t.Variadic())
		}
	case *types.Named:
		if t.TypeArgs().Len() == 0 {
			break
		}
		var args []types.Type
		for a := range t.TypeArgs().Types() {
			args = append(args, in(a))
		}
		if u, err := types.Instantiate(nil, t.Origin(), args, false); err == nil {
			return u
		}
	}
	return t
}

func plainTuple(t *types.Tuple, in func(types.Type) types.Type) *types.Tuple {
	vars := make([]*types.Var, t.Len())
	for i := range vars {
		vars[i] = types.NewParam(0, nil, "", in(t.At(i).Type()))
	}
	return types.NewTuple(vars...)
}
