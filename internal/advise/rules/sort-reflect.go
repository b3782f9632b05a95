package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/sorts"
	"github.com/hone-perf/hone/internal/advise/facts/steady"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var sortReflect = &advise.Rule{
	Name: "sort-reflect", Rank: 19,
	Doc: "sort.Slice swaps by reflection and compares through a closure",

	NoFix: missing.LessDoesMoreAlone,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			if p.Calls(call, "sort.Slice", "sort.SliceStable", "sort.Sort", "sort.Stable") == nil {
				return
			}
			fn := p.Callee(call)
			f := advise.Finding{
				Title:  "sorted through reflection or an interface",
				Claim:  fmt.Sprintf("sort.%s calls Less and Swap through %s for each comparison, which cannot be inlined", fn.Name(), map[bool]string{true: "an interface", false: "closures, and swaps by reflection"}[fn.Name() == "Sort" || fn.Name() == "Stable"]),
				Advice: "slices.SortFunc knows the type of the elements",
				Callee: "sort." + fn.Name(),
				Risk:   "none: both use the same algorithm", Safe: true,
			}
			typ, lists := swapsBesides(p, call)
			switch {
			case lists > 1:
				f.Advice = "package slices sorts one slice: keep what belongs together in one slice of structs, and sort that with slices.SortFunc"
				f.Risk, f.Safe = "whoever has one of the lists alone has to take it out of the structs", false
			case typ != "":
				f.Advice = "slices.SortFunc knows the type of the elements, and swaps them itself; do what else Swap does for all elements, after it"
				f.Risk, f.Safe = "what "+typ+".Swap does besides is not done while slices.SortFunc sorts", false
			}
			switch stable := fn.Name() == "Stable" || fn.Name() == "SliceStable"; {
			case lists > 1:
				p.No(missing.ListsSwapped, typ)
			case typ != "":
				p.No(missing.SwapDoesMore, typ)
			case !p.Pkg.AtLeast(21):
				p.No(missing.OlderGo, 21, "package slices")
			case len(call.Args) == 2:
				p.No(missing.LessElsewhere)
				if less, ok := ast.Unparen(call.Args[1]).(*ast.FuncLit); ok {
					f.Fixes = sortedSlice(p, call, less, stable)
				}
			default:
				f.Fixes = sortedList(p, call, call.Args[0], stable, false)
			}
			// Besides what is below the call, the slice or list is put on the heap for it.
			p.Report(call, p.Cost(call, cost.Either(cost.Below("sort."+fn.Name()), cost.Allocates())), f)
		})
	},
}

// A sorting is a list that is sorted in another way, as a fix has it.
type sorting struct {
	call   *ast.CallExpr
	list   string // what is sorted
	elem   types.Type
	less   *sorts.Less
	bound  []string // statements before it, for what it needs
	kept   bool     // nothing that Less calls can put another list, or another value of its fields, in the place of those that are sorted
	stable bool
	down   bool // by sort.Reverse
}

// fix is a fix that compares elements of a known type.
func (s *sorting) fix(p *advise.Pass) []report.Fix {
	taken := map[string]bool{}
	note := func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		switch o := p.Info().ObjectOf(id); {
		case o == nil || o == s.less.I || o == s.less.J || o.Pos() >= s.less.Body.Pos() && o.Pos() < s.less.Body.End():
			return true // parameters and variables of Less go
		case o.Parent() == nil:
			return true // a field or a method
		case s.less.Func.Decl != p.Decl && s.less.List(id):
			return true // the receiver goes, too
		}
		taken[id.Name] = true
		return true
	}
	ast.Inspect(s.call, note)
	ast.Inspect(s.less.Body, note)
	free := func(base string) string {
		name := base
		for i := 2; taken[name]; i++ {
			name = base + strconv.Itoa(i)
		}
		return name
	}
	a, b := free("a"), free("b")
	first, second := a, b
	if s.down {
		first, second = b, a
	}
	c, ok := s.less.Compare(first, second, free("x"), free("y"))
	switch {
	case !ok:
		return p.No(missing.LessDoesMore)
	case !s.kept && slices.ContainsFunc(c.Calls, func(call *ast.CallExpr) bool { return !steady.Pure(p.Func, p.Callee(call), 3) }):
		return p.No(missing.LessDoesMore)
	}
	var edits []edit.Edit
	if len(s.bound) > 0 {
		st, ok := p.Parent(s.call).(*ast.ExprStmt)
		if !ok || p.Statement(s.call) != ast.Stmt(st) {
			return p.No(missing.LoopInStatement)
		}
		edits = append(edits, edit.Before(st, strings.Join(s.bound, "\n")+"\n"))
	}
	p.Need("slices")
	if c.Plain && !s.stable && !s.down {
		return p.Fix(report.Mechanical, "sort by the order of the elements", append(edits, edit.Replace(s.call, "slices.Sort("+s.list+")"))...)
	}
	p.Need(c.Needs...)
	name := "SortFunc"
	if s.stable {
		name = "SortStableFunc"
	}
	by := c.Func
	if by == "" || s.down {
		by = fmt.Sprintf("func(%s, %s %s) int {", a, b, types.TypeString(s.elem, p.Qualifier()))
		if c.Body != "" {
			by += c.Body + "}"
		} else {
			by += " return " + c.Result + " }"
		}
	}
	return p.Fix(report.Mechanical, "compare elements", append(edits, edit.Replace(s.call, fmt.Sprintf("slices.%s(%s, %s)", name, s.list, by)))...)
}

