package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var regexpPerCall = &advise.Rule{
	Name: "regexp-per-call", Rank: 22, PerCall: true,
	Doc: "a regular expression that is always the same is compiled on every call",

	NoFix: missing.SamePattern,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			switch {
			case p.Calls(call, "regexp.MustCompile", "regexp.MustCompilePOSIX", "regexp.Compile", "regexp.CompilePOSIX") != nil:
				compiledRegexp(p, call)
			case p.Calls(call, "regexp.MatchString", "regexp.Match", "regexp.MatchReader") != nil:
				matchedRegexp(p, call)
			}
		})
	},
}

// compiling is what compiling a regular expression costs.
var compiling = []string{"regexp.compile", "regexp.Compile", "regexp.MustCompile", "regexp.CompilePOSIX", "regexp.MustCompilePOSIX"}

func compiledRegexp(p *advise.Pass, call *ast.CallExpr) {
	name := p.Callee(call).Name()
	pattern, ok := p.Text(call.Args[0])
	f := advise.Finding{
		Title:  "regexp compiled on every call",
		Callee: "regexp." + name,
		Risk:   "the regexp is then compiled when the program starts, whether it is needed or not",
	}
	c := p.Cost(call, cost.Below("regexp."+name))
	if !ok {
		f.Claim = fmt.Sprintf("regexp.%s parses and compiles a pattern that is not known before; if there are few different ones, each is compiled many times", name)
		f.Advice = "keep what was compiled, by pattern, in a map of limited size behind a mutex, or in a sync.Map"
		f.Risk = "a map of patterns that users send grows without end, unless it has a limit"
		f.NoFix = missing.ConstantPattern.Of(p.Src(call.Args[0]))
		p.Report(call, c, f)
		return
	}
	f.Claim = fmt.Sprintf("regexp.%s parses and compiles %s on each call; a Regexp is safe for concurrent use and never changes, so one is enough", name, text.ShownPattern(pattern))
	f.Advice = "compile it once, in a package variable"
	switch _, err := regexp.Compile(pattern); {
	case err != nil:
		f.NoFix = missing.PatternEndsProgram.Of()
	case !strings.HasPrefix(name, "Must"):
		f.NoFix = missing.ErrorForVariable.Of(name)
	case p.Mentions("Longest"):
		f.NoFix = missing.Longest.Of()
	default:
		v := p.NewName(text.LowerFirst(p.Decl.Name.Name) + "RE")
		f.Fixes = p.Fix(report.Mechanical, "compile it once, in a package variable",
			edit.Declare(p.Func, "var "+v+" = "+p.Src(call)), edit.Replace(call, v))
	}
	p.Report(call, c, f)
}

// matchedRegexp is about the functions that compile and match in one.
func matchedRegexp(p *advise.Pass, call *ast.CallExpr) {
	name := p.Callee(call).Name()
	pattern, ok := p.Text(call.Args[0])
	f := advise.Finding{
		Title:  "regexp compiled on every call",
		Callee: "regexp.Compile",
		Risk:   "the regexp is then compiled when the program starts, whether it is needed or not",
	}
	c := p.Cost(call, func(c *cost.Chain) bool { return c.First() == "regexp."+name && c.Has(compiling...) })
	if !ok {
		f.Claim = fmt.Sprintf("regexp.%s compiles its pattern for every call", name)
		f.Advice = "keep what was compiled, by pattern, in a map of limited size"
		f.NoFix = missing.ConstantPattern.Of(p.Src(call.Args[0]))
		p.Report(call, c, f)
		return
	}
	f.Claim = fmt.Sprintf("regexp.%s compiles %s before it matches, for every call; a Regexp is safe for concurrent use, so one is enough", name, text.ShownPattern(pattern))
	f.Advice = "compile it once, in a package variable, and call its method"
	// The error is always nil when the pattern is good.
	assign, isAssign := p.Parent(call).(*ast.AssignStmt)
	switch _, err := regexp.Compile(pattern); {
	case err != nil:
		f.NoFix = missing.PatternReturnsError.Of()
	case !isAssign || len(assign.Lhs) != 2 || len(assign.Rhs) != 1 || !code.IsBlank(assign.Lhs[1]):
		f.NoFix = missing.ErrorIsUsed.Of(name)
	default:
		v := p.NewName(text.LowerFirst(p.Decl.Name.Name) + "RE")
		pkg := p.Src(call.Fun.(*ast.SelectorExpr).X)
		edits := []edit.Edit{edit.Declare(p.Func, "var "+v+" = "+pkg+".MustCompile("+p.Src(call.Args[0])+")")}
		if not, check := condition(p, assign); check != nil {
			edits = append(edits, edit.New(check.Init.Pos(), call.Args[1].Pos(), not+v+"."+name+"("), edit.New(call.End(), check.Cond.End(), ""))
		} else {
			edits = append(edits, edit.New(assign.Lhs[0].End(), assign.Lhs[1].End(), ""), edit.New(call.Pos(), call.Args[1].Pos(), v+"."+name+"("))
		}
		f.Fixes = p.Fix(report.Mechanical, "compile it once, in a package variable", edits...)
	}
	p.Report(call, c, f)
}

// condition returns the if statement that declares a variable for nothing but its condition: if ok, _ := f(); ok, or !ok. Then the call
// can be the condition.
func condition(p *advise.Pass, assign *ast.AssignStmt) (not string, check *ast.IfStmt) {
	check, isIf := p.Parent(assign).(*ast.IfStmt)
	if !isIf || check.Init != assign || assign.Tok != token.DEFINE {
		return "", nil
	}
	cond := check.Cond
	if negated, ok := cond.(*ast.UnaryExpr); ok && negated.Op == token.NOT {
		not, cond = "!", negated.X
	}
	used, ok := cond.(*ast.Ident)
	if !ok || len(p.Func.Uses(p.Info().Uses[used])) != 1 || p.Info().Defs[assign.Lhs[0].(*ast.Ident)] != p.Info().Uses[used] {
		return "", nil
	}
	return not, check
}
