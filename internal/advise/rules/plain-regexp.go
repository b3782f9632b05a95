package rules

import (
	"fmt"
	"go/ast"
	"go/types"
	"regexp/syntax"
	"strconv"
	"unicode"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/calls"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/steady"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var plainRegexp = &advise.Rule{
	Name: "plain-regexp", Rank: 36,
	Doc: "a regular expression matches plain text",

	NoFix: missing.NoPlainCall,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			if p.Calls(call, "(*regexp.Regexp).MatchString") == nil {
				return
			}
			sel := call.Fun.(*ast.SelectorExpr)
			pattern, ok := packagePattern(p.Func, sel.X)
			if !ok {
				return
			}
			fn, plain := plainPattern(pattern)
			if fn == "" {
				return
			}
			f := advise.Finding{
				Title:  "regexp for a fixed string",
				Claim:  fmt.Sprintf("the pattern %s has nothing special in it: strings.%s says the same", text.ShownPattern(pattern), fn),
				Advice: fmt.Sprintf("strings.%s", fn),
				Callee: "regexp.(*Regexp).MatchString",
				Risk:   "none", Safe: true,
			}
			p.Need("strings")
			f.Fixes = p.Fix(report.Mechanical, "search for the string", edit.Replace(call, fmt.Sprintf("strings.%s(%s, %s)", fn, p.Src(call.Args[0]), strconv.Quote(plain))))
			p.Report(call, p.Cost(call, calls.Calling(p.Func, call)), f)
		})
	},
}

// packagePattern returns the pattern of a variable of the package that is compiled where it is declared, and only there.
func packagePattern(fn *code.Func, e ast.Expr) (string, bool) {
	v, ok := fn.Object(e).(*types.Var)
	if !ok || v.Parent() != fn.Pkg.Types.Scope() || !steady.Variable(fn, v) {
		return "", false
	}
	for _, f := range fn.Pkg.Files {
		for _, d := range f.AST.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				spec, ok := s.(*ast.ValueSpec)
				if !ok || len(spec.Names) != 1 || len(spec.Values) != 1 || fn.Info().Defs[spec.Names[0]] != v {
					continue
				}
				if call := fn.Calls(spec.Values[0], "regexp.MustCompile"); call != nil {
					return fn.Text(call.Args[0])
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
