package rules

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/report/missing"
)

// A wholeStruct is the struct that has a field, and who sees more of it than the field: what it prints, compares or copies is another thing when the
// field gets another type.
type wholeStruct struct {
	f     *code.Func
	field *types.Var
	named []*types.Named // types of the package
	lent  bool           // the type parameter of a function of the package may stand for it
	has   map[types.Type]bool
}

func structOf(f *code.Func, field *types.Var) *wholeStruct {
	w := &wholeStruct{f: f, field: field, has: map[types.Type]bool{}}
	for _, o := range f.Info().Defs {
		if name, ok := o.(*types.TypeName); ok {
			if t, ok := types.Unalias(name.Type()).(*types.Named); ok && !types.IsInterface(t) {
				w.named = append(w.named, t)
			}
		}
	}
	for id, in := range f.Info().Instances {
		if o := f.Info().Uses[id]; o != nil && o.Pkg() == f.Pkg.Types && w.anyOf(in.TypeArgs) {
			w.lent = true
		}
	}
	clear(w.has) // which was found out without that
	return w
}

// seen says what in the package sees all of the struct, if anything does.
func (w *wholeStruct) seen() (why missing.Reason) {
	for _, file := range w.f.Pkg.Files {
		ast.Inspect(file.AST, func(n ast.Node) bool {
			if n != nil && why.Fact == "" {
				if fact := w.sees(n); fact != "" {
					why = fact.Of(file.Tok.Line(n.Pos()), w.field.Name())
				}
			}
			return why.Fact == ""
		})
	}
	return why
}

// sees says what one node does with the struct, or "".
func (w *wholeStruct) sees(n ast.Node) missing.Fact {
	info := w.f.Info()
	shown := func(e ast.Expr, as types.Type) missing.Fact {
		if e != nil && as != nil && w.shown(info.TypeOf(e), as) {
			return missing.StructShown
		}
		return ""
	}
	first := func(n int, of func(i int) missing.Fact) missing.Fact {
		for i := range n {
			if fact := of(i); fact != "" {
				return fact
			}
		}
		return ""
	}
	if e, ok := n.(ast.Expr); ok && w.copied(e) {
		return missing.StructCopied
	}
	switch n := n.(type) {
	case *ast.CallExpr:
		return w.called(n)
	case *ast.Ident:
		in, ok := info.Instances[n]
		if o := info.Uses[n]; ok && o != nil && o.Pkg() != w.f.Pkg.Types && w.anyOf(in.TypeArgs) && !slices.Contains([]string{"slices", "maps", "iter", "sync", "sync/atomic"}, o.Pkg().Path()) {
			return missing.StructShown
		}
	case *ast.BinaryExpr:
		if (n.Op == token.EQL || n.Op == token.NEQ) && (w.inside(info.TypeOf(n.X)) || w.inside(info.TypeOf(n.Y))) {
			return missing.StructCompared
		}
	case *ast.SwitchStmt:
		if n.Tag != nil && w.inside(info.TypeOf(n.Tag)) {
			return missing.StructCompared
		}
	case *ast.MapType:
		if w.inside(info.TypeOf(n.Key)) {
			return missing.StructCompared
		}
	case *ast.AssignStmt:
		if len(n.Lhs) == len(n.Rhs) {
			return first(len(n.Lhs), func(i int) missing.Fact { return shown(n.Rhs[i], info.TypeOf(n.Lhs[i])) })
		}
	case *ast.ValueSpec:
		if n.Type != nil {
			return first(len(n.Values), func(i int) missing.Fact { return shown(n.Values[i], info.TypeOf(n.Type)) })
		}
	case *ast.SendStmt:
		if ch, ok := info.TypeOf(n.Chan).Underlying().(*types.Chan); ok {
			return shown(n.Value, ch.Elem())
		}
	case *ast.ReturnStmt:
		if results := w.resultsOf(n); results != nil && results.Len() == len(n.Results) {
			return first(len(n.Results), func(i int) missing.Fact { return shown(n.Results[i], results.At(i).Type()) })
		}
	case *ast.IndexExpr:
		if m, ok := underlying(info.TypeOf(n.X)).(*types.Map); ok {
			return shown(n.Index, m.Key())
		}
	case *ast.CompositeLit:
		return first(len(n.Elts), func(i int) missing.Fact { return w.element(n, i) })
	}
	return ""
}

// underlying returns the underlying type of one that may be nil.
func underlying(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	return t.Underlying()
}

