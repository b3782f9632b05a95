package prove

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// Limits of the types that are taken from tests, and made up for the tags that code asks for.
const (
	mostTested  = 24
	mostTagKeys = 3
	mostOptions = 10
)

// addTested adds the types of what tests pass as anything, such as structs with tags. A type that a test declares is added without its
// name, which other code does not have.
func (s *surface) addTested() {
	for _, v := range []*side{s.old, s.new} {
		s.addTestedOf(v, v.pkg.TypesInfo, v.pkg.Syntax)
		if v.outer != nil {
			s.addTestedOf(v, v.outer.TypesInfo, v.outer.Syntax)
		}
	}
}

func (s *surface) addTestedOf(v *side, info *types.Info, files []*ast.File) {
	add := func(e ast.Expr, to types.Type) {
		if to == nil || !types.IsInterface(to) || isErrorType(to) || len(s.tested) >= mostTested {
			return
		}
		t := info.TypeOf(e)
		if t == nil || types.IsInterface(t) {
			return
		}
		if t = s.renew(v, types.Default(t), 0); t == nil {
			return
		}
		name := s.spell(t)
		if s.types[name] != nil {
			return
		}
		s.types[name] = t
		s.tested = append(s.tested, name)
		if st, ok := types.Unalias(base(t)).(*types.Struct); ok {
			p := types.NewPointer(st)
			s.types[s.spell(p)] = p
			s.made = append(s.made, st)
		}
	}
	for _, f := range files {
		if !strings.HasSuffix(v.pkg.Fset.File(f.Pos()).Name(), "_test.go") {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				sig, ok := info.TypeOf(n.Fun).(*types.Signature)
				if !ok || !s.calledIn(v, info, n) {
					return true
				}
				for i, a := range n.Args {
					if i < sig.Params().Len() && (!sig.Variadic() || i < sig.Params().Len()-1) {
						add(a, sig.Params().At(i).Type())
					}
				}
			case *ast.CompositeLit: // a row of a table
				st, ok := info.TypeOf(n).Underlying().(*types.Struct)
				if !ok {
					return true
				}
				for i, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						if id, ok := kv.Key.(*ast.Ident); ok {
							for f := range st.Fields() {
								if f.Name() == id.Name {
									add(kv.Value, f.Type())
								}
							}
						}
					} else if i < st.NumFields() {
						add(e, st.Field(i).Type())
					}
				}
			}
			return true
		})
	}
}

// calledIn reports whether a call is one of a function of the package.
func (s *surface) calledIn(v *side, info *types.Info, call *ast.CallExpr) bool {
	var id *ast.Ident
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		id = fun
	case *ast.SelectorExpr:
		id = fun.Sel
	}
	if id == nil || info.Uses[id] == nil || info.Uses[id].Pkg() == nil {
		return false
	}
	return strings.TrimSuffix(info.Uses[id].Pkg().Path(), "_test") == v.pkg.PkgPath
}

// renew returns a type of a version, or of its tests, as the code of workers can name it; nil where it cannot. What a test declares is
// taken without its name and its methods.
func (s *surface) renew(v *side, t types.Type, depth int) types.Type {
	if depth > 5 {
		return nil
	}
	of := func(t types.Type) types.Type { return s.renew(v, t, depth+1) }
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		if t.Kind() != types.UnsafePointer && t.Info()&types.IsUntyped == 0 {
			return t
		}
	case *types.Pointer:
		if e := of(t.Elem()); e != nil {
			return types.NewPointer(e)
		}
	case *types.Slice:
		if e := of(t.Elem()); e != nil {
			return types.NewSlice(e)
		}
	case *types.Array:
		if e := of(t.Elem()); e != nil && t.Len() <= 64 {
			return types.NewArray(e, t.Len())
		}
	case *types.Map:
		if k, e := of(t.Key()), of(t.Elem()); k != nil && e != nil {
			return types.NewMap(k, e)
		}
	case *types.Interface:
		if t.NumMethods() == 0 {
			return t
		}
	case *types.Struct:
		var fields []*types.Var
		var tags []string
		for i := range t.NumFields() {
			f := t.Field(i)
			if !f.Exported() || f.Embedded() {
				continue
			}
			e := of(f.Type())
			if e == nil {
				continue
			}
			fields = append(fields, types.NewField(token.NoPos, nil, f.Name(), e, false))
			tags = append(tags, t.Tag(i))
		}
		if len(fields) > 0 {
			return types.NewStruct(fields, tags)
		}
	case *types.Named:
		p := t.Obj().Pkg()
		switch {
		case p == nil || t.TypeArgs().Len() > 0:
			return nil
		case strings.TrimSuffix(p.Path(), "_test") != v.pkg.PkgPath:
			if t.Obj().Exported() && s.canImport(p.Path()) && !slices.Contains(noUses[1:], p.Path()) || p.Path() == "time" && s.canImport("time") {
				return t
			}
		default:
			if d := s.new.decls[t.Obj().Name()]; d != nil && !d.test && p.Path() == v.pkg.PkgPath {
				now, ok := d.obj.(*types.TypeName)
				if !ok || now.IsAlias() || s.reshaped(now.Type(), 0) != "" {
					return nil
				}
				return now.Type()
			}
			return of(t.Underlying())
		}
	}
	return nil
}

