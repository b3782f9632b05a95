package rules

import (
	"go/ast"
	"slices"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/symbol"
)

var readAll = &advise.Rule{
	Name: "read-all", Rank: 43,
	Doc: "a body is read into a slice that grows, to be decoded from there",

	NoFix: "the code does not say how long a body may be",
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			if p.Calls(call, "io.ReadAll", "io/ioutil.ReadAll") == nil {
				return
			}
			c := p.Cost(call, func(c *cost.Chain) bool {
				return slices.Contains([]string{"io.ReadAll", "io/ioutil.ReadAll"}, c.First()) && (len(c.Below) == 1 || symbol.IsRuntime(c.Below[1]) || c.Below[1] == "io.ReadAll")
			})
			f := advise.Finding{
				Title:  "body read into a slice that grows",
				Claim:  "io.ReadAll begins with 512 bytes and makes a larger slice whenever they are full",
				Advice: "where the length is known, such as from ContentLength, read into a buffer of that size, after a look at whether it is reasonable; or use a bytes.Buffer again, from a pool",
				Risk:   "a length that a peer sends is not to be trusted",
			}
			p.Report(call, c, f)
		})
	},
}