// sortedSlice is a fix for sort.Slice.
func sortedSlice(p *advise.Pass, call *ast.CallExpr, lit *ast.FuncLit, stable bool) []report.Fix {
	list := call.Args[0]
	of, isSlice := p.TypeOf(list).Underlying().(*types.Slice)
	i, j := indices(p.Func, lit.Type)
	if !isSlice || !isPath(list) {
		return p.No(missing.NoSliceVariable, p.Src(list))
	}
	if i == nil || j == nil {
		return p.No(missing.LessDoesMore)
	}
	s := &sorting{call: call, list: p.Src(list), elem: of.Elem(), stable: stable, kept: stays(p.Func, p.Local(list)), less: &sorts.Less{
		Func: p.Func, I: i, J: j, Body: lit.Body,
		List:  func(e ast.Expr) bool { return samePath(p.Func, e, list) },
		Means: func(*ast.Ident) bool { return true }, // it stays where it is
	}}
	return s.fix(p)
}

// sortedList is a fix for a list that is sorted by methods of its type: of a slice, or of a struct with a field that is one.
func sortedList(p *advise.Pass, call *ast.CallExpr, arg ast.Expr, stable, down bool) []report.Fix {
	arg = ast.Unparen(arg)
	if up := p.Calls(arg, "sort.Reverse"); up != nil && !down {
		return sortedList(p, call, up.Args[0], stable, true)
	}
	list, t := arg, p.TypeOf(arg)
	converted, to := p.Conversion(arg)
	if converted != nil {
		list, t = converted, to
	}
	ptr, points := types.Unalias(t).(*types.Pointer)
	if points {
		t = ptr.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	if ok && points {
		_, ok = named.Underlying().(*types.Struct)
	}
	if !ok {
		return p.No(missing.TypeAtRunTime, p.Src(list))
	}
	if pkg := named.Obj().Pkg(); pkg != nil && pkg.Path() == "sort" && converted != nil {
		return ofPackageSort(p, call, list, named, stable, down)
	}
	m := methodsOf(p, named, points)
	if m.less == nil || m.swap == nil || m.length == nil {
		return p.No(missing.MethodsElsewhere, named.Obj().Name())
	}
	recv := m.less.receiver()
	i, j := indices(m.less.Func, m.less.Decl.Type)
	if recv == nil || i == nil || j == nil {
		return p.No(missing.MethodsElsewhere, named.Obj().Name())
	}
	field, ok := m.swap.swaps()
	switch {
	case !ok:
		return p.No(missing.SwapDoesMore, named.Obj().Name())
	case !m.length.countsAll(field):
		return p.No(missing.LenIsOther, named.Obj().Name())
	}
	s := &sorting{call: call, stable: stable, down: down, less: &sorts.Less{Func: m.less.Func, I: i, J: j, Body: m.less.Decl.Body, Means: func(id *ast.Ident) bool { return sameMeaning(p.Func, m.less.Func, id, call) }}}
	s.less.List = func(e ast.Expr) bool { return m.less.isList(e, field) }
	if field == nil {
		of, isSlice := named.Underlying().(*types.Slice)
		if !isSlice {
			return p.No(missing.NoSliceVariable, p.Src(list))
		}
		s.list, s.elem, s.kept = p.Src(list), of.Elem(), true
		return s.fix(p)
	}
	of, isSlice := field.Type().Underlying().(*types.Slice)
	if !isSlice {
		return p.No(missing.ListInField, named.Obj().Name())
	}
	s.elem = of.Elem()
	if u, ok := arg.(*ast.UnaryExpr); ok && u.Op == token.AND && points {
		arg = ast.Unparen(u.X)
	}
	lit, isLit := arg.(*ast.CompositeLit)
	if !isLit {
		if !isPath(arg) {
			return p.No(missing.ListInField, named.Obj().Name())
		}
		s.list = p.Src(arg) + "." + field.Name()
		s.less.Field = func(e *ast.SelectorExpr) string {
			if o := m.less.field(e); o != nil && o != field {
				return p.Src(arg) + "." + o.Name()
			}
			return ""
		}
		return s.fix(p)
	}
	if !s.fromLiteral(p, lit, named, m.less, field) {
		return p.No(missing.ListInField, named.Obj().Name())
	}
	return s.fix(p)
}

// fromLiteral takes the list, and what else Less needs, from a literal of a struct. It reports whether that is all there is to it.
func (s *sorting) fromLiteral(p *advise.Pass, lit *ast.CompositeLit, t *types.Named, less *method, field *types.Var) bool {
	values := map[*types.Var]ast.Expr{}
	fields := t.Underlying().(*types.Struct)
	for i, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			values[fields.Field(i)] = e
		} else if v, ok := p.Info().Uses[code.AsIdent(kv.Key)].(*types.Var); ok {
			values[v] = kv.Value
		}
	}
	list := values[field]
	if list == nil || p.Info().Types[list].IsNil() || !isPath(list) {
		return false
	}
	s.list = p.Src(list)
	s.kept = true
	needed := map[*types.Var]bool{}
	ast.Inspect(s.less.Body, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if o := less.field(sel); o != nil {
				needed[o] = true
			}
		}
		return true
	})
	as := map[*types.Var]string{}
	for v, e := range values {
		local := p.Local(e)
		_, isFunc := ast.Unparen(e).(*ast.FuncLit)
		switch {
		case v == field:
		case !isFunc && !p.IsConst(e) && local == nil && !p.Info().Types[e].IsNil():
			return false // what it is may be another thing in each comparison, or panic
		case !needed[v]:
		case isFunc && types.Identical(p.TypeOf(e), v.Type()):
			as[v] = p.LocalName(v.Name())
			if p.Pkg.Types.Scope().Lookup(as[v]) != nil {
				return false // Less may mean that one
			}
			s.bound = append(s.bound, as[v]+" := "+p.Src(e))
		case local != nil && stays(p.Func, local) && types.Identical(local.Type(), v.Type()):
			as[v] = local.Name()
		default:
			return false
		}
	}
	slices.Sort(s.bound)
	s.less.Field = func(e *ast.SelectorExpr) string {
		if o := less.field(e); o != nil {
			return as[o]
		}
		return ""
	}
	return true
}

