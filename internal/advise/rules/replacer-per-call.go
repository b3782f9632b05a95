package rules

import (
	"go/ast"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var replacerPerCall = &advise.Rule{
	Name: "replacer-per-call", Rank: 42, PerCall: true,
	Doc: "a strings.Replacer that is always the same is built on every call",

	NoFix: missing.SameStrings,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			if p.Calls(call, "strings.NewReplacer") == nil {
				return
			}
			// It builds its tables when it is first used, which is on another line.
			c := p.Total(func(c *cost.Chain) bool {
				return c.First() == "strings.NewReplacer" || c.Has("strings.(*Replacer).build", "strings.(*Replacer).buildOnce", "strings.(*Replacer).buildOnce-fm")
			})
			f := advise.Finding{
				Title:  "Replacer built on every call",
				Claim:  "each call builds a new Replacer, whose tables are built on first use and used only once; a Replacer is safe for concurrent use",
				Callee: "strings.(*Replacer).build",
				Risk:   "none, but its tables stay in memory",
				Advice: "keep one in a package variable",
			}
			if !flow.AllConst(p.Func, call) {
				f.Advice = "keep one for each fixed set of replacements"
				f.NoFix = missing.SameEachCall.Of(flow.Changing(p.Func, call))
			} else if len(call.Args)%2 == 1 {
				f.NoFix = missing.PanicsAtStart.Of(p.Src(call.Fun))
			} else {
				v := p.NewName(text.LowerFirst(p.Decl.Name.Name) + "Replacer")
				f.Fixes = p.Fix(report.Mechanical, "keep one in a package variable", edit.Hoisted(p.Func, call, v)...)
			}
			p.Report(call, c, f)
		})
	},
}
