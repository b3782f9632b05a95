package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var equalFold = &advise.Rule{
	Name: "equal-fold", Rank: 24,
	Doc: "strings are made lower case, or upper case, only to be compared",

	NoFix: missing.FoldsLetters,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(e *ast.BinaryExpr) {
			if e.Op != token.EQL && e.Op != token.NEQ {
				return
			}
			a, b := folds(p.Func, e.X), folds(p.Func, e.Y)
			if a == nil && b == nil {
				return
			}
			f := advise.Finding{
				Title:  "string lower-cased only to be compared",
				Claim:  "each string that has a letter of the other case is copied, only to be compared",
				Advice: "strings.EqualFold compares without making any",
				Risk:   "EqualFold takes a few letters beside a to z for the same that ToLower does not, such as ſ for s",
			}
			text, at := e.Y, a
			if at == nil {
				text, at = e.X, b
			}
			s, ok := p.Text(text)
			switch {
			case !ok:
				f.NoFix = missing.ConstantFold.Of(p.Src(text), p.Callee(at).Name())
			case a != nil && b != nil:
			case !foldsAlike(s, p.Callee(at).Name()):
				f.NoFix = missing.FoldsText.Of(s)
			default:
				not := map[token.Token]string{token.NEQ: "!"}[e.Op]
				f.Risk, f.Safe = "none: both treat all letters of this string alike", true
				f.Fixes = p.Fix(report.Mechanical, "compare without a copy", edit.Replace(e, fmt.Sprintf("%s%s.EqualFold(%s, %s)", not, p.Src(at.Fun.(*ast.SelectorExpr).X), p.Src(at.Args[0]), p.Src(text))))
			}
			p.Report(e, p.Cost(e, cost.Below("strings.ToLower", "strings.ToUpper")), f)
		})
	},
}

func folds(f *code.Func, e ast.Expr) *ast.CallExpr {
	return f.Calls(ast.Unparen(e), "strings.ToLower", "strings.ToUpper")
}

// foldsAlike reports whether ToLower or ToUpper of a text is equal to s just when EqualFold says so. Letters beside a to z come
// in for i (İ is i in lower case; ı is I in upper case), k (the sign for kelvin, in upper case) and s (ſ).
func foldsAlike(s, fn string) bool {
	for _, r := range s {
		lower := r >= 'a' && r <= 'z'
		upper := r >= 'A' && r <= 'Z'
		switch {
		case r >= 0x80, fn == "ToLower" && upper, fn == "ToUpper" && lower:
			return false
		case strings.ContainsRune("iksIKS", r):
			return false
		}
	}
	return true
}