// ofPackageSort is a fix for the lists of package sort, which sort numbers and texts.
func ofPackageSort(p *advise.Pass, call *ast.CallExpr, list ast.Expr, t *types.Named, stable, down bool) []report.Fix {
	of, isSlice := t.Underlying().(*types.Slice)
	if !isSlice || stable || !slices.Contains([]string{"IntSlice", "StringSlice", "Float64Slice"}, t.Obj().Name()) {
		return p.No(missing.MethodsElsewhere, t.Obj().Name())
	}
	p.Need("slices")
	if !down {
		return p.Fix(report.Mechanical, "sort by the order of the elements", edit.Replace(call, "slices.Sort("+p.Src(list)+")"))
	}
	p.Need("cmp")
	return p.Fix(report.Mechanical, "compare elements", edit.Replace(call, fmt.Sprintf("slices.SortFunc(%s, func(a, b %s) int { return cmp.Compare(b, a) })", p.Src(list), of.Elem())))
}

// A method is one of Len, Less and Swap.
type method struct{ *code.Func }

type methods struct{ length, less, swap *method }

// methodsOf returns the methods by which a type is sorted, as far as they are in the package.
func methodsOf(p *advise.Pass, t types.Type, points bool) (out methods) {
	for _, f := range p.Pkg.Files {
		for _, d := range f.AST.Decls {
			decl, ok := d.(*ast.FuncDecl)
			if !ok || decl.Recv == nil || decl.Body == nil {
				continue
			}
			if fn, ok := p.Info().Defs[decl.Name].(*types.Func); ok && receives(fn, t, points) {
				m := &method{p.In(f, decl)}
				switch decl.Name.Name {
				case "Len":
					out.length = m
				case "Less":
					out.less = m
				case "Swap":
					out.swap = m
				}
			}
		}
	}
	return out
}

