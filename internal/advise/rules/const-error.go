package rules

import (
	"fmt"
	"go/ast"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
)

var constError = &advise.Rule{
	Name: "const-error", Rank: 18, PerCall: true,
	Doc: "an error that is always the same is made for every call",

	NoFix: "two errors that were different would be the same to errors.Is, and to ==",
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			if p.Calls(call, "errors.New", "fmt.Errorf") == nil || len(call.Args) != 1 || p.Startup(call) {
				return
			}
			text, ok := p.Text(call.Args[0])
			if !ok || strings.Contains(text, "%") {
				return
			}
			name := p.Callee(call).Pkg().Name() + "." + p.Callee(call).Name()
			p.Report(call, p.Cost(call, cost.Below(name)), advise.Finding{
				Title:  "same error created on every call",
				Claim:  fmt.Sprintf("%s allocates an error whose text never changes", name),
				Advice: "use a package variable: var Err… = errors.New(…), which callers can ask for with errors.Is, too",
				Callee: name,
				Risk:   "two errors with the same text are then one",
			})
		})
	},
}
