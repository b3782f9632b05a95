package rules

import (
	"go/ast"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/report/missing"
)

var goroutinePerItem = &advise.Rule{
	Name: "goroutine-per-item", Rank: 26,
	Doc: "a goroutine is started for each item",

	NoFix: missing.ItemsMayWait,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(n ast.Node) {
			var call *ast.CallExpr
			switch n := n.(type) {
			case *ast.GoStmt:
				call = n.Call
			case *ast.CallExpr:
				call = p.Calls(n, "(*sync.WaitGroup).Go")
			}
			if call == nil || p.Loop(n) == nil {
				return
			}
			c := p.Cost(n, func(c *cost.Chain) bool {
				return c.Has("runtime.newproc", "runtime.newproc1") || c.First() == "sync.(*WaitGroup).Go" && len(c.Below) == 1
			})
			f := advise.Finding{
				Title:  "a goroutine for each item",
				Claim:  "starting a goroutine takes longer than what small items need, and all of them are in memory at once",
				Advice: "start GOMAXPROCS goroutines, each with a part of the items",
				Risk:   "items that wait for something hold up those behind them",
			}
			if loop, ok := p.Loop(n).(*ast.ForStmt); ok && loop.Cond == nil { // of a server, whose items are not there yet
				f.Claim = "starting a goroutine takes longer than what small items need"
				f.Advice = "start some goroutines before the loop, which take items from a channel"
			}
			p.Report(n, c, f)
		})
	},
}