// element says whether an element of a literal is the struct, as an interface.
func (w *wholeStruct) element(lit *ast.CompositeLit, i int) missing.Fact {
	info := w.f.Info()
	value := lit.Elts[i]
	kv, keyed := value.(*ast.KeyValueExpr)
	if keyed {
		value = kv.Value
	}
	var as types.Type
	switch t := underlying(deref(info.TypeOf(lit))).(type) {
	case *types.Slice:
		as = t.Elem()
	case *types.Array:
		as = t.Elem()
	case *types.Map:
		as = t.Elem()
		if keyed && w.shown(info.TypeOf(kv.Key), t.Key()) {
			return missing.StructShown
		}
	case *types.Struct:
		if !keyed {
			as = t.Field(i).Type()
		} else if v, ok := info.ObjectOf(code.AsIdent(kv.Key)).(*types.Var); ok {
			as = v.Type()
		}
	}
	if as != nil && w.shown(info.TypeOf(value), as) {
		return missing.StructShown
	}
	return ""
}

// resultsOf returns the types that a function returns.
func (w *wholeStruct) resultsOf(ret *ast.ReturnStmt) *types.Tuple {
	above := w.f.Pkg.Above()
	for n := above[ret]; n != nil; n = above[n] {
		switch fn := n.(type) {
		case *ast.FuncLit:
			return w.f.TypeOf(fn).(*types.Signature).Results()
		case *ast.FuncDecl:
			return w.f.Info().Defs[fn.Name].(*types.Func).Signature().Results()
		}
	}
	return nil
}

// called says what a call sees of what it is given.
func (w *wholeStruct) called(call *ast.CallExpr) missing.Fact {
	info := w.f.Info()
	if tv := info.Types[call.Fun]; tv.IsType() {
		if b, ok := tv.Type.Underlying().(*types.Basic); ok && b.Kind() == types.UnsafePointer && w.in(info.TypeOf(call.Args[0])) {
			return missing.StructMeasured
		}
		if w.shown(info.TypeOf(call.Args[0]), tv.Type) {
			return missing.StructShown
		}
		return ""
	} else if tv.IsBuiltin() {
		return w.builtin(call)
	}
	sig, ok := underlying(info.TypeOf(call.Fun)).(*types.Signature)
	if !ok {
		return ""
	}
	param := func(i int) types.Type {
		last := sig.Params().Len() - 1
		if i = min(i, last); i < 0 {
			return nil
		}
		t := sig.Params().At(i).Type()
		if l, ok := t.(*types.Slice); ok && sig.Variadic() && i == last && !call.Ellipsis.IsValid() {
			return l.Elem()
		}
		return t
	}
	for i, a := range call.Args {
		if list, ok := info.TypeOf(a).(*types.Tuple); ok {
			for k := range list.Len() {
				if as := param(k); as != nil && w.shown(list.At(k).Type(), as) {
					return missing.StructShown
				}
			}
		} else if as := param(i); as != nil && w.shown(info.TypeOf(a), as) {
			return missing.StructShown
		}
	}
	return ""
}

// builtin says what a builtin function sees of what it is given.
func (w *wholeStruct) builtin(call *ast.CallExpr) missing.Fact {
	info := w.f.Info()
	name := ""
	switch fn := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		name = fn.Name
	case *ast.SelectorExpr:
		name = fn.Sel.Name
	}
	switch name {
	case "append":
		if l, ok := underlying(info.TypeOf(call.Args[0])).(*types.Slice); ok && !call.Ellipsis.IsValid() {
			for _, a := range call.Args[1:] {
				if w.shown(info.TypeOf(a), l.Elem()) {
					return missing.StructShown
				}
			}
		}
	case "panic":
		if w.in(info.TypeOf(call.Args[0])) {
			return missing.StructShown
		}
	case "Sizeof", "Alignof", "Offsetof":
		if sel, ok := ast.Unparen(call.Args[0]).(*ast.SelectorExpr); w.inside(info.TypeOf(call.Args[0])) || ok && w.inside(deref(info.TypeOf(sel.X))) {
			return missing.StructMeasured
		}
	}
	return ""
}

// shown reports whether a value of a type, which has the struct in it or leads to it, becomes an interface that says nothing of it: who is given that
// can only look at all of it.
func (w *wholeStruct) shown(t, as types.Type) bool {
	return t != nil && !saysNothing(t) && saysNothing(as) && w.in(t)
}

// saysNothing reports whether a type is an interface without methods.
func saysNothing(t types.Type) bool {
	in, ok := t.Underlying().(*types.Interface)
	_, isParam := types.Unalias(t).(*types.TypeParam)
	return ok && !isParam && in.NumMethods() == 0
}

