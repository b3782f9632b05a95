package rules

import (
	"go/ast"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/report/missing"
)

var timePerItem = &advise.Rule{
	Name: "time-per-item", Rank: 32,
	Doc: "a timer is made, or the clock is read, in each round of a loop",

	NoFix: missing.ExactTimes,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			if p.Calls(call, "time.After", "time.NewTimer", "time.Now", "time.Since", "time.Tick") == nil || p.Loop(call) == nil {
				return
			}
			name := p.Callee(call).Name()
			f := advise.Finding{
				Title:  "time." + name + " in each round",
				Claim:  "the clock is read in each round",
				Advice: "read it once for many rounds, or before the loop",
				Risk:   "times are less exact",
				Callee: "time." + name,
			}
			if name == "After" || name == "NewTimer" || name == "Tick" {
				f.Claim = "each round makes a timer and a channel, though most of them never fire"
				f.Advice = "make one with time.NewTimer before the loop, and Reset it in each round"
				f.Risk = "before Go 1.23, a timer has to be stopped and its channel emptied before Reset"
				f.NoFix = missing.TimerToStop.Of()
			}
			p.Report(call, p.Cost(call, cost.Below("time."+name)), f)
		})
	},
}
