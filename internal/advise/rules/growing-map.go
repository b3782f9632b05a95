package rules

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/report/missing"
)

var growingMap = &advise.Rule{
	Name: "growing-map", Rank: 0,
	Doc: "a map only ever grows",

	NoFix: missing.EntriesNeeded,
	Find: func(p *advise.Pass) {
		if p.Costs.Total[cost.InUse] == 0 {
			return
		}
		advise.Each(p, func(st *ast.AssignStmt) {
			if len(st.Lhs) != 1 {
				return
			}
			index, ok := st.Lhs[0].(*ast.IndexExpr)
			if !ok || p.TypeOf(index.X) == nil || !kind.IsMap(p.TypeOf(index.X)) {
				return
			}
			v, ok := p.Object(index.X).(*types.Var)
			if !ok || !v.IsField() && v.Parent() != p.Pkg.Types.Scope() || shrinks(p.Func, v) {
				return
			}
			// What lives on because of it is what this function allocated, or had allocated.
			var c cost.Cost
			for _, l := range p.Lines {
				if l.Cum[cost.InUse] > c[cost.InUse] {
					c = cost.Cost{cost.InUse: l.Cum[cost.InUse], cost.InUseSpread: l.Cum[cost.InUseSpread]}
				}
			}
			if p.Costs.Surely(&c, cost.InUse) < 0.2 {
				return
			}
			p.Report(st, c, advise.Finding{
				Title:  "map that only grows",
				Claim:  fmt.Sprintf("nothing in the package ever deletes from %s, so its entries stay in memory forever", p.Src(index.X)),
				Advice: "delete finished entries, or limit the size and drop the oldest",
				Risk:   "entries that are deleted too early are missing later",
				NoFix:  missing.EntriesOfNeeded.Of(p.Src(index.X)),
			})
		})
	},
}

// shrinks reports whether anything in the package makes a map smaller: deletes from it, clears it, puts another in its place, or
// hands it to somebody who could.
func shrinks(of *code.Func, v *types.Var) bool {
	found := false
	for _, f := range of.Pkg.Files {
		var inNil []ast.Node // the body of: if m == nil
		ast.Inspect(f.AST, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt:
				if b, ok := n.Cond.(*ast.BinaryExpr); ok && of.Object(b.X) == v {
					inNil = append(inNil, n.Body)
				}
			case *ast.CallExpr:
				for i, a := range n.Args {
					if of.Object(a) != v {
						continue
					}
					fn, isID := ast.Unparen(n.Fun).(*ast.Ident)
					if !isID || i > 0 || fn.Name != "len" {
						found = true
					}
				}
			case *ast.AssignStmt:
				for _, l := range n.Lhs {
					if of.Object(l) == v && !slices.ContainsFunc(inNil, func(b ast.Node) bool { return code.Within(n, b) }) {
						found = true
					}
				}
				for _, r := range n.Rhs {
					if of.Object(r) == v {
						found = true
					}
				}
			case *ast.ReturnStmt:
				for _, r := range n.Results {
					if of.Object(r) == v {
						found = true
					}
				}
			}
			return !found
		})
	}
	return found
}
