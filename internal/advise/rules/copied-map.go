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

var copiedMap = &advise.Rule{
	Name: "copied-map", Rank: 4,
	Doc: "a map is copied to a new one entry by entry",

	NoFix: missing.OlderGo,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(loop *ast.RangeStmt) {
			m, decl := copies(p.Func, loop)
			if m == nil {
				return
			}
			c := p.Cost(loop, func(c *cost.Chain) bool { return c.OnCPU || len(c.Below) == 0 })
			made := p.Cost(decl, func(c *cost.Chain) bool { return c.OnCPU || len(c.Below) == 0 })
			c.Add(&made)
			if c[cost.ObjectsMade]+c[cost.BytesMade] == 0 {
				return
			}
			from := p.Src(loop.X)
			f := advise.Finding{
				Title:  "map copied entry by entry",
				Claim:  fmt.Sprintf("each entry of %s is hashed and looked up in %s, whose tables grow on the way", from, m.Name()),
				Advice: "maps.Clone copies the tables as they are",
				Risk:   fmt.Sprintf("the copy has as much room as %s, also for entries that were deleted", from),
				Also:   []ast.Node{decl},
			}
			if !p.Pkg.AtLeast(21) { // which has package maps
				f.NoFix = missing.OlderGo.Of(21, "maps.Clone")
			} else if p.Worth(c) {
				p.Need("maps")
				empty := p.Src(decl.Rhs[0])
				if made := p.Builtin(decl.Rhs[0], "make"); made != nil {
					empty = "make(" + p.Src(made.Args[0]) + ")"
				}
				f.Fixes = p.Fix(report.Mechanical, "clone it", edit.Replace(decl, fmt.Sprintf("%s := maps.Clone(%s)", m.Name(), from)),
					edit.Replace(loop, p.CommentsIn(loop)+fmt.Sprintf("if %[1]s == nil {\n%[1]s = %[2]s\n}", m.Name(), empty)))
			}
			p.Report(loop, c, f)
		})
	},
}

// copies returns the map that a loop does nothing but copy another one of the same type to, and the statement just before it that makes it; or nil.
func copies(f *code.Func, loop *ast.RangeStmt) (*types.Var, *ast.AssignStmt) {
	if loop.Tok != token.DEFINE || loop.Value == nil || len(loop.Body.List) != 1 || !kind.IsMap(f.TypeOf(loop.X)) || !flow.Simple(f, loop.X) {
		return nil, nil
	}
	st, ok := loop.Body.List[0].(*ast.AssignStmt)
	if !ok || st.Tok != token.ASSIGN || len(st.Lhs) != 1 || len(st.Rhs) != 1 {
		return nil, nil
	}
	to, ok := st.Lhs[0].(*ast.IndexExpr)
	if !ok || !isLoopVariable(f, to.Index, loop.Key) || !isLoopVariable(f, st.Rhs[0], loop.Value) {
		return nil, nil
	}
	m := f.Local(to.X)
	if m == nil || !types.Identical(m.Type(), f.TypeOf(loop.X)) || f.MentionsVar(loop.X, m) {
		return nil, nil
	}
	d, value := f.Declared(m)
	decl, ok := d.(*ast.AssignStmt)
	if !ok || decl.Tok != token.DEFINE || len(decl.Lhs) != 1 || !flow.Follows(f, loop, decl) || f.Statement(loop) != ast.Stmt(loop) {
		return nil, nil
	}
	if made := f.Builtin(value, "make"); made != nil {
		if len(made.Args) > 1 && f.Src(made.Args[1]) != "len("+f.Src(loop.X)+")" {
			return nil, nil // it has room for more than the copy
		}
		return m, decl
	}
	if lit, isLit := value.(*ast.CompositeLit); !isLit || len(lit.Elts) > 0 {
		return nil, nil
	}
	return m, decl
}

// isLoopVariable reports whether an expression is a variable that a loop declares.
func isLoopVariable(f *code.Func, e, declared ast.Expr) bool {
	id, ok := ast.Unparen(e).(*ast.Ident)
	name := code.AsIdent(declared)
	return ok && name != nil && f.Info().Defs[name] != nil && f.Info().Uses[id] == f.Info().Defs[name]
}
