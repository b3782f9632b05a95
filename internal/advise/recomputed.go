package advise

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/report"
)

// workedOut makes a field hold what a function makes of it, from when its struct is made: where all that uses the field asks that
// function, which looks at nothing else, and each value of the type comes from a literal that sets the field.
func (p *Pass) workedOut(fn *types.Func, field *types.Var) []report.Fix {
	owner := p.ownerOf(field)
	switch {
	case !p.pure(fn, 3):
		p.why = "that the function only looks at its argument is not known"
		return nil
	case owner == nil || p.shown(owner):
		p.why = "others could see what is in the field"
		return nil
	case p.unit.Name != "main" && owner.(*types.Named).Obj().Exported():
		p.why = "others could make a value of the type without the field"
		return nil
	}
	above := p.unit.above()
	var edits []edit
	good := true
	at := func(n ast.Node) {
		good = good && p.file.ast.FileStart <= n.Pos() && n.Pos() < p.file.ast.FileEnd
	}
	wrap := func(e ast.Expr) {
		at(e)
		edits = append(edits, before(e, fn.Name()+"("), after(e, ")"))
	}
	for id, o := range p.info().Uses {
		switch {
		case o == field:
			if kv, ok := above[id].(*ast.KeyValueExpr); ok && kv.Key == id {
				wrap(kv.Value)
				continue
			}
			sel, ok := above[id].(*ast.SelectorExpr)
			if !ok {
				continue
			}
			call, ok := above[sel].(*ast.CallExpr)
			if !ok || len(call.Args) != 1 || call.Args[0] != sel || p.callee(call) != fn {
				good = false
				continue
			}
			at(call)
			edits = append(edits, newEdit(call.Pos(), sel.Pos(), ""), newEdit(sel.End(), call.End(), ""))
		case o == owner.(*types.Named).Obj():
			switch up := above[id].(type) {
			case *ast.StarExpr:
			case *ast.CompositeLit:
				good = good && up.Type == id
			default:
				good = false // there may be values whose field was never set
			}
		}
	}
	index := slices.Index(slices.Collect(owner.Underlying().(*types.Struct).Fields()), field)
	for e, tv := range p.info().Types {
		lit, ok := e.(*ast.CompositeLit)
		if !ok || !types.Identical(tv.Type, owner) {
			continue
		}
		if len(lit.Elts) > 0 {
			if _, keyed := lit.Elts[0].(*ast.KeyValueExpr); !keyed {
				wrap(lit.Elts[index])
				continue
			}
		}
		good = good && slices.ContainsFunc(lit.Elts, func(e ast.Expr) bool {
			id, ok := e.(*ast.KeyValueExpr).Key.(*ast.Ident)
			return ok && p.info().Uses[id] == field
		})
	}
	if !good {
		p.why = "the field is used otherwise, too, or somewhere not set"
		return nil
	}
	slices.SortFunc(edits, func(a, b edit) int { return int(a.from - b.from) })
	return p.fix(report.Mechanical, fmt.Sprintf("keep the result of %s in the field", fn.Name()), edits...)
}
