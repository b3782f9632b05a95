package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
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
			switch stable := fn.Name() == "Stable" || fn.Name() == "SliceStable"; {
			case !p.Pkg.AtLeast(21):
				p.No(missing.OlderGo, 21, "package slices")
			case len(call.Args) == 2:
				p.No(missing.LessElsewhere)
				if less, ok := ast.Unparen(call.Args[1]).(*ast.FuncLit); ok {
					f.Fixes = sortedSlice(p, call, call.Args[0], call.Args[0], less.Type, less.Body, stable)
				}
			default:
				f.Fixes = sortedList(p, call, stable)
			}
			// Besides what is below the call, the slice or list is put on the heap for it.
			p.Report(call, p.Cost(call, cost.Either(cost.Below("sort."+fn.Name()), cost.Allocates())), f)
		})
	},
}

// sortedList is a fix for a list that is sorted by methods of its type, of which Less is as sortedSlice knows it.
func sortedList(p *advise.Pass, call *ast.CallExpr, stable bool) []report.Fix {
	list, t := call.Args[0], p.TypeOf(call.Args[0])
	if x, to := p.Conversion(ast.Unparen(list)); x != nil {
		list, t = x, to
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
	methods := map[string]*ast.FuncDecl{}
	for _, f := range p.Pkg.Files {
		for _, d := range f.AST.Decls {
			decl, ok := d.(*ast.FuncDecl)
			if !ok || decl.Recv == nil || decl.Body == nil {
				continue
			}
			if fn, ok := p.Info().Defs[decl.Name].(*types.Func); ok && receives(fn, named, points) {
				methods[decl.Name.Name] = decl
			}
		}
	}
	less, swap, length := methods["Less"], methods["Swap"], methods["Len"]
	switch {
	case less == nil || swap == nil || length == nil || len(less.Recv.List[0].Names) == 0:
		return p.No(missing.MethodsElsewhere, named.Obj().Name())
	case inField(p.Func, swap):
		return p.No(missing.ListInField, named.Obj().Name())
	case !swaps(p.Func, swap):
		return p.No(missing.SwapDoesMore, named.Obj().Name())
	case !countsAll(p.Func, length):
		return p.No(missing.LenIsOther, named.Obj().Name())
	}
	return sortedSlice(p, call, list, less.Recv.List[0].Names[0], less.Type, less.Body, stable)
}

// receives reports whether a function is a method of a type, or where a pointer to it is sorted, of that.
func receives(fn *types.Func, t types.Type, points bool) bool {
	recv := types.Unalias(fn.Signature().Recv().Type())
	if ptr, ok := recv.(*types.Pointer); ok && points {
		recv = ptr.Elem()
	}
	return types.Identical(recv, t)
}

// inField reports whether a method of a struct, or of a pointer to one, swaps two elements of a field.
func inField(f *code.Func, m *ast.FuncDecl) bool {
	if len(m.Body.List) != 1 {
		return false
	}
	st, ok := m.Body.List[0].(*ast.AssignStmt)
	if !ok || len(st.Lhs) == 0 {
		return false
	}
	index, ok := ast.Unparen(st.Lhs[0]).(*ast.IndexExpr)
	if !ok {
		return false
	}
	field, ok := ast.Unparen(index.X).(*ast.SelectorExpr)
	return ok && len(m.Recv.List[0].Names) > 0 && f.Info().ObjectOf(code.AsIdent(field.X)) == f.Info().Defs[m.Recv.List[0].Names[0]] && swapped(f, st, field)
}

// swaps reports whether a method does nothing but swap two elements.
func swaps(f *code.Func, m *ast.FuncDecl) bool {
	if len(m.Body.List) != 1 || len(m.Recv.List[0].Names) == 0 {
		return false
	}
	st, ok := m.Body.List[0].(*ast.AssignStmt)
	return ok && swapped(f, st, m.Recv.List[0].Names[0])
}

// swapped reports whether a statement swaps two elements of a list.
func swapped(f *code.Func, st *ast.AssignStmt, list ast.Expr) bool {
	if st.Tok != token.ASSIGN || len(st.Lhs) != 2 || len(st.Rhs) != 2 {
		return false
	}
	l, fieldL := element(f, st.Lhs[0], list)
	r, fieldR := element(f, st.Lhs[1], list)
	text := func(e ast.Expr) string { return types.ExprString(e) }
	return l != nil && r != nil && l != r && fieldL == "" && fieldR == "" && text(st.Lhs[0]) == text(st.Rhs[1]) && text(st.Lhs[1]) == text(st.Rhs[0])
}

// countsAll reports whether a method returns the length of its receiver.
func countsAll(f *code.Func, m *ast.FuncDecl) bool {
	if len(m.Body.List) != 1 || len(m.Recv.List[0].Names) == 0 {
		return false
	}
	ret, ok := m.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return false
	}
	call := f.Builtin(ret.Results[0], "len")
	return call != nil && f.Info().Uses[code.AsIdent(call.Args[0])] == f.Info().Defs[m.Recv.List[0].Names[0]]
}

