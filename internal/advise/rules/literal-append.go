package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/lists"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var literalAppend = &advise.Rule{
	Name: "literal-append", Rank: 4,
	Doc: "a slice literal is allocated only to be copied by append",

	NoFix: missing.LiteralUsedOtherwise,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			if p.Builtin(call, "append") == nil || len(call.Args) != 2 || !call.Ellipsis.IsValid() {
				return
			}
			list := ast.Unparen(call.Args[0])
			lit, isLit := list.(*ast.CompositeLit)
			v := p.Local(list)
			var decl ast.Stmt
			if v != nil {
				var value ast.Expr
				decl, value = p.Declared(v)
				lit, isLit = ast.Unparen(value).(*ast.CompositeLit)
			}
			if !isLit || len(lit.Elts) == 0 {
				return
			}
			of, isSlice := p.TypeOf(lit).Underlying().(*types.Slice)
			if !isSlice {
				return
			}
			size, known := p.SizeOf(of.Elem())
			if !known {
				return
			}
			if v != nil && (len(p.Uses(v)) == 0 || p.Uses(v)[0].Pos() < call.Pos() && !isTarget(call, p.Parent(call), p.Uses(v)[0])) {
				return // something else uses it before
			}
			size = cost.UpToPower(size * int64(len(lit.Elts)))
			isNew := cost.Allocates("newobject")
			c := p.Cost(lit, func(c *cost.Chain) bool { return isNew(c) && (c.OnCPU || c.Size == 0 || c.Size == size) })
			f := advise.Finding{
				Title:  "slice literal allocated to be copied",
				Claim:  fmt.Sprintf("the literal has no room for more than its %d, so append makes a larger array and copies it", len(lit.Elts)),
				Advice: "make one slice of both: slices.Concat leaves the literal on the stack",
				Risk:   "none", Safe: true,
				Also: []ast.Node{call},
			}
			if p.Worth(c) {
				f.Fixes = concatenated(p, call, lit, v, decl)
			}
			p.Report(lit, c, f)
		})
	},
}

// isTarget reports whether a name is what the result of a call of append is assigned to.
func isTarget(call *ast.CallExpr, up ast.Node, id *ast.Ident) bool {
	st, ok := up.(*ast.AssignStmt)
	return ok && st.Tok == token.ASSIGN && len(st.Lhs) == 1 && st.Lhs[0] == ast.Expr(id) && st.Rhs[0] == ast.Expr(call)
}

// concatenated is a fix that makes one slice of a literal and what is appended to it. A variable that has the literal has to be used for nothing
// else: where nothing is appended, the result would have been the same array.
func concatenated(p *advise.Pass, call *ast.CallExpr, lit *ast.CompositeLit, v *types.Var, decl ast.Stmt) []report.Fix {
	more := call.Args[1]
	if !p.Pkg.AtLeast(22) {
		return p.No(missing.OlderGo, 22, "slices.Concat")
	}
	if !types.Identical(p.TypeOf(lit), p.TypeOf(more)) {
		return p.No(missing.DifferentTypes)
	}
	const title = "make one slice of both"
	p.Need("slices")
	if v != nil && (p.Loop(call) != p.Loop(decl) || jumps(p.Func)) {
		return p.No(missing.LiteralUsedOtherwise) // where nothing is appended, the next round has the same array
	}
	if st, ok := p.Parent(call).(*ast.AssignStmt); ok && len(st.Lhs) == 1 {
		if to := p.Local(st.Lhs[0]); to != nil && !lists.RoomUnseen(p.Func, to) {
			return p.No(missing.RoomShared, to.Name())
		}
	}
	if v == nil || len(p.Uses(v)) == 1 && !flow.Captured(p.Func, v, p.Decl.Body) {
		return p.Fix(report.Mechanical, title, edit.Replace(call, fmt.Sprintf("slices.Concat(%s, %s)", p.Src(call.Args[0]), p.Src(more))))
	}
	// The variable gets another value, in the next statement.
	st, ok := p.Parent(call).(*ast.AssignStmt)
	def, isDef := decl.(*ast.AssignStmt)
	if !ok || !isTarget(call, st, p.Uses(v)[0]) || !isDef || len(def.Lhs) != 1 || !flow.Follows(p.Func, st, decl) || p.MentionsVar(more, v) ||
		!slices.Contains(def.Rhs, ast.Expr(lit)) {
		return p.No(missing.LiteralUsedOtherwise)
	}
	return p.Fix(report.Mechanical, title, edit.Before(lit, "slices.Concat("), edit.After(lit, ", "+p.Src(more)+")"), edit.New(st.Pos(), edit.NextLine(p.Func, st), ""))
}