// holdable returns how the code of workers names a type that an interface may hold.
func (m *seedMaker) holdable(t types.Type) (string, bool) {
	if t = m.renew(m.side, t, 0); t == nil {
		return "", false
	}
	name := m.spell(t)
	return name, m.surface.types[name] != nil
}

var optionText = lazily(`^[a-z]{3,12}$`)

// tags returns the keys that the code looks for in the tags of structs, and words that it compares with, which options in tags may be.
// Those of what changed come first.
func (s *surface) tags() (keys, options []string) {
	var later []string
	for _, key := range sortedKeys(s.new.decls) {
		d := s.new.decls[key]
		if d.test {
			continue
		}
		far, affected := s.changes[key]
		word := func(e ast.Expr) {
			if tv := s.new.pkg.TypesInfo.Types[e]; tv.Value != nil && tv.Value.Kind() == constant.String {
				if text := constant.StringVal(tv.Value); optionText().MatchString(text) {
					if affected && far == 0 {
						options = append(options, text)
					} else {
						later = append(later, text)
					}
				}
			}
		}
		ast.Inspect(d.node, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					word(n.X)
					word(n.Y)
				}
			case *ast.CaseClause:
				for _, e := range n.List {
					word(e)
				}
			case *ast.CallExpr:
				sel, ok := n.Fun.(*ast.SelectorExpr)
				if !ok || len(n.Args) != 1 {
					return true
				}
				fn, _ := s.new.pkg.TypesInfo.Uses[sel.Sel].(*types.Func)
				if fn != nil && (fn.FullName() == "(reflect.StructTag).Get" || fn.FullName() == "(reflect.StructTag).Lookup") {
					if tv := s.new.pkg.TypesInfo.Types[n.Args[0]]; tv.Value != nil && tv.Value.Kind() == constant.String {
						keys = append(keys, constant.StringVal(tv.Value))
					}
				} else {
					word(n.Args[0])
				}
			}
			return true
		})
	}
	keys = unique(keys)
	keys = keys[:min(len(keys), mostTagKeys)]
	for _, w := range append(unique(options), unique(later)...) {
		if !slices.Contains(keys, w) && len(options) < mostOptions {
			options = append(options, w)
		}
	}
	options = unique(options)
	return keys, options[:min(len(options), mostOptions)]
}

// optionStruct makes a struct whose tags have an option, with fields of several kinds.
func optionStruct(keys []string, option string) *types.Struct {
	basic := func(k types.BasicKind) types.Type { return types.Typ[k] }
	inner := types.NewStruct([]*types.Var{types.NewField(token.NoPos, nil, "A", basic(types.Int), false), types.NewField(token.NoPos, nil, "B", basic(types.String), false)}, nil)
	var fields []*types.Var
	var tags []string
	for _, f := range []struct {
		name string
		of   types.Type
	}{
		{"A", types.NewSlice(basic(types.String))}, {"B", basic(types.String)}, {"C", basic(types.Int)}, {"D", basic(types.Bool)},
		{"E", types.NewPointer(basic(types.Int))}, {"F", types.NewArray(basic(types.Int), 2)}, {"G", inner}, {"H", types.NewMap(basic(types.String), basic(types.Int))},
	} {
		fields = append(fields, types.NewField(token.NoPos, nil, f.name, f.of, false))
		var parts []string
		for _, key := range keys {
			parts = append(parts, key+`:"`+strings.ToLower(f.name)+","+option+`"`)
		}
		tags = append(tags, strings.Join(parts, " "))
	}
	return types.NewStruct(fields, tags)
}

// shared reports whether both versions can make a value that was read from code: a field that only one of them has says something to that
// one alone.
func (s *surface) shared(v *worker.Value, t types.Type) bool {
	if v.Kind == worker.Iface && len(v.Elems) == 1 {
		t = s.types[v.Text]
		return t != nil && s.shared(&v.Elems[0], t)
	}
	all := func(t types.Type) bool {
		return !slices.ContainsFunc(v.Elems, func(e worker.Value) bool { return !s.shared(&e, t) })
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return all(u.Elem())
	case *types.Slice:
		return all(u.Elem())
	case *types.Array:
		return all(u.Elem())
	case *types.Map:
		for i := range v.Elems {
			if of := []types.Type{u.Key(), u.Elem()}[i%2]; !s.shared(&v.Elems[i], of) {
				return false
			}
		}
	case *types.Struct:
		var rules []fieldRule
		named, _ := structOf(t)
		own := named != nil && named.Obj().Pkg() == s.new.pkg.Types
		if own {
			rules = s.rules[named.Obj().Name()]
		}
		for i, name := range v.Names {
			if own && !slices.ContainsFunc(rules, func(r fieldRule) bool { return r.name == name }) {
				return false
			}
			for f := range u.Fields() {
				if f.Name() == name && i < len(v.Elems) && !s.shared(&v.Elems[i], f.Type()) {
					return false
				}
			}
		}
	}
	return true
}

// sharedLiteral is shared for a literal in the code of a version.
func (s *surface) sharedLiteral(v *side, val *worker.Value, t types.Type) bool {
	if t = s.renew(v, t, 0); t == nil {
		return true // what only tests have is never asked for
	}
	return s.shared(val, t)
}
