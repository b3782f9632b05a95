package rules

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/report/missing"
)

var falseSharing = &advise.Rule{
	Name: "false-sharing", Rank: 47,
	Doc: "goroutines count in words that share a cache line",

	NoFix: missing.OtherElements,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			fn := p.Callee(call)
			if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "sync/atomic" || !strings.HasPrefix(fn.Name(), "Add") && !strings.HasPrefix(fn.Name(), "Store") {
				return
			}
			var index *ast.IndexExpr
			ast.Inspect(call, func(n ast.Node) bool {
				if i, ok := n.(*ast.IndexExpr); ok && p.TypeOf(i.X) != nil {
					index = i
				}
				return index == nil
			})
			if index == nil {
				return
			}
			s, ok := p.TypeOf(index.X).Underlying().(*types.Slice)
			if !ok {
				return
			}
			size, ok := p.SizeOf(s.Elem())
			if !ok || size >= 64 {
				return
			}
			c := p.Cost(call, func(c *cost.Chain) bool {
				return len(c.Below) == 0 || strings.HasPrefix(c.First(), "sync/atomic.") || strings.HasPrefix(c.First(), "internal/runtime/atomic.")
			})
			p.Report(call, c, advise.Finding{
				Title:  "counters of several goroutines in one cache line",
				Claim:  fmt.Sprintf("%s are %d bytes each, so several share a 64-byte cache line: each write takes the line away from the other cores", p.Src(index.X), size),
				Advice: "count in a variable of the goroutine and add it up at the end; or pad each counter to 64 bytes (128 on some CPUs)",
				Risk:   "it shows only on several cores; padding takes memory",
				NoFix:  missing.OtherElementsOf.Of(p.Src(index.X)),
			})
		})
	},
}
