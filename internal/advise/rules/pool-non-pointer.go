package rules

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/calls"
	"github.com/hone-perf/hone/internal/report/missing"
)

var poolNonPointer = &advise.Rule{
	Name: "pool-non-pointer", Rank: 12, PerCall: true,
	Doc: "a value that is put into a sync.Pool is not a pointer, so Put allocates",

	NoFix: missing.OtherPool,
	Find: func(p *advise.Pass) {
		var pools []string
		puts := map[string]*several{} // by pool, which has one patch for all
		advise.Each(p, func(call *ast.CallExpr) {
			if p.Calls(call, "(*sync.Pool).Put") == nil {
				return
			}
			t := p.TypeOf(call.Args[0])
			switch t.Underlying().(type) {
			case *types.Pointer, *types.Map, *types.Chan, *types.Signature, *types.Interface:
				return
			}
			c := p.Cost(call, calls.Boxing(p.Func, call))
			shown := types.TypeString(t, p.Qualifier())
			f := advise.Finding{
				Title:  "sync.Pool.Put of a value that is not a pointer",
				Claim:  fmt.Sprintf("Put takes an interface, and a %s does not fit into one: each Put allocates a copy of it", shown),
				Advice: "put a pointer into the pool, and keep it with what it points to until then",
				Risk:   "Get returns another type then, everywhere",
			}
			if others := otherPuts(p, call); len(others) > 0 {
				f.Claim += "; so does Put at " + strings.Join(others, ", ")
			}
			if p.Worth(c) {
				if f.Fixes = pointersInPool(p, call); len(f.Fixes) > 0 {
					f.Risk, f.Safe = "none: the function keeps the pointer from Get to Put, and nothing else uses the pool", true
				}
			}
			pool := p.Src(call.Fun.(*ast.SelectorExpr).X)
			if puts[pool] == nil {
				pools, puts[pool] = append(pools, pool), new(several)
			}
			f.NoFix = p.Why
			puts[pool].add(p, call, c, f)
		})
		for _, pool := range pools {
			p.Why = missing.Reason{} // each has its own
			puts[pool].report(p)
		}
	},
}

// otherPuts returns where the package puts other values of the same type into a pool.
func otherPuts(p *advise.Pass, call *ast.CallExpr) (out []string) {
	put := p.Callee(call)
	above := p.Pkg.Above()
	for _, file := range p.Pkg.Files {
		ast.Inspect(file.AST, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok || p.Info().Uses[id] != types.Object(put) {
				return true
			}
			other, ok := above[above[id]].(*ast.CallExpr)
			if ok && other != call && len(other.Args) == 1 && types.Identical(p.TypeOf(other.Args[0]), p.TypeOf(call.Args[0])) {
				out = append(out, fmt.Sprintf("%s:%d", file.Name, file.Tok.Line(other.Pos())))
			}
			return true
		})
	}
	slices.Sort(out)
	return out
}
