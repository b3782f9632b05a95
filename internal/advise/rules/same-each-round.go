package rules

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/calls"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var sameEachRound = &advise.Rule{
	Name: "same-each-round", Rank: 3,
	Doc: "a result that is the same in all rounds of a loop is computed in each of them",

	NoFix: missing.SameEachCall,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			if p.Callee(call) == nil || !canWait(p.Func, call) || p.TypeOf(call) == nil || kind.Refers(p.TypeOf(call)) {
				return // or a round may change what the next one would see
			}
			loop := invariantIn(p.Func, call)
			if loop == nil || p.Statement(loop) != loop {
				return
			}
			if up, ok := p.Parent(call).(*ast.CallExpr); ok && p.Callee(up) != nil && canWait(p.Func, up) && invariantIn(p.Func, up) != nil {
				return // which is told as a whole
			}
			src := p.Src(call)
			var same []*ast.CallExpr
			first := true
			ast.Inspect(loop, func(n ast.Node) bool {
				if other, ok := n.(*ast.CallExpr); ok && p.Src(other) == src && p.Callee(other) == p.Callee(call) {
					first = first && (len(same) > 0 || other == call)
					same = append(same, other)
				}
				return true
			})
			if !first {
				return // it is told with the first of them
			}
			var c cost.Cost
			lines := map[int]bool{}
			var also []ast.Node
			for _, one := range same {
				if at := p.Line(one.Pos()); !lines[at] {
					lines[at] = true
					v := p.Cost(one, calls.Calling(p.Func, one))
					c.Add(&v)
					also = append(also, one)
				}
			}
			if others := othersOf(p.Func, loop, call); others > 1 { // on the same lines: they cannot be told apart
				for m := range c {
					c[m] /= int64(others)
				}
			}
			fn := p.Callee(call)
			f := advise.Finding{
				Title:  "same result computed in every round of a loop",
				Claim:  fmt.Sprintf("%s is the same in all rounds of the loop", src),
				Advice: "compute it once, before the loop",
				Callee: p.ProfileName(fn),
				Risk:   "none, but that it is computed when there is no round", Safe: true,
				Also: also,
			}
			if p.Worth(c) {
				name := text.LowerFirst(strings.TrimPrefix(fn.Name(), "To"))
				if len(call.Args) == 1 && p.Local(call.Args[0]) != nil {
					name += upperFirst(p.Src(call.Args[0]))
				}
				name = p.LocalName(name)
				if v := declaredBy(p, call); v != nil && p.LocalName(v.Name()) == v.Name()+"2" {
					name = v.Name()
				}
				var edits []edit.Edit
				edits = append(edits, edit.Before(loop, fmt.Sprintf("%s := %s\n", name, src)))
				for _, one := range same {
					if v := declaredBy(p, one); v != nil && v.Name() == name {
						st := p.Parent(one)
						edits = append(edits, edit.New(st.Pos(), edit.NextLine(p.Func, st), ""))
						continue
					}
					edits = append(edits, edit.Replace(one, name))
				}
				f.Fixes = p.Fix(report.Mechanical, "compute it before the loop", edits...)
			}
			p.Report(call, c, f)
		})
	},
}

// declaredBy returns the variable that a statement of a list declares with the result of a call, and that is not changed, or nil.
func declaredBy(p *advise.Pass, call *ast.CallExpr) *types.Var {
	st, ok := p.Parent(call).(*ast.AssignStmt)
	if !ok || len(st.Lhs) != 1 || p.Statement(st) != ast.Stmt(st) {
		return nil
	}
	id := code.AsIdent(st.Lhs[0])
	if id == nil {
		return nil
	}
	v, ok := p.Info().Defs[id].(*types.Var)
	if !ok || !flow.OnlyRead(p.Func, v, st) {
		return nil
	}
	return v
}

// othersOf counts the other calls of the same function on the same lines of a loop.
func othersOf(f *code.Func, loop ast.Stmt, call *ast.CallExpr) (n int) {
	at := f.Line(call.Pos())
	ast.Inspect(loop, func(x ast.Node) bool {
		if other, ok := x.(*ast.CallExpr); ok && f.Callee(other) == f.Callee(call) && f.Line(other.Pos()) == at {
			n++
		}
		return true
	})
	return n
}

// invariantIn returns the outermost loop around an expression in whose rounds it always has the same value, or nil.
func invariantIn(f *code.Func, e ast.Expr) (out ast.Stmt) {
	vars := map[types.Object]bool{}
	first := e.Pos()
	ok := true
	ast.Inspect(e, func(n ast.Node) bool {
		if id, isID := n.(*ast.Ident); isID {
			if v, isVar := f.Info().Uses[id].(*types.Var); isVar {
				vars[v] = true
				ok = ok && (v.IsField() || !flow.Captured(f, v, f.Decl.Body))
			}
		}
		return ok
	})
	if !ok || len(vars) == 0 || f.Literal(e) != nil {
		return nil
	}
	for l := f.Loop(e); l != nil; l = f.Loop(l) {
		if flow.Assigns(f, l, func(o types.Object) bool { return vars[o] }) || slices.ContainsFunc(keysOf(vars), func(o types.Object) bool { return !o.(*types.Var).IsField() && o.Pos() >= l.Pos() && o.Pos() < first }) {
			return out
		}
		out = l
	}
	return out
}

func keysOf(m map[types.Object]bool) (out []types.Object) {
	for o := range m {
		out = append(out, o)
	}
	return out
}