// sortedSlice is a fix for a comparison of elements, or of one field of them: list is what is sorted, and slice what it is called in the
// function that compares.
func sortedSlice(p *advise.Pass, call *ast.CallExpr, list, slice ast.Expr, signature *ast.FuncType, body *ast.BlockStmt, stable bool) []report.Fix {
	const more = missing.LessDoesMore
	if len(body.List) != 1 {
		return p.No(more)
	}
	ret, ok := body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return p.No(more)
	}
	less, ok := ast.Unparen(ret.Results[0]).(*ast.BinaryExpr)
	if !ok || less.Op != token.LSS && less.Op != token.GTR {
		return p.No(more)
	}
	if !kind.IsBasic(p.TypeOf(less.X), types.IsInteger|types.IsString) {
		return p.No(missing.LessOfFloats)
	}
	var names []*ast.Ident
	for _, field := range signature.Params.List {
		names = append(names, field.Names...)
	}
	of, isSlice := p.TypeOf(list).Underlying().(*types.Slice)
	if len(names) != 2 || !isSlice || !flow.Simple(p.Func, list) {
		return p.No(missing.NoSliceVariable, p.Src(list))
	}
	x, fieldX := element(p.Func, less.X, slice)
	y, fieldY := element(p.Func, less.Y, slice)
	i, j := p.Info().Defs[names[0]], p.Info().Defs[names[1]]
	if x == nil || y == nil || fieldX != fieldY {
		return p.No(more)
	}
	up := less.Op == token.LSS
	switch {
	case x == i && y == j:
	case x == j && y == i:
		up = !up
	default:
		return p.No(more)
	}
	src := p.Src(list)
	if fieldX == "" && up && !stable {
		p.Need("slices")
		return p.Fix(report.Mechanical, "sort by the order of the elements", edit.Replace(call, "slices.Sort("+src+")"))
	}
	name := "SortFunc"
	if stable {
		name = "SortStableFunc"
	}
	elem := types.TypeString(of.Elem(), p.Qualifier())
	a, b := "a"+fieldX, "b"+fieldX
	if !up {
		a, b = b, a
	}
	p.Need("slices", "cmp")
	return p.Fix(report.Mechanical, "compare elements", edit.Replace(call, fmt.Sprintf("slices.%s(%s, func(a, b %s) int { return cmp.Compare(%s, %s) })", name, src, elem, a, b)))
}

// element takes s[i].F apart: i, and .F.
func element(f *code.Func, e, slice ast.Expr) (types.Object, string) {
	field := ""
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.SelectorExpr:
			if s := f.Info().Selections[x]; s == nil || s.Kind() != types.FieldVal {
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
			return f.Info().ObjectOf(id), field
		}
		return nil, ""
	}
}