// copied reports whether an expression is a place with the struct, of which something is copied.
func (w *wholeStruct) copied(e ast.Expr) bool {
	info := w.f.Info()
	if tv, ok := info.Types[e]; !ok || !tv.IsValue() || !w.inside(tv.Type) {
		return false
	}
	switch e.(type) {
	case *ast.Ident, *ast.SelectorExpr, *ast.IndexExpr, *ast.StarExpr:
	default:
		return false
	}
	switch up := w.f.Pkg.Above()[e].(type) {
	case *ast.SelectorExpr:
		if s := info.Selections[up]; s != nil && s.Kind() == types.MethodVal && up.X == e {
			recv := s.Obj().(*types.Func).Signature().Recv().Type()
			return w.inside(recv)
		}
		return false
	case *ast.UnaryExpr, *ast.ParenExpr, *ast.KeyValueExpr:
		kv, ok := up.(*ast.KeyValueExpr)
		return ok && kv.Value == e
	case *ast.IndexExpr:
		return up.X != e
	case *ast.AssignStmt:
		return slices.Contains(up.Rhs, e)
	case *ast.RangeStmt:
		return up.X == e && up.Value != nil
	case *ast.CallExpr:
		return info.Types[up.Fun].IsType() || !info.Types[up.Fun].IsBuiltin() || w.f.Builtin(up, "append") != nil
	case *ast.ValueSpec:
		return slices.Contains(up.Values, e)
	}
	return true
}

// anyOf reports whether one of some type arguments has the struct in it.
func (w *wholeStruct) anyOf(list *types.TypeList) bool {
	for t := range list.Types() {
		if w.in(t) {
			return true
		}
	}
	return false
}

// inside reports whether a value of a type has the struct in it.
func (w *wholeStruct) inside(t types.Type) bool {
	switch t := underlying(t).(type) {
	case *types.Array:
		return w.inside(t.Elem())
	case *types.Struct:
		for field := range t.Fields() {
			if field.Origin() == w.field.Origin() || w.inside(field.Type()) {
				return true
			}
		}
	}
	return false
}

// in reports whether a value of a type has the struct in it, or leads to it.
func (w *wholeStruct) in(t types.Type) bool {
	known, ok := w.has[t]
	if !ok {
		known = w.leads(t, map[types.Type]bool{})
		w.has[t] = known
	}
	return known
}

func (w *wholeStruct) leads(t types.Type, seen map[types.Type]bool) bool {
	if t == nil || seen[t] {
		return false
	}
	seen[t] = true
	in := func(t types.Type) bool { return w.leads(t, seen) }
	switch t := types.Unalias(t).(type) {
	case *types.TypeParam:
		return w.lent
	case *types.Named:
		if t.Obj().Pkg() == w.f.Pkg.Types || types.IsInterface(t) {
			if in(t.Underlying()) {
				return true
			}
		}
		return slices.ContainsFunc(slices.Collect(t.TypeArgs().Types()), in)
	case *types.Pointer:
		return in(t.Elem())
	case *types.Slice:
		return in(t.Elem())
	case *types.Array:
		return in(t.Elem())
	case *types.Chan:
		return in(t.Elem())
	case *types.Map:
		return in(t.Key()) || in(t.Elem())
	case *types.Struct:
		return slices.ContainsFunc(slices.Collect(t.Fields()), func(v *types.Var) bool { return v.Origin() == w.field.Origin() || in(v.Type()) })
	case *types.Interface:
		return t.NumMethods() > 0 && slices.ContainsFunc(w.named, func(n *types.Named) bool {
			return n.TypeParams().Len() == 0 && types.Implements(types.NewPointer(n), t) && in(n)
		})
	case *types.Signature:
		return in(t.Params()) || in(t.Results())
	case *types.Tuple:
		return slices.ContainsFunc(slices.Collect(t.Variables()), func(v *types.Var) bool { return in(v.Type()) })
	}
	return false
}

// leaves reports whether other packages may have the struct, who may look at all of it as well.
func (w *wholeStruct) leaves() bool {
	if w.f.Pkg.Name == "main" {
		return false
	}
	scope := w.f.Pkg.Types.Scope()
	for _, name := range scope.Names() {
		o := scope.Lookup(name)
		if !o.Exported() {
			continue
		}
		if w.in(o.Type()) {
			return true
		}
		if t, ok := types.Unalias(o.Type()).(*types.Named); ok {
			for m := range t.Methods() {
				if m.Exported() && w.in(m.Type()) {
					return true
				}
			}
		}
	}
	return false
}

// usedElsewhere returns the name of the type if a test, or a file for another system, may see all of it.
func (w *wholeStruct) usedElsewhere() string {
	for _, t := range w.named {
		name := t.Obj().Name()
		if w.inside(t) && (w.f.Pkg.MadeElsewhere(name) || w.f.Pkg.NamedElsewhere(name) && w.f.Pkg.LooksInsideElsewhere()) {
			return name
		}
	}
	return ""
}
