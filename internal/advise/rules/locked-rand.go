package rules

import (
	"go/ast"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/report/missing"
)

var lockedRand = &advise.Rule{
	Name: "locked-rand", Rank: 34,
	Doc: "random numbers come from one source with a mutex",

	NoFix: missing.OtherNumbers,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			fn := p.Callee(call)
			if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "math/rand" {
				return
			}
			c := p.Cost(call, func(c *cost.Chain) bool {
				return c.First() == p.ProfileName(fn) && slices.ContainsFunc(c.Below, func(b string) bool { return strings.HasPrefix(b, "math/rand.(*lockedSource).") })
			})
			p.Report(call, c, advise.Finding{
				Title:  "random numbers behind a mutex",
				Claim:  "the functions of math/rand share one source, with a mutex since somebody called rand.Seed, or GODEBUG=randautoseed=0 is set",
				Advice: "math/rand/v2, whose functions need none; or a source for each goroutine where the numbers have to be the same each time",
				Risk:   "other numbers come out for the same seed",
			})
		})
	},
}
