package rules

import (
	"fmt"
	"go/ast"
	"net/textproto"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/calls"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var headerSet = &advise.Rule{
	Name: "header-set", Rank: 44, PerCall: true,
	Doc: "a header that is always the same makes a slice for every request",

	NoFix: missing.SameHeader,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			if p.Calls(call, "(net/http.Header).Set", "(net/http.Header).Add") == nil {
				return
			}
			fn := p.Callee(call)
			c := p.Cost(call, calls.Calling(p.Func, call))
			key, ok := p.Text(call.Args[0])
			if !ok {
				return
			}
			canonical := textproto.CanonicalMIMEHeaderKey(key)
			f := advise.Finding{
				Title:  "header " + canonical + " made anew for every request",
				Claim:  fmt.Sprintf("Header.%s makes a slice for one string, and looks for the canonical form of %q, for every call", fn.Name(), key),
				Callee: p.ProfileName(fn),
				Risk:   "all requests share the slice: nothing may write to its first element",
			}
			value, isText := p.Text(call.Args[1])
			_, alone := p.Parent(call).(*ast.ExprStmt)
			if isText && alone && fn.Name() == "Set" {
				recv := p.Src(call.Fun.(*ast.SelectorExpr).X)
				v := p.NewName(headerName(canonical))
				f.Advice = "keep the slice in a package variable"
				if canonical == "Content-Type" && (strings.HasPrefix(value, "text/html") || strings.HasPrefix(value, "text/plain")) {
					f.Advice += "; or leave the header out, if http.DetectContentType finds the same in what is written: net/http then sets it"
				}
				f.Fixes = p.Fix(report.Ownership, "keep the slice in a package variable",
					edit.Declare(p.Func, fmt.Sprintf("// %s is shared by all requests.\nvar %s = []string{%s}", v, v, edit.Outer(p.Func, call.Args[1]))),
					edit.Replace(call, fmt.Sprintf("%s[%s] = %s", recv, strconv.Quote(canonical), v)))
			} else {
				f.Advice = "where the value is one of a few, keep a slice for each, and put it into the map under the canonical key"
				switch {
				case !isText:
					f.NoFix = missing.SameEachCall.Of(p.Src(call.Args[1]))
				case fn.Name() == "Add":
					f.NoFix = missing.AddKeeps.Of()
				}
			}
			p.Report(call, c, f)
		})
	},
}

// headerName makes a name of a variable of one of a header: contentTypeHeader.
func headerName(key string) string {
	var b strings.Builder
	for i, word := range strings.Split(key, "-") {
		if i == 0 {
			word = strings.ToLower(word)
		}
		b.WriteString(strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
				return r
			}
			return -1
		}, word))
	}
	return b.String() + "Header"
}
