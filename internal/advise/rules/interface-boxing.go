package rules

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/calls"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/report/missing"
)

var interfaceBoxing = &advise.Rule{
	Name: "interface-boxing", Rank: 11, PerCall: true,
	Doc: "values move to the heap when they are converted to an interface",

	NoFix: missing.OtherSignature,
	Find: func(p *advise.Pass) {
		lines := map[int]bool{}
		advise.Each(p, func(call *ast.CallExpr) {
			fn := p.Callee(call)
			if p.Info().Types[call.Fun].IsType() || fn != nil && fn.Pkg() != nil && slices.Contains([]string{"fmt", "log", "log/slog", "errors", "reflect", "sort"}, fn.Pkg().Path()) {
				return // of which other rules speak
			}
			if p.Calls(call, "(*sync.Pool).Put") != nil {
				return // pool-non-pointer knows what to do about it
			}
			if p.Info().Types[call.Fun].IsBuiltin() && p.Builtin(call, "append") == nil {
				return // nobody can change panic or delete
			}
			sig, ok := p.TypeOf(call.Fun).(*types.Signature)
			if !ok || lines[p.Line(call.Lparen)] {
				return
			}
			var what []string
			for i, a := range call.Args {
				if t := paramType(sig, i, call.Ellipsis.IsValid()); t != nil && types.IsInterface(t) && !kind.IsTypeParam(t) && calls.Boxes(p.Func, a) {
					what = append(what, p.Src(a))
				}
			}
			if what == nil {
				return
			}
			c := p.Cost(call, calls.Boxing(p.Func, call))
			if c[cost.CPU] == 0 {
				return // only a CPU profile says that it is this which allocates
			}
			lines[p.Line(call.Lparen)] = true
			name := p.Src(call.Fun)
			f := advise.Finding{
				Title:  "values moved to the heap for an interface",
				Claim:  fmt.Sprintf("%s takes an interface, so %s is copied to the heap for each call", name, strings.Join(what, ", ")),
				Advice: "pass a pointer to an existing value, or make the function generic, or write one for each type",
				Risk:   "the callee sees later changes through the pointer",
				NoFix:  missing.OtherSignatureOf.Of(name, strings.Join(what, ", ")),
			}
			if p.Builtin(call, "append") != nil {
				list := p.Src(call.Args[0])
				f.Claim = fmt.Sprintf("the elements of %s are interfaces, so %s is copied to the heap each time", list, strings.Join(what, ", "))
				f.Advice = "where all elements have one type, make it the type of the elements; or store pointers to existing values"
				f.Risk = "who reads an element sees later changes through the pointer"
				f.NoFix = missing.InterfaceElements.Of(list)
			}
			p.Report(call, c, f)
		})
	},
}

// paramType returns the type of the parameter that argument i is for.
func paramType(sig *types.Signature, i int, spread bool) types.Type {
	n := sig.Params().Len()
	switch {
	case sig.Variadic() && i >= n-1:
		if spread {
			return nil
		}
		return sig.Params().At(n - 1).Type().(*types.Slice).Elem()
	case i < n:
		return sig.Params().At(i).Type()
	}
	return nil
}
