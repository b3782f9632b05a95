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
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var invariantText = &advise.Rule{
	Name: "invariant-text", Rank: 3,
	Doc: "a string that never changes is built in every call of a function literal",

	NoFix: missing.NotBeforeLiteral,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(e *ast.BinaryExpr) {
			if e.Op != token.ADD || !kind.IsString(p.TypeOf(e)) || p.IsConst(e) || !flow.OutermostSum(p.Func, e) {
				return
			}
			lit := p.Literal(e)
			if lit == nil {
				return
			}
			operands := map[types.Object]bool{}
			ok := true
			ast.Inspect(e, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr, *ast.SelectorExpr, *ast.IndexExpr, *ast.StarExpr, *ast.SliceExpr:
					ok = ok && p.IsConst(n.(ast.Expr))
				case *ast.Ident:
					if v := p.Local(n); v != nil {
						operands[v] = true
						ok = ok && (v.Pos() < lit.Pos() || v.Pos() >= lit.End())
					} else if _, isVar := p.Info().ObjectOf(n).(*types.Var); isVar {
						ok = false
					}
				}
				return ok
			})
			if !ok || len(operands) == 0 {
				return
			}
			for o := range operands {
				v := o.(*types.Var)
				if !p.IsParam(v) || flow.Assigns(p.Func, p.Decl.Body, func(x types.Object) bool { return x == o }) {
					return // it may not have its value yet where the literal is made
				}
			}
			st := p.Statement(lit)
			if st == nil || p.Loop(lit) != nil {
				return
			}
			name := p.NewLocal("text")
			f := advise.Finding{
				Title:  "constant string built on every call",
				Claim:  fmt.Sprintf("%s is the same in every call of the function literal, since its parts are parameters of %s that nobody changes", p.Src(e), p.Decl.Name.Name),
				Advice: "build it before the function literal",
				Risk:   "it is then built even if the function literal is never called",
			}
			f.Fixes = p.Fix(report.Mechanical, "build it once", edit.Before(st, name+" := "+p.Src(e)+"\n"), edit.Replace(e, name))
			p.Report(e, p.Cost(e, cost.Allocates("concatstring")), f)
		})
	},
}
