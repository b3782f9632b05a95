package advise

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/hone-perf/hone/internal/report"
)

var sortReflect = &Rule{
	Name: "sort-reflect", Rank: 19,
	Doc: "sort.Slice swaps by reflection and compares through a closure",

	NoFix: "Less does more than to compare elements, or one field of them",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			if p.calls(call, "sort.Slice", "sort.SliceStable", "sort.Sort", "sort.Stable") == nil {
				return
			}
			fn := p.callee(call)
			f := finding{
				title:  "sorted through reflection or an interface",
				claim:  fmt.Sprintf("sort.%s calls Less and Swap through %s for each comparison, which cannot be inlined", fn.Name(), map[bool]string{true: "an interface", false: "closures, and swaps by reflection"}[fn.Name() == "Sort" || fn.Name() == "Stable"]),
				advice: "slices.SortFunc knows the type of the elements",
				callee: "sort." + fn.Name(),
				risk:   "none: both use the same algorithm",
			}
			switch stable := fn.Name() == "Stable" || fn.Name() == "SliceStable"; {
			case !p.unit.atLeast(21):
				p.why = "the module is for a Go older than 1.21, which has no package slices"
			case len(call.Args) == 2:
				p.no("Less is not written out where the slice is sorted")
				if less, ok := ast.Unparen(call.Args[1]).(*ast.FuncLit); ok {
					f.fixes = p.sortedSlice(call, call.Args[0], call.Args[0], less.Type, less.Body, stable)
				}
			default:
				f.fixes = p.sortedList(call, stable)
			}
			// Besides what is below the call, the slice or list is put on the heap for it.
			p.report(call, p.cost(call, either(below("sort."+fn.Name()), allocates())), f)
		})
	},
}

// sortedList is a fix for a list that is sorted by methods of its type, of which Less is as sortedSlice knows it.
func (p *Pass) sortedList(call *ast.CallExpr, stable bool) []report.Fix {
	list, t := call.Args[0], p.typeOf(call.Args[0])
	if x, to := p.conversion(ast.Unparen(list)); x != nil {
		list, t = x, to
	}
	named, ok := types.Unalias(t).(*types.Named)
	if !ok {
		return p.no("what type %s has is only known when the program runs", p.src(list))
	}
	methods := map[string]*ast.FuncDecl{}
	for _, f := range p.unit.files {
		for _, d := range f.ast.Decls {
			decl, ok := d.(*ast.FuncDecl)
			if !ok || decl.Recv == nil || decl.Body == nil {
				continue
			}
			if fn, ok := p.info().Defs[decl.Name].(*types.Func); ok && types.Identical(fn.Signature().Recv().Type(), named) {
				methods[decl.Name.Name] = decl
			}
		}
	}
	less, swap, length := methods["Less"], methods["Swap"], methods["Len"]
	switch {
	case less == nil || swap == nil || length == nil || len(less.Recv.List[0].Names) == 0:
		return p.no("the methods of %s are not all in this package, with a receiver that is no pointer", named.Obj().Name())
	case !p.swaps(swap):
		return p.no("%s.Swap does more than to swap two elements", named.Obj().Name())
	case !p.countsAll(length):
		return p.no("%s.Len returns something else than the length of the list", named.Obj().Name())
	}
	return p.sortedSlice(call, list, less.Recv.List[0].Names[0], less.Type, less.Body, stable)
}

// swaps reports whether a method does nothing but swap two elements.
func (p *function) swaps(m *ast.FuncDecl) bool {
	if len(m.Body.List) != 1 || len(m.Recv.List[0].Names) == 0 {
		return false
	}
	st, ok := m.Body.List[0].(*ast.AssignStmt)
	if !ok || st.Tok != token.ASSIGN || len(st.Lhs) != 2 || len(st.Rhs) != 2 {
		return false
	}
	l, fieldL := p.element(st.Lhs[0], m.Recv.List[0].Names[0])
	r, fieldR := p.element(st.Lhs[1], m.Recv.List[0].Names[0])
	text := func(e ast.Expr) string { return types.ExprString(e) }
	return l != nil && r != nil && l != r && fieldL == "" && fieldR == "" && text(st.Lhs[0]) == text(st.Rhs[1]) && text(st.Lhs[1]) == text(st.Rhs[0])
}

