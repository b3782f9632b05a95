package rules

import (
	"go/ast"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/report/missing"
)

var deferInLoop = &advise.Rule{
	Name: "defer-in-loop", Rank: 10,
	Doc: "defer in a loop: each iteration allocates a record on the heap, and all of them run at the end",

	NoFix: missing.PanicsBefore,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(d *ast.DeferStmt) {
			if p.Loop(d) == nil {
				return
			}
			p.Report(d, p.Cost(d, func(c *cost.Chain) bool {
				return c.Direct() && c.Has("runtime.deferproc", "runtime.deferprocStack", "runtime.newdefer", "runtime.deferprocat") || len(c.Below) == 0 && !c.OnCPU
			}), advise.Finding{
				Title:  "defer in a loop",
				Claim:  "each iteration allocates a deferred call for the end of the function; what it would release is held until then",
				Advice: "call it at the end of the iteration, or make the loop body a function",
				Risk:   "after a panic in between, a call that is not deferred does not run",
			})
		})
	},
}
