package rules

import (
	"go/ast"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/calls"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var templatePerCall = &advise.Rule{
	Name: "template-per-call", Rank: 42, PerCall: true,
	Doc: "a template that is always the same is parsed on every call",

	NoFix: missing.SameTemplate,
	Find: func(p *advise.Pass) {
		parse := []string{"(*text/template.Template).Parse", "(*html/template.Template).Parse"}
		parsed := 0
		advise.Each(p, func(call *ast.CallExpr) {
			if p.Calls(call, parse...) != nil {
				parsed++
			}
		})
		advise.Each(p, func(call *ast.CallExpr) {
			if p.Calls(call, parse...) == nil {
				return
			}
			pkg := p.Callee(call).Pkg().Path()
			c := p.Cost(call, calls.Calling(p.Func, call))
			if escape := p.Total(cost.Through("html/template.escapeTemplate")); parsed == 1 {
				c.Add(&escape)
			}
			f := advise.Finding{
				Title:  "template parsed on every call",
				Claim:  "the template is parsed on each call" + map[bool]string{true: ", and html/template looks through it once more when it is first executed"}[pkg == "html/template"] + "; a template can be executed by several goroutines",
				Callee: pkg + ".(*Template).Parse",
				Advice: "parse it once, in a package variable",
				Risk:   "a template that does not parse then ends the program at start, and not on the first call",
			}
			must, ok := p.Parent(call).(*ast.CallExpr)
			switch {
			case !ok || p.Calls(must, "text/template.Must", "html/template.Must") == nil:
				f.NoFix = missing.ParseErrorUsed.Of()
			case !flow.AllConst(p.Func, must):
				f.NoFix = missing.SameEachCall.Of(flow.Changing(p.Func, must))
			case !executedOnly(p.Func, must):
				f.NoFix = missing.TemplateMayChange.Of()
			default:
				v := p.NewName(text.LowerFirst(p.Decl.Name.Name) + "Template")
				f.Fixes = p.Fix(report.Mechanical, "parse it once, in a package variable", edit.Hoisted(p.Func, must, v)...)
			}
			p.Report(call, c, f)
		})
	},
}

// executedOnly reports whether a template is only executed: nothing is added to it.
func executedOnly(f *code.Func, e ast.Expr) bool {
	executes := func(id ast.Node) bool {
		sel, ok := f.Parent(id).(*ast.SelectorExpr)
		return ok && strings.HasPrefix(sel.Sel.Name, "Execute")
	}
	if executes(e) {
		return true
	}
	assign, ok := f.Parent(e).(*ast.AssignStmt)
	if !ok || len(assign.Lhs) != 1 {
		return false
	}
	v := f.Local(assign.Lhs[0])
	return v != nil && !slices.ContainsFunc(f.Uses(v), func(id *ast.Ident) bool { return !executes(id) })
}