// countsAll reports whether a method returns the length of its receiver.
func (p *function) countsAll(m *ast.FuncDecl) bool {
	if len(m.Body.List) != 1 || len(m.Recv.List[0].Names) == 0 {
		return false
	}
	ret, ok := m.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return false
	}
	call := p.builtin(ret.Results[0], "len")
	return call != nil && p.info().Uses[asIdent(call.Args[0])] == p.info().Defs[m.Recv.List[0].Names[0]]
}

// sortedSlice is a fix for a comparison of elements, or of one field of them: list is what is sorted, and slice what it is called in the
// function that compares.
func (p *Pass) sortedSlice(call *ast.CallExpr, list, slice ast.Expr, signature *ast.FuncType, body *ast.BlockStmt, stable bool) []report.Fix {
	const more = "Less does more than to compare two elements, or one field of them, with < or >"
	if len(body.List) != 1 {
		return p.no(more)
	}
	ret, ok := body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return p.no(more)
	}
	less, ok := ast.Unparen(ret.Results[0]).(*ast.BinaryExpr)
	if !ok || less.Op != token.LSS && less.Op != token.GTR {
		return p.no(more)
	}
	if !isBasic(p.typeOf(less.X), types.IsInteger|types.IsString) {
		return p.no("Less compares floating-point numbers, and cmp.Compare has another place for NaN")
	}
	var names []*ast.Ident
	for _, field := range signature.Params.List {
		names = append(names, field.Names...)
	}
	of, isSlice := p.typeOf(list).Underlying().(*types.Slice)
	if len(names) != 2 || !isSlice || !p.simple(list) {
		return p.no("%s is not a slice in a variable", p.src(list))
	}
	x, fieldX := p.element(less.X, slice)
	y, fieldY := p.element(less.Y, slice)
	i, j := p.info().Defs[names[0]], p.info().Defs[names[1]]
	if x == nil || y == nil || fieldX != fieldY {
		return p.no(more)
	}
	up := less.Op == token.LSS
	switch {
	case x == i && y == j:
	case x == j && y == i:
		up = !up
	default:
		return p.no(more)
	}
	src := p.src(list)
	if fieldX == "" && up && !stable {
		p.need("slices")
		return p.fix(report.Mechanical, "sort by the order of the elements", replace(call, "slices.Sort("+src+")"))
	}
	name := "SortFunc"
	if stable {
		name = "SortStableFunc"
	}
	elem := types.TypeString(of.Elem(), p.qualifier())
	a, b := "a"+fieldX, "b"+fieldX
	if !up {
		a, b = b, a
	}
	p.need("slices", "cmp")
	return p.fix(report.Mechanical, "compare elements", replace(call, fmt.Sprintf("slices.%s(%s, func(a, b %s) int { return cmp.Compare(%s, %s) })", name, src, elem, a, b)))
}

// element takes s[i].F apart: i, and .F.
func (p *function) element(e, slice ast.Expr) (types.Object, string) {
	field := ""
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.SelectorExpr:
			if s := p.info().Selections[x]; s == nil || s.Kind() != types.FieldVal {
				return nil, ""
			}
			field = "." + x.Sel.Name + field
			e = x.X
			continue
		case *ast.IndexExpr:
			if types.ExprString(x.X) != types.ExprString(slice) {
				return nil, ""
			}
			id, ok := x.Index.(*ast.Ident)
			if !ok {
				return nil, ""
			}
			return p.info().ObjectOf(id), field
		}
		return nil, ""
	}
}
