package rules

import (
	"go/ast"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
)

var deferInLoop = &advise.Rule{
	Name: "defer-in-loop", Rank: 10,
	Doc: "defer in a loop: a record on the heap for each round, and all of them run in the end",

	NoFix: "a call at the end of the round would not run when something panics before it",
	Find: func(p *advise.Pass) {
		advise.Each(p, func(d *ast.DeferStmt) {
			if p.Loop(d) == nil {
				return
			}
			p.Report(d, p.Cost(d, func(c *cost.Chain) bool {
				return c.Direct() && c.Has("runtime.deferproc", "runtime.deferprocStack", "runtime.newdefer", "runtime.deferprocat") || len(c.Below) == 0 && !c.OnCPU
			}), advise.Finding{
				Title:  "defer in a loop",
				Claim:  "each round keeps a call for the end of the function, in memory that it allocates; what it would set free is held until then",
				Advice: "call it at the end of the round, or make the body of the loop a function",
				Risk:   "with a panic in between, a call that is not deferred does not happen",
			})
		})
	},
}
