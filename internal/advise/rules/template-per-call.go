package rules

import (
	"go/ast"
	"slices"
	"strings"
	"text/template"

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
				Risk:   "the template is then parsed when the program starts, whether it is needed or not",
			}
			must, ok := p.Parent(call).(*ast.CallExpr)
			switch {
			case !ok || p.Calls(must, "text/template.Must", "html/template.Must") == nil:
				f.NoFix = missing.ParseErrorUsed.Of()
			case !flow.AllConst(p.Func, must):
				f.NoFix = missing.SameEachCall.Of(flow.Changing(p.Func, must))
			case !executedOnly(p.Func, must):
				f.NoFix = missing.TemplateMayChange.Of()
			case badTemplate(p, must).Fact != "":
				f.NoFix = badTemplate(p, must)
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

// badTemplate says why making a template may panic, which a program does at start where it is made for a variable of the package: it is made with what
// is constant, as the program would. Package html/template parses as text/template does, and looks at the rest when a template is executed.
func badTemplate(p *advise.Pass, must ast.Expr) (why missing.Reason) {
	defer func() {
		if recover() != nil { // Option does so
			why = missing.TemplateEndsProgram.Of()
		}
	}()
	_, why = made(p, must)
	return why
}

// made returns the template that an expression makes of constants.
func made(p *advise.Pass, e ast.Expr) (*template.Template, missing.Reason) {
	unknown := missing.TemplateMadeBy.Of(p.Src(e))
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || p.Callee(call) == nil {
		return nil, unknown
	}
	fn := p.Callee(call)
	if fn.Signature().Recv() == nil && fn.Name() == "Must" && len(call.Args) == 1 {
		return made(p, call.Args[0])
	}
	texts := make([]string, len(call.Args))
	for i, a := range call.Args {
		text, ok := p.Text(a)
		if !ok {
			return nil, unknown
		}
		texts[i] = text
	}
	if fn.Signature().Recv() == nil {
		if fn.Name() != "New" || len(texts) != 1 {
			return nil, unknown
		}
		return template.New(texts[0]), missing.Reason{}
	}
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return nil, unknown
	}
	t, why := made(p, sel.X)
	if why.Fact != "" {
		return nil, why
	}
	switch fn.Name() {
	case "New":
		return t.New(texts[0]), missing.Reason{}
	case "Delims":
		return t.Delims(texts[0], texts[1]), missing.Reason{}
	case "Option":
		return t.Option(texts...), missing.Reason{}
	case "Parse":
		if t, err := t.Parse(texts[0]); err == nil {
			return t, tooNew(p, texts[0])
		}
		return nil, missing.TemplateEndsProgram.Of()
	}
	return nil, unknown
}

// tooNew says which action of a template the Go of the module need not know, as far as its words tell.
func tooNew(p *advise.Pass, text string) missing.Reason {
	const jumps, elseWith = 18, 23
	switch {
	case !p.Pkg.AtLeast(jumps) && (strings.Contains(text, "break") || strings.Contains(text, "continue")):
		return missing.OlderGo.Of(jumps, "break and continue in templates")
	case !p.Pkg.AtLeast(elseWith) && strings.Contains(strings.Join(strings.Fields(text), " "), "else with"):
		return missing.OlderGo.Of(elseWith, "with behind else in templates")
	}
	return missing.Reason{}
}