// swapsBesides returns the type whose Swap does more than to swap two elements, or "", and of how many lists it swaps elements.
func swapsBesides(p *advise.Pass, call *ast.CallExpr) (typ string, lists int) {
	if len(call.Args) != 1 {
		return "", 0
	}
	o, _, _ := types.LookupFieldOrMethod(p.TypeOf(call.Args[0]), true, p.Pkg.Types, "Swap")
	fn, ok := o.(*types.Func)
	if !ok {
		return "", 0
	}
	decl, _ := p.DeclOf(fn)
	if decl == nil || decl.Body == nil {
		return "", 0
	}
	seen := map[string]bool{}
	plain := len(decl.Body.List) == 1
	for _, st := range decl.Body.List {
		set, ok := st.(*ast.AssignStmt)
		if !ok || len(set.Lhs) != 2 || len(set.Rhs) != 2 {
			plain = false
		}
		if !ok {
			continue
		}
		for _, l := range set.Lhs {
			if at, ok := ast.Unparen(l).(*ast.IndexExpr); ok {
				seen[types.ExprString(at.X)] = true
			}
		}
	}
	if plain && len(seen) < 2 {
		return "", len(seen)
	}
	t := types.Unalias(p.TypeOf(call.Args[0]))
	if ptr, ok := t.(*types.Pointer); ok {
		t = ptr.Elem()
	}
	return types.TypeString(t, p.Qualifier()), len(seen)
}

// receives reports whether a function is a method of a type, or where a pointer to it is sorted, of that.
func receives(fn *types.Func, t types.Type, points bool) bool {
	recv := types.Unalias(fn.Signature().Recv().Type())
	if ptr, ok := recv.(*types.Pointer); ok && points {
		recv = ptr.Elem()
	}
	return types.Identical(recv, t)
}

// receiver returns the receiver, or nil if it has no name.
func (m *method) receiver() types.Object {
	if names := m.Decl.Recv.List[0].Names; len(names) > 0 {
		return m.Info().Defs[names[0]]
	}
	return nil
}

