package rules

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/calls"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/report/missing"
)

var errorPerCall = &advise.Rule{
	Name: "error-per-call", Rank: 18, PerCall: true,
	Doc: "errors are built on a hot path",

	NoFix: missing.ReadersUnknown,
	Find: func(p *advise.Pass) {
		if makesError(p.Func, p.Info().Defs[p.Decl.Name]) && calledHere(p) {
			return // who calls it is told
		}
		advise.Each(p, func(call *ast.CallExpr) {
			fn := p.Callee(call)
			if fn == nil || !makesError(p.Func, fn) || len(call.Args) == 0 || p.Startup(call) {
				return
			}
			if _, isText := p.Text(call.Args[0]); isText && len(call.Args) == 1 {
				return // const-error has the word
			}
			name := fn.Name()
			if fn.Pkg() != nil {
				name = fn.Pkg().Name() + "." + name
			}
			p.Report(call, p.Cost(call, calls.Calling(p.Func, call)), advise.Finding{
				Title:  "error built on every call",
				Claim:  fmt.Sprintf("%s allocates and formats a message, even for a caller that only checks whether there is an error", name),
				Advice: "check first whether it is needed; return an existing error, or a type that keeps the parts and formats them in Error",
				Callee: p.ProfileName(fn),
				Risk:   "callers may compare errors, or read their message",
			})
		})
	},
}

// makesError reports whether a function is there to make errors: fmt.Errorf, newError, wrapf.
func makesError(f *code.Func, o types.Object) bool {
	fn, ok := o.(*types.Func)
	if !ok || fn.Signature().Results().Len() != 1 || fn.Signature().Params().Len() == 0 {
		return false
	}
	name := strings.ToLower(fn.Name())
	if !strings.Contains(name, "err") && !strings.HasPrefix(name, "wrap") && fn.FullName() != "errors.New" {
		return false
	}
	return types.Implements(fn.Signature().Results().At(0).Type(), types.Universe.Lookup("error").Type().Underlying().(*types.Interface))
}
