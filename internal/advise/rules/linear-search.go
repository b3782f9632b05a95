package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/report/missing"
)

var linearSearch = &advise.Rule{
	Name: "linear-search", Rank: 0,
	Doc: "a list is searched from its beginning again and again",

	NoFix: missing.ListIsParameter,
	Find: func(p *advise.Pass) {
		// A function that does nothing but search one.
		var loop *ast.RangeStmt
		for _, s := range p.Decl.Body.List {
			if r, ok := s.(*ast.RangeStmt); ok && loop == nil {
				loop = r
			}
		}
		if loop == nil || len(p.Decl.Body.List) > 2 || len(loop.Body.List) != 1 {
			return
		}
		cond, ok := loop.Body.List[0].(*ast.IfStmt)
		if !ok || cond.Else != nil || len(cond.Body.List) != 1 {
			return
		}
		cmp, ok := cond.Cond.(*ast.BinaryExpr)
		_, returns := cond.Body.List[0].(*ast.ReturnStmt)
		list := p.Local(loop.X)
		if !ok || cmp.Op != token.EQL || !returns || list == nil || !p.IsParam(list) {
			return
		}
		if _, ok := list.Type().Underlying().(*types.Slice); !ok {
			return
		}
		c := p.Total(func(c *cost.Chain) bool {
			return len(c.Below) == 0 && c.OnCPU || c.Has("runtime.memequal", "memeqbody")
		})
		if p.Costs.Surely(&c, cost.CPU) < 0.05 {
			return // short lists are what it is good for
		}
		claim := "%s looks at each element to find out whether something is in a list, so that each search takes longer the longer the list is"
		ast.Inspect(p.Decl.Body, func(n ast.Node) bool {
			if p.Builtin(n, "append") != nil {
				claim = "%s looks at each element to find out whether something is in a list before it is added, so that a list of n costs n² steps to fill"
			}
			return true
		})
		p.Report(loop, c, advise.Finding{
			Title:  "lists searched from the beginning",
			Claim:  fmt.Sprintf(claim, p.Decl.Name.Name),
			Advice: "where elements are objects or small numbers, mark those that are in: with a field, a []bool, or the number of the round; where lists are long, a map or a sorted list",
			Risk:   "marks have to be taken away again, or numbered by round",
			NoFix:  missing.ListIsParameterOf.Of(list.Name()),
		})
	},
}
