package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

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

var preallocMap = &advise.Rule{
	Name: "prealloc-map", Rank: 4,
	Doc: "a map grows step by step to a size that is known in advance",

	NoFix: missing.EntriesUnknown,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(loop ast.Stmt) {
			body := loops.BodyOf(loop)
			if body == nil {
				return
			}
			if r, ok := loop.(*ast.RangeStmt); ok && p.Pkg.AtLeast(21) {
				if m, _ := copies(p.Func, r); m != nil {
					return // copied-map has the word
				}
			}
			for _, st := range body.List {
				assign, ok := st.(*ast.AssignStmt)
				if !ok || len(assign.Lhs) != 1 || assign.Tok != token.ASSIGN {
					continue
				}
				index, ok := assign.Lhs[0].(*ast.IndexExpr)
				if !ok {
					continue
				}
				m := p.Local(index.X)
				if m == nil || !kind.IsMap(m.Type()) || m.Pos() > loop.Pos() {
					continue
				}
				grownMap(p, loop, assign, m)
			}
		})
	},
}

func grownMap(p *advise.Pass, loop ast.Stmt, st *ast.AssignStmt, m *types.Var) {
	decl, value := p.Declared(m)
	made := p.Builtin(value, "make")
	lit, isLit := value.(*ast.CompositeLit)
	if made != nil && len(made.Args) > 1 || made == nil && (!isLit || len(lit.Elts) > 0) {
		return
	}
	if mostlyBegins(p.Cost(st, mapBegins), p.Cost(st, mapGrows)) {
		return
	}
	c := p.Cost(st, func(c *cost.Chain) bool { return len(c.Below) == 0 && !c.OnCPU || mapGrows(c) })
	f := advise.Finding{
		Title:  "map grown step by step",
		Claim:  fmt.Sprintf("%s is made without a size, so it grows and rehashes its entries again and again", m.Name()),
		Advice: "make it with room for all entries",
		Risk:   "none; with many equal keys, some of the room is unused", Safe: true,
	}
	n, _, ok := loops.AtMost(p.Func, loop)
	ok = ok && (loops.IsLength(n) || !loops.Returns(loops.BodyOf(loop))) // a number may be any, and the loop is left long before
	over, _ := loop.(*ast.RangeStmt)
	x := loops.Over(p.Func, loop)
	var t ast.Expr
	if isLit {
		t = lit.Type
	} else {
		t = made.Args[0]
	}
	outer := merges(p.Func, decl, over)
	var in ast.Node = loop
	if outer != nil {
		in = outer
	}
	if !onlyFilled(p.Func, in, m) {
		f.NoFix = missing.LoopUses.Of(m.Name())
		f.Advice = "make it with room for the usual number of entries"
	} else if outer != nil {
		n := p.NewLocal("n")
		f.Fixes = p.Fix(report.Mechanical, "make it with room for all entries of all of them",
			edit.Before(decl, fmt.Sprintf("%s := 0\nfor _, %s := range %s {\n%s += len(%s)\n}\n", n, p.Src(over.X), p.Src(outer.X), n, p.Src(over.X))),
			edit.Replace(value, fmt.Sprintf("make(%s, %s)", p.Src(t), n)))
	} else if ok && decl != nil && (flow.Follows(p.Func, loop, decl) || x != nil && (flow.Between(p.Func, decl, loop, x) || flow.Known(p.Func, decl, loop, x))) && !loops.Leaves(p.Func, loops.BodyOf(loop)) {
		if k := setBetween(p.Func, decl, loop, m); k > 0 {
			n = fmt.Sprintf("%d+%s", k, n)
		}
		f.Fixes = p.Fix(report.Mechanical, "make it with room for all entries", edit.Replace(value, fmt.Sprintf("make(%s, %s)", p.Src(t), n)))
	} else if ok && decl != nil && loops.Leaves(p.Func, loops.BodyOf(loop)) {
		f.NoFix = missing.RoundsMayEnd.Of()
	} else if ok {
		f.NoFix = missing.CountMayDiffer.Of(n, m.Name())
	}
	p.Report(st, c, f)
}

// setBetween counts the statements between two of a list that set an entry of a map.
func setBetween(f *code.Func, from, to ast.Stmt, m *types.Var) (n int) {
	block, ok := f.Parent(to).(*ast.BlockStmt)
	if !ok {
		return 0
	}
	for _, st := range block.List[slices.Index(block.List, from)+1 : slices.Index(block.List, to)] {
		assign, ok := st.(*ast.AssignStmt)
		if !ok || len(assign.Lhs) != 1 || assign.Tok != token.ASSIGN {
			continue
		}
		if index, ok := assign.Lhs[0].(*ast.IndexExpr); ok && f.Local(index.X) == m {
			n++
		}
	}
	return n
}

// onlyFilled reports whether a loop does nothing with a map but look up entries, set them and count them. To clear a map or to go through it takes
// longer the more room it has, and another one in its place has fewer entries.
func onlyFilled(f *code.Func, loop ast.Node, m *types.Var) bool {
	return !slices.ContainsFunc(f.Uses(m), func(id *ast.Ident) bool {
		if !code.Within(id, loop) {
			return false
		}
		switch up := f.Parent(id).(type) {
		case *ast.IndexExpr:
			return up.X != ast.Expr(id)
		case *ast.CallExpr:
			return f.Builtin(up, "len") == nil
		}
		return true
	})
}

// merges returns the loop around a loop that goes through each of its elements in turn, from their beginning to their end, where how
// many that are can be counted where a variable is declared before it.
func merges(f *code.Func, decl ast.Stmt, loop *ast.RangeStmt) *ast.RangeStmt {
	if loop == nil {
		return nil
	}
	outer, ok := f.Loop(loop).(*ast.RangeStmt)
	if !ok || decl == nil || outer.Tok != token.DEFINE || !slices.Contains(outer.Body.List, ast.Stmt(loop)) || f.Statement(outer) != outer {
		return nil
	}
	v, ok := outer.Value.(*ast.Ident)
	x, isID := loop.X.(*ast.Ident)
	if !ok || !isID || f.Info().Defs[v] == nil || f.Info().Uses[x] != f.Info().Defs[v] || loops.Leaves(f, outer.Body) || loops.Leaves(f, loop.Body) {
		return nil
	}
	switch f.TypeOf(outer.X).Underlying().(type) {
	case *types.Slice, *types.Map:
	default:
		return nil
	}
	switch f.TypeOf(x).Underlying().(type) {
	case *types.Slice, *types.Map:
	default:
		return nil
	}
	if !flow.Between(f, decl, outer, outer.X) && !flow.Known(f, decl, outer, outer.X) || flow.Assigns(f, outer.Body, func(o types.Object) bool { return o == f.Info().Defs[v] }) {
		return nil
	}
	return outer
}
