package advise

import (
	"fmt"
	"go/ast"
	"go/types"
	"regexp/syntax"
	"strconv"
	"unicode"

	"github.com/hone-perf/hone/internal/report"
)

var plainRegexp = &Rule{
	Name: "plain-regexp", Rank: 36,
	Doc: "a regular expression is used for a text that has nothing special",

	NoFix: "the call is not one that a function of package strings can take the place of",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			if p.calls(call, "(*regexp.Regexp).MatchString") == nil {
				return
			}
			sel := call.Fun.(*ast.SelectorExpr)
			pattern, ok := p.packagePattern(sel.X)
			if !ok {
				return
			}
			fn, text := plainPattern(pattern)
			if fn == "" {
				return
			}
			f := finding{
				title:  "regexp for a fixed text",
				claim:  fmt.Sprintf("the pattern %s has nothing special in it: strings.%s says the same", shownPattern(pattern), fn),
				advice: fmt.Sprintf("strings.%s", fn),
				callee: "regexp.(*Regexp).MatchString",
				risk:   "none",
			}
			p.need("strings")
			f.fixes = p.fix(report.Mechanical, "look for the text", replace(call, fmt.Sprintf("strings.%s(%s, %s)", fn, p.src(call.Args[0]), strconv.Quote(text))))
			p.report(call, p.cost(call, p.calling(call)), f)
		})
	},
}

// packagePattern returns the pattern of a variable of the package that is compiled where it is declared, and only there.
func (p *function) packagePattern(e ast.Expr) (string, bool) {
	v, ok := p.object(e).(*types.Var)
	if !ok || v.Parent() != p.unit.Types.Scope() || v.Exported() || p.assignedLater(v) {
		return "", false
	}
	for _, f := range p.unit.files {
		for _, d := range f.ast.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				spec, ok := s.(*ast.ValueSpec)
				if !ok || len(spec.Names) != 1 || len(spec.Values) != 1 || p.info().Defs[spec.Names[0]] != v {
					continue
				}
				if call := p.calls(spec.Values[0], "regexp.MustCompile"); call != nil {
					return p.text(call.Args[0])
				}
			}
		}
	}
	return "", false
}

// plainPattern returns the function of package strings that matches what a pattern does, and the text for it.
func plainPattern(pattern string) (fn, text string) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", ""
	}
	list := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		list = re.Sub
	}
	begin, end := false, false
	if len(list) > 0 && list[0].Op == syntax.OpBeginText {
		begin, list = true, list[1:]
	}
	if len(list) > 0 && list[len(list)-1].Op == syntax.OpEndText {
		end, list = true, list[:len(list)-1]
	}
	if len(list) != 1 || list[0].Op != syntax.OpLiteral || list[0].Flags&syntax.FoldCase != 0 {
		return "", ""
	}
	for _, r := range list[0].Rune {
		if r > unicode.MaxASCII {
			return "", "" // bytes that are no text are another matter
		}
	}
	switch {
	case begin && end:
		return "", ""
	case begin:
		fn = "HasPrefix"
	case end:
		fn = "HasSuffix"
	default:
		fn = "Contains"
	}
	return fn, string(list[0].Rune)
}
