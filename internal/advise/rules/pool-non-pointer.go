package rules

import (
	"fmt"
	"go/ast"
	"go/types"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/calls"
	"github.com/hone-perf/hone/internal/report/missing"
)

var poolNonPointer = &advise.Rule{
	Name: "pool-non-pointer", Rank: 12, PerCall: true,
	Doc: "a value that is put into a sync.Pool is not a pointer, so Put allocates",

	NoFix: missing.OtherPool,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			if p.Calls(call, "(*sync.Pool).Put") == nil {
				return
			}
			t := p.TypeOf(call.Args[0])
			switch t.Underlying().(type) {
			case *types.Pointer, *types.Map, *types.Chan, *types.Signature, *types.Interface:
				return
			}
			p.Report(call, p.Cost(call, calls.Boxing(p.Func, call)), advise.Finding{
				Title:  "sync.Pool.Put of a value that is not a pointer",
				Claim:  fmt.Sprintf("Put takes an interface, and a %s does not fit into one: each Put allocates a copy of it", t),
				Advice: "put a pointer into the pool, and keep it with what it points to until then",
				Risk:   "Get returns another type then, everywhere",
			})
		})
	},
}
