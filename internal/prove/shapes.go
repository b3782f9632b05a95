package prove

import (
	"cmp"
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// A fieldRule says what a field of a struct is to the comparison, and whether it may be filled.
type fieldRule struct {
	name   string
	inside bool // only the package can see it
	set    bool // somebody sets it in a literal
}

// incomparable says why what a function takes or returns cannot be held against each other.
func (s *surface) incomparable(e *entry) string {
	for _, t := range slices.Concat(e.params, e.results) {
		if name := s.reshaped(t, 0); name != "" {
			return "type " + name + " changed"
		}
	}
	return ""
}

// reshaped returns the name of a type in t that has another shape in the old version. Structs are compared field by
// field, and whole numbers as numbers.
func (s *surface) reshaped(t types.Type, depth int) string {
	if depth > 8 {
		return ""
	}
	switch t := t.(type) {
	case *types.Alias:
		return s.reshaped(types.Unalias(t), depth)
	case *types.Pointer:
		return s.reshaped(t.Elem(), depth+1)
	case *types.Slice:
		return s.reshaped(t.Elem(), depth+1)
	case *types.Array:
		return s.reshaped(t.Elem(), depth+1)
	case *types.Map:
		return cmp.Or(s.reshaped(t.Key(), depth+1), s.reshaped(t.Elem(), depth+1))
	case *types.Chan:
		return s.reshaped(t.Elem(), depth+1)
	case *types.Signature:
		for _, list := range []*types.Tuple{t.Params(), t.Results()} {
			for v := range list.Variables() {
				if name := s.reshaped(v.Type(), depth+1); name != "" {
					return name
				}
			}
		}
	case *types.Named:
		if t.Obj().Pkg() != s.new.pkg.Types {
			return ""
		}
		was, ok := s.old.pkg.Types.Scope().Lookup(t.Obj().Name()).(*types.TypeName)
		if !ok {
			return t.Obj().Name()
		}
		a, b := was.Type().Underlying(), t.Underlying()
		if _, ok := b.(*types.Struct); ok {
			if _, ok := a.(*types.Struct); ok {
				return ""
			}
			return t.Obj().Name()
		}
		if isInteger(a) && isInteger(b) || s.sameType(a, b) || t.TypeArgs() != nil {
			return ""
		}
		return t.Obj().Name()
	}
	return ""
}

func isInteger(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsInteger != 0
}

// typeKey spells a type the same in both versions, for maps.
func (s *side) typeKey(t types.Type) string {
	return types.TypeString(plain(t, spelledInterface, func(*types.Alias) bool { return true }), s.pathKey)
}

// compareStructs finds the fields that the structs of both versions have.
func (s *surface) compareStructs() {
	literals := make(map[string]bool)
	kept := make(map[string]bool) // what the package itself sets afterwards is for it to keep in order
	for _, f := range s.new.pkg.Syntax {
		sets := kept
		if strings.HasSuffix(s.new.pkg.Fset.File(f.Pos()).Name(), "_test.go") {
			sets = literals // what tests set is for callers to set
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if set, ok := n.(*ast.AssignStmt); ok {
				for _, x := range set.Lhs {
					if sel, ok := x.(*ast.SelectorExpr); ok {
						if named, _ := structOf(s.new.pkg.TypesInfo.TypeOf(sel.X)); named != nil {
							sets[named.Obj().Name()+"."+sel.Sel.Name] = true
						}
					}
				}
			}
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			named, st := structOf(s.new.pkg.TypesInfo.TypeOf(lit))
			if named == nil {
				return true
			}
			for i, e := range lit.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					if id, ok := kv.Key.(*ast.Ident); ok {
						literals[named.Obj().Name()+"."+id.Name] = true
					}
				} else if i < st.NumFields() {
					literals[named.Obj().Name()+"."+st.Field(i).Name()] = true
				}
			}
			return true
		})
	}
	for key, d := range s.new.decls {
		tn, ok := d.obj.(*types.TypeName)
		if !ok {
			continue
		}
		named, st := structOf(tn.Type())
		was, ok := s.old.pkg.Types.Scope().Lookup(key).(*types.TypeName)
		if named == nil || !ok {
			continue
		}
		_, before := structOf(was.Type())
		if before == nil {
			continue
		}
		typesBefore := make(map[string]types.Type)
		for f := range before.Fields() {
			typesBefore[f.Name()] = f.Type()
		}
		s.recast[key] = !s.sameFieldsOf(before, st)
		plain := named.NumMethods() == 0
		rules := []fieldRule{}
		for f := range st.Fields() {
			if typesBefore[f.Name()] == nil || !s.sameType(typesBefore[f.Name()], f.Type()) || f.Name() == "_" || s.reshaped(f.Type(), 0) != "" {
				continue
			}
			name := key + "." + f.Name()
			rules = append(rules, fieldRule{f.Name(), !f.Exported() && !plain, literals[name] || f.Exported() && (plain || !kept[name])})
		}
		s.rules[key] = rules
	}
}

// sameFieldsOf reports whether two structs have the same fields, in any order.
func (s *surface) sameFieldsOf(old, now *types.Struct) bool {
	if old.NumFields() != now.NumFields() {
		return false
	}
	for f := range now.Fields() {
		if !slices.ContainsFunc(slices.Collect(old.Fields()), func(g *types.Var) bool { return g.Name() == f.Name() && s.sameType(g.Type(), f.Type()) }) {
			return false
		}
	}
	return true
}

// holdsRecast reports whether there is a struct in t that has other fields now. Whoever prints it, whatever it is, prints that.
func (s *surface) holdsRecast(t types.Type, depth int) bool {
	if depth > 5 {
		return false
	}
	if named, ok := types.Unalias(t).(*types.Named); ok && named.Obj().Pkg() == s.new.pkg.Types && s.recast[named.Obj().Name()] {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return s.holdsRecast(u.Elem(), depth+1)
	case *types.Slice:
		return s.holdsRecast(u.Elem(), depth+1)
	case *types.Array:
		return s.holdsRecast(u.Elem(), depth+1)
	case *types.Map:
		return s.holdsRecast(u.Key(), depth+1) || s.holdsRecast(u.Elem(), depth+1)
	case *types.Struct:
		for f := range u.Fields() {
			if s.holdsRecast(f.Type(), depth+1) {
				return true
			}
		}
	}
	return false
}

// structOf returns the named struct that t is or points to, or nil.
func structOf(t types.Type) (*types.Named, *types.Struct) {
	if t == nil {
		return nil, nil
	}
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	named, ok := t.(*types.Named)
	if !ok {
		return nil, nil
	}
	st, ok := named.Underlying().(*types.Struct)
	if !ok {
		return nil, nil
	}
	return named, st
}

func isBasic(t types.Type) bool {
	_, ok := t.Underlying().(*types.Basic)
	return ok
}

// base returns what t points to, or t.
func base(t types.Type) types.Type {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

func (s *surface) baseKey(t types.Type) string { return s.new.typeKey(base(t)) }
