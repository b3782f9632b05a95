package advise

import (
	"fmt"
	"go/ast"
	"regexp"
	"strings"

	"github.com/hone-perf/hone/internal/report"
)

var regexpPerCall = &Rule{
	Name: "regexp-per-call", Rank: 22, PerCall: true,
	Doc: "a regular expression that is always the same is compiled for every call",

	NoFix: "the pattern is not the same for every call",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			switch {
			case p.calls(call, "regexp.MustCompile", "regexp.MustCompilePOSIX", "regexp.Compile", "regexp.CompilePOSIX") != nil:
				p.compiledRegexp(call)
			case p.calls(call, "regexp.MatchString", "regexp.Match", "regexp.MatchReader") != nil:
				p.matchedRegexp(call)
			}
		})
	},
}

// compiling is what compiling a regular expression costs.
var compiling = []string{"regexp.compile", "regexp.Compile", "regexp.MustCompile", "regexp.CompilePOSIX", "regexp.MustCompilePOSIX"}

func (p *Pass) compiledRegexp(call *ast.CallExpr) {
	name := p.callee(call).Name()
	pattern, ok := p.text(call.Args[0])
	f := finding{
		title:  "regexp compiled for every call",
		callee: "regexp." + name,
		risk:   "the regexp is then compiled when the program starts, whether it is needed or not",
	}
	c := p.cost(call, below("regexp."+name))
	if !ok {
		f.claim = fmt.Sprintf("regexp.%s parses and compiles a pattern that is not known before; if there are few different ones, each is compiled many times", name)
		f.advice = "keep what was compiled, by pattern, in a map of limited size behind a mutex, or in a sync.Map"
		f.risk = "a map of patterns that users send grows without end, unless it has a limit"
		f.noFix = p.src(call.Args[0]) + " is not a constant, so there may be any number of patterns"
		p.report(call, c, f)
		return
	}
	f.claim = fmt.Sprintf("regexp.%s parses and compiles %s anew each time; a Regexp is safe for use by several goroutines and never changes, so one is enough", name, shownPattern(pattern))
	f.advice = "compile it once, in a variable of the package"
	switch _, err := regexp.Compile(pattern); {
	case err != nil:
		f.noFix = "the pattern does not compile, so the program would end when it starts"
	case !strings.HasPrefix(name, "Must"):
		f.noFix = fmt.Sprintf("regexp.%s returns an error, which a variable of the package cannot hand on", name)
	case p.mentions("Longest"):
		f.noFix = "the package calls Longest, which changes a Regexp for all who use it"
	default:
		v := p.newName(lowerFirst(p.decl.Name.Name) + "RE")
		f.fixes = p.fix(report.Mechanical, "compile it once, in a variable of the package",
			p.declare("var "+v+" = "+p.src(call)), replace(call, v))
	}
	p.report(call, c, f)
}

// matchedRegexp is about the functions that compile and match in one.
func (p *Pass) matchedRegexp(call *ast.CallExpr) {
	name := p.callee(call).Name()
	pattern, ok := p.text(call.Args[0])
	f := finding{
		title:  "regexp compiled for every call",
		callee: "regexp.Compile",
		risk:   "the regexp is then compiled when the program starts, whether it is needed or not",
	}
	c := p.cost(call, func(c *chain) bool { return c.first() == "regexp."+name && c.has(compiling...) })
	if !ok {
		f.claim = fmt.Sprintf("regexp.%s compiles its pattern for every call", name)
		f.advice = "keep what was compiled, by pattern, in a map of limited size"
		f.noFix = p.src(call.Args[0]) + " is not a constant, so there may be any number of patterns"
		p.report(call, c, f)
		return
	}
	f.claim = fmt.Sprintf("regexp.%s compiles %s before it matches, for every call; a Regexp is safe for use by several goroutines, so one is enough", name, shownPattern(pattern))
	f.advice = "compile it once, in a variable of the package, and call its method"
	// The error is always nil when the pattern is good.
	assign, isAssign := p.parent(call).(*ast.AssignStmt)
	switch _, err := regexp.Compile(pattern); {
	case err != nil:
		f.noFix = "the pattern does not compile, so each call returns an error"
	case !isAssign || len(assign.Lhs) != 2 || len(assign.Rhs) != 1 || !isBlank(assign.Lhs[1]):
		f.noFix = fmt.Sprintf("the error of regexp.%s is used, and the method of a Regexp returns none", name)
	default:
		v := p.newName(lowerFirst(p.decl.Name.Name) + "RE")
		pkg := p.src(call.Fun.(*ast.SelectorExpr).X)
		f.fixes = p.fix(report.Mechanical, "compile it once, in a variable of the package",
			p.declare("var "+v+" = "+pkg+".MustCompile("+p.src(call.Args[0])+")"),
			newEdit(assign.Lhs[0].End(), assign.Lhs[1].End(), ""),
			newEdit(call.Pos(), call.Args[1].Pos(), v+"."+name+"("))
	}
	p.report(call, c, f)
}

func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	n := 1
	for n < len(s) && s[n] >= 'A' && s[n] <= 'Z' && (n+1 == len(s) || s[n+1] >= 'A' && s[n+1] <= 'Z') {
		n++ // HTTPServer
	}
	return strings.ToLower(s[:n]) + s[n:]
}

func shownPattern(s string) string {
	if len(s) > 40 {
		s = strings.ToValidUTF8(s[:37], "") + "…"
	}
	return fmt.Sprintf("%#q", s)
}
