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
	"github.com/hone-perf/hone/internal/advise/facts/loops"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var objectsOneByOne = &advise.Rule{
	Name: "objects-one-by-one", Rank: 8,
	Doc: "objects are allocated one by one for a slice that is filled with them",

	NoFix: missing.ObjectsUnknown,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(loop *ast.RangeStmt) {
			key, ok := loop.Key.(*ast.Ident)
			if !ok || key.Name == "_" || loop.Tok != token.DEFINE || kind.IsMap(p.TypeOf(loop.X)) || kind.IsString(p.TypeOf(loop.X)) {
				return
			}
			for _, st := range loop.Body.List {
				assign, ok := st.(*ast.AssignStmt)
				if !ok || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 {
					continue
				}
				index, ok := assign.Lhs[0].(*ast.IndexExpr)
				if !ok || kind.IsMap(p.TypeOf(index.X)) || p.Src(index.Index) != key.Name {
					continue
				}
				if t := newObject(p.Func, assign.Rhs[0]); t != "" {
					objectInLoop(p, loop, key, assign, t)
				}
			}
		})
	},
}

// newObject returns the type of what an expression allocates, when it has no values yet: new(T), &T{}.
func newObject(f *code.Func, e ast.Expr) string {
	if call := f.Builtin(e, "new"); call != nil && f.Info().Types[call.Args[0]].IsType() {
		return f.Src(call.Args[0])
	}
	if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.AND {
		if lit, ok := u.X.(*ast.CompositeLit); ok && len(lit.Elts) == 0 && lit.Type != nil {
			switch f.TypeOf(lit).Underlying().(type) {
			case *types.Slice, *types.Map:
				return "" // which are not nil
			}
			return f.Src(lit.Type)
		}
	}
	return ""
}

func objectInLoop(p *advise.Pass, loop *ast.RangeStmt, key *ast.Ident, st *ast.AssignStmt, t string) {
	f := advise.Finding{
		Title:  "objects allocated one by one",
		Claim:  fmt.Sprintf("each round allocates a %s; one array of them is one allocation, and they lie next to each other", t),
		Advice: "allocate all of them as one slice, and take the addresses of its elements",
		Risk:   "all of them stay in memory as long as one of them is used",
	}
	if flow.Assigns(p.Func, loop.Body, func(o types.Object) bool { return o == p.Info().ObjectOf(key) }) {
		f.NoFix = missing.LoopChangesKey.Of(key.Name)
	}
	if n, ok := loops.Rounds(p.Func, loop); ok && !flow.Assigns(p.Func, loop.Body, func(o types.Object) bool { return o == p.Info().ObjectOf(key) }) && p.Statement(loop) == loop {
		all := p.LocalName("all")
		f.Fixes = p.Fix(report.Ownership, "allocate all of them as one slice",
			edit.Before(loop, fmt.Sprintf("%s := make([]%s, %s)\n", all, t, n)), edit.Replace(st.Rhs[0], fmt.Sprintf("&%s[%s]", all, key.Name)))
	}
	p.Report(st, p.Cost(st, cost.Allocates("newobject")), f)
}