// field returns the field of the receiver that an expression is, or nil.
func (m *method) field(e ast.Expr) *types.Var {
	sel, ok := ast.Unparen(e).(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	s := m.Info().Selections[sel]
	id := code.AsIdent(ast.Unparen(sel.X))
	if s == nil || s.Kind() != types.FieldVal || len(s.Index()) != 1 || id == nil || m.Info().Uses[id] != m.receiver() {
		return nil
	}
	return s.Obj().(*types.Var)
}

// isList reports whether an expression is the receiver, or with a field, that field of it.
func (m *method) isList(e ast.Expr, field *types.Var) bool {
	if field != nil {
		return m.field(e) == field
	}
	id := code.AsIdent(ast.Unparen(e))
	return id != nil && m.receiver() != nil && m.Info().Uses[id] == m.receiver()
}

// swaps reports whether a method does nothing but swap two elements of its receiver, or of a field of it.
func (m *method) swaps() (field *types.Var, ok bool) {
	list := m.Decl.Body.List
	var alias types.Object // list := s.list
	var value ast.Expr
	if len(list) == 2 {
		def, isDef := list[0].(*ast.AssignStmt)
		if !isDef || def.Tok != token.DEFINE || len(def.Lhs) != 1 || len(def.Rhs) != 1 {
			return nil, false
		}
		alias, value = m.Info().Defs[code.AsIdent(def.Lhs[0])], def.Rhs[0]
		list = list[1:]
	}
	if len(list) != 1 {
		return nil, false
	}
	st, isAssign := list[0].(*ast.AssignStmt)
	if !isAssign || st.Tok != token.ASSIGN || len(st.Lhs) != 2 || len(st.Rhs) != 2 {
		return nil, false
	}
	var of [4]ast.Expr
	var at [4]types.Object
	for k, e := range []ast.Expr{st.Lhs[0], st.Lhs[1], st.Rhs[1], st.Rhs[0]} {
		index, isIndex := ast.Unparen(e).(*ast.IndexExpr)
		if !isIndex {
			return nil, false
		}
		of[k] = ast.Unparen(index.X)
		if id := code.AsIdent(of[k]); id != nil && alias != nil && m.Info().Uses[id] == alias {
			of[k] = value
		}
		at[k] = m.Info().Uses[code.AsIdent(ast.Unparen(index.Index))]
	}
	i, j := indices(m.Func, m.Decl.Type)
	if i == nil || j == nil || at[0] != at[2] || at[1] != at[3] || !(at[0] == i && at[1] == j || at[0] == j && at[1] == i) {
		return nil, false
	}
	field = m.field(of[0])
	for _, e := range of {
		if !m.isList(e, field) {
			return nil, false
		}
	}
	return field, true
}

// countsAll reports whether a method returns the length of its receiver, or of a field of it.
func (m *method) countsAll(field *types.Var) bool {
	if len(m.Decl.Body.List) != 1 {
		return false
	}
	ret, ok := m.Decl.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return false
	}
	call := m.Builtin(ret.Results[0], "len")
	return call != nil && m.isList(call.Args[0], field)
}

// indices returns the two parameters of a function, or nil for those without a name.
func indices(f *code.Func, t *ast.FuncType) (i, j types.Object) {
	var names []*ast.Ident
	for _, field := range t.Params.List {
		names = append(names, field.Names...)
	}
	if len(names) != 2 {
		return nil, nil
	}
	return f.Info().Defs[names[0]], f.Info().Defs[names[1]]
}

// isPath reports whether an expression is a variable, or a field of one.
func isPath(e ast.Expr) bool {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.Ident:
			return true
		case *ast.SelectorExpr:
			e = x.X
			continue
		}
		return false
	}
}

// samePath reports whether two expressions are the same variable, or the same field of it.
func samePath(f *code.Func, a, b ast.Expr) bool {
	a, b = ast.Unparen(a), ast.Unparen(b)
	switch x := a.(type) {
	case *ast.Ident:
		y, ok := b.(*ast.Ident)
		return ok && f.Info().ObjectOf(x) == f.Info().ObjectOf(y)
	case *ast.SelectorExpr:
		y, ok := b.(*ast.SelectorExpr)
		return ok && f.Info().ObjectOf(x.Sel) == f.Info().ObjectOf(y.Sel) && samePath(f, x.X, y.X)
	}
	return false
}

// stays reports whether no function literal, and nobody who has the address of a variable, may change it.
func stays(f *code.Func, v *types.Var) bool {
	if v == nil {
		return false
	}
	ok := true
	is := func(o types.Object) bool { return o == types.Object(v) }
	ast.Inspect(f.Decl.Body, func(n ast.Node) bool {
		if lit, isLit := n.(*ast.FuncLit); isLit && flow.Assigns(f, lit.Body, is) {
			ok = false
		}
		return ok
	})
	return ok && !slices.ContainsFunc(f.Uses(v), func(id *ast.Ident) bool { return flow.ByAddress(f, id) })
}

// sameMeaning reports whether a name of one function means the same at a node of another one.
func sameMeaning(f, of *code.Func, id *ast.Ident, at ast.Node) bool {
	o := of.Info().Uses[id]
	if o == nil || o.Parent() == nil {
		return false
	}
	scope := f.Pkg.Types.Scope().Innermost(at.Pos())
	if scope == nil {
		return false
	}
	_, there := scope.LookupParent(id.Name, at.Pos())
	if pkg, isPkg := o.(*types.PkgName); isPkg {
		same, ok := there.(*types.PkgName)
		return ok && same.Imported() == pkg.Imported()
	}
	return there == o && (o.Parent() == types.Universe || o.Parent() == f.Pkg.Types.Scope())
}
