package rules

import (
	"go/ast"
	"slices"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/symbol"
	"github.com/hone-perf/hone/internal/report/missing"
)

var readAll = &advise.Rule{
	Name: "read-all", Rank: 43,
	Doc: "a body is read into a growing slice before it is decoded",

	NoFix: missing.BodyLengthUnknown,
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
				Claim:  "io.ReadAll starts with 512 bytes and reallocates whenever the slice is full",
				Advice: "where the length is known, as from ContentLength, check that it is reasonable and read into a buffer of that size; or reuse a bytes.Buffer from a pool",
				Risk:   "a length that a peer sends is not to be trusted",
			}
			p.Report(call, c, f)
		})
	},
}
