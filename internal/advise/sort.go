package advise

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/hone-perf/hone/internal/report"
)

var sortReflect = &Rule{
	Name: "sort-reflect", Rank: 19,
	Doc: "sort.Slice swaps by reflection and compares through a closure",
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
			if strings.HasPrefix(fn.Name(), "Slice") && p.unit.atLeast(21) {
				f.fixes = p.sortedSlice(call, fn.Name() == "SliceStable")
			}
			p.report(call, p.cost(call, below("sort."+fn.Name())), f)
		})
	},
}

// sortedSlice is a fix for a comparison of elements, or of one field of them.
func (p *Pass) sortedSlice(call *ast.CallExpr, stable bool) []report.Fix {
	lit, ok := ast.Unparen(call.Args[1]).(*ast.FuncLit)
	if !ok || len(lit.Body.List) != 1 {
		return nil
	}
	ret, ok := lit.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return nil
	}
	less, ok := ast.Unparen(ret.Results[0]).(*ast.BinaryExpr)
	if !ok || less.Op != token.LSS && less.Op != token.GTR || !isBasic(p.typeOf(less.X), types.IsInteger|types.IsString) {
		return nil // a NaN is less than nothing there, and than everything here
	}
	var names []*ast.Ident
	for _, field := range lit.Type.Params.List {
		names = append(names, field.Names...)
	}
	slice, isSlice := p.typeOf(call.Args[0]).Underlying().(*types.Slice)
	if len(names) != 2 || !isSlice || !p.simple(call.Args[0]) {
		return nil
	}
	x, fieldX := p.element(less.X, call.Args[0])
	y, fieldY := p.element(less.Y, call.Args[0])
	i, j := p.info().Defs[names[0]], p.info().Defs[names[1]]
	if x == nil || y == nil || fieldX != fieldY {
		return nil
	}
	up := less.Op == token.LSS
	switch {
	case x == i && y == j:
	case x == j && y == i:
		up = !up
	default:
		return nil
	}
	src := p.src(call.Args[0])
	if fieldX == "" && up && !stable {
		p.need("slices")
		return p.fix(report.Mechanical, "sort by the order of the elements", replace(call, "slices.Sort("+src+")"))
	}
	name := "SortFunc"
	if stable {
		name = "SortStableFunc"
	}
	elem := types.TypeString(slice.Elem(), p.qualifier())
	a, b := "a"+fieldX, "b"+fieldX
	if !up {
		a, b = b, a
	}
	p.need("slices", "cmp")
	return p.fix(report.Mechanical, "compare elements", replace(call, fmt.Sprintf("slices.%s(%s, func(a, b %s) int { return cmp.Compare(%s, %s) })", name, src, elem, a, b)))
}

// element takes s[i].F apart: i, and .F.
func (p *Pass) element(e, slice ast.Expr) (types.Object, string) {
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
			if p.src(x.X) != p.src(slice) {
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
