package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/advise/facts/owner"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var literalPerCall = &advise.Rule{
	Name: "literal-per-call", Rank: 3, PerCall: true,
	Doc: "a map or slice that is always the same is made for every call",

	NoFix: missing.ResultMayChange,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(lit *ast.CompositeLit) {
			t := p.TypeOf(lit)
			if t == nil || len(lit.Elts) == 0 || p.Startup(lit) || !literalOfConstants(p.Func, lit, 0) {
				return
			}
			if _, inner := p.Parent(lit).(*ast.CompositeLit); inner {
				return // which is told as a whole
			}
			if _, inner := p.Parent(lit).(*ast.KeyValueExpr); inner {
				return
			}
			what := "slice"
			switch t.Underlying().(type) {
			case *types.Map:
				what = "map"
			case *types.Slice:
			default:
				return
			}
			v := declaredAs(p, lit)
			c := p.Cost(lit, cost.Either(inMap, cost.Allocates("newobject", "makeslice")))
			f := advise.Finding{
				Title:  fmt.Sprintf("same %s made on every call", what),
				Claim:  fmt.Sprintf("all that is in the %s is constant, and %s makes it anew on each call", what, p.Callable(lit)),
				Advice: "make it once, in a variable of the package",
				Risk:   "none, but that it is made when the program starts", Safe: true,
			}
			switch {
			case v != nil && !(flow.OnlyRead(p.Func, v, p.Parent(lit).(*ast.AssignStmt)) && owner.AllReadOnly(p.Func, v, 3)):
				f.NoFix = missing.MayBeChangedOrKept.Of(v.Name())
			case v == nil && !owner.ReadOnly(p.Func, lit):
				return // which may be there to be kept
			case p.Worth(c):
				f.Fixes = p.Fix(report.Mechanical, "make it once", edit.Hoisted(p.Func, lit, literalName(p, lit, v))...)
			}
			if f.Fixes != nil || !p.Told(p.Line(lit.Pos()), p.Line(lit.End())) {
				p.Report(lit, c, f)
			}
		})
	},
}

// declaredAs returns the variable that is declared with a literal as its value, and nothing else, or nil.
func declaredAs(p *advise.Pass, lit *ast.CompositeLit) *types.Var {
	st, ok := p.Parent(lit).(*ast.AssignStmt)
	if !ok || st.Tok != token.DEFINE || len(st.Lhs) != 1 {
		return nil
	}
	return p.Local(st.Lhs[0])
}

// literalName returns a name for a variable of the package with what is in a literal.
func literalName(p *advise.Pass, lit *ast.CompositeLit, v *types.Var) string {
	if v != nil {
		if name := p.PackageName(v); name == v.Name() {
			return name
		}
		return p.NewName(text.LowerFirst(p.Decl.Name.Name) + upperFirst(v.Name()))
	}
	if kind.IsMap(p.TypeOf(lit)) {
		return p.NewName(text.LowerFirst(p.Decl.Name.Name) + "Map")
	}
	return p.NewName(text.LowerFirst(p.Decl.Name.Name) + "List")
}
