package rules

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/lists"
	"github.com/hone-perf/hone/internal/advise/facts/loops"
	"github.com/hone-perf/hone/internal/report/missing"
)

var preallocSlice = &advise.Rule{
	Name: "prealloc-slice", Rank: 4,
	Doc: "a slice grows step by step to a length that is known in advance",

	NoFix: missing.ElementsUnknown,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(loop ast.Stmt) {
			body := loops.BodyOf(loop)
			if r, ok := loop.(*ast.RangeStmt); body == nil || ok && lists.Copies(p.Func, r) != nil {
				return // append-loop has the word
			}
			var order []*types.Var
			all := map[*types.Var][]*ast.AssignStmt{}
			for _, st := range lists.AppendsIn(p.Func, body) {
				if s := p.Local(st.Lhs[0]); s != nil && s.Pos() < loop.Pos() {
					if all[s] == nil {
						order = append(order, s)
					}
					all[s] = append(all[s], st)
				}
			}
			for _, s := range order {
				if lists.JoinOf(p.Func, s) == nil { // joined-parts has the word
					grownSlice(p, &growth{loop, body, s, all[s]})
				}
			}
		})
	},
}

// labeled returns a loop with its label, if it has one.
func labeled(f *code.Func, loop ast.Stmt) ast.Stmt {
	if l, ok := f.Parent(loop).(*ast.LabeledStmt); ok {
		return l
	}
	return loop
}

func grownSlice(p *advise.Pass, g *growth) {
	decl, value := p.Declared(g.s)
	if lists.HasRoom(p.Func, value) {
		return
	}
	inAll := slices.ContainsFunc(g.all, func(st *ast.AssignStmt) bool { return slices.Contains(g.body.List, ast.Stmt(st)) })
	if !inAll && (decl == nil || p.Parent(decl) != p.Parent(labeled(p.Func, g.loop))) {
		return // it grows over more than this loop
	}
	worst, c, also := worst(p, g.all, cost.Growing())
	f := advise.Finding{
		Title:  "slice grown step by step",
		Claim:  fmt.Sprintf("append has to make a larger array again and again, and copies %s each time", g.s.Name()),
		Advice: "make room for all of it before",
		Risk:   "none where all rounds append; else some of the room is not needed",
		Also:   also,
	}
	if g.perRound(p) == 0 {
		n, _, ok := loops.AtMost(p.Func, g.loop)
		f.Claim += "; not every round appends, so it is not known how many there will be"
		f.Advice = "if most rounds append, make room for " + map[bool]string{true: n, false: "all of them"}[ok] + "; else for what is usual"
	}
	outer := g.around(p)
	switch {
	case outer == nil:
	case g.perRound(p) == 0:
		f.Advice = "count what is appended first, or make room for what is usual, before the outer loop"
	default:
		f.Advice = "make room before the outer loop, for what all its iterations append"
	}
	if restarted(p, g) {
		f.Claim = fmt.Sprintf("append makes a larger array again and again, and copies %s each time; the loop also changes it in other ways, so the number of iterations does not say how long it gets", g.s.Name())
		f.Advice = "make room for the usual length where it starts; or start it with [:0], if nothing else keeps the slice"
		f.Risk = "some of the room is not needed; who keeps a slice of an array that is used again sees its elements change"
	}
	if !p.Worth(c) {
		p.Report(worst, c, f)
		return
	}
	if outer != nil {
		f.Fixes = countedFirst(p, g, outer, &f)
	} else {
		f.Fixes = makeRoom(p, g, &f)
	}
	if len(f.Fixes) == 0 {
		if f.Fixes = startOnStack(p, g.s, c); len(f.Fixes) > 0 {
			f.Advice += "; or start with room for a few elements, on the stack"
			f.Risk = "calls that append little clear more memory on the stack than they need"
		} else {
			f.Fixes = usualRoom(p, g.s, &f)
		}
	}
	p.Report(worst, c, f)
}
