package rules

import (
	"fmt"
	"go/ast"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var repeatedText = &advise.Rule{
	Name: "repeated-text", Early: true, Rank: 10, PerCall: true,
	Doc: "strings.Repeat builds a string of the same text for each call",

	NoFix: missing.DoesNotApply,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			if p.Calls(call, "strings.Repeat") == nil || p.IsConst(call.Args[1]) {
				return
			}
			s, ok := p.Text(call.Args[0])
			if !ok || s == "" || len(s) > mostRepeated || repeatsItself(s) {
				return // package strings has them already
			}
			c := p.Cost(call, cost.Below("strings.Repeat"))
			room := repeatRoom(s, &c)
			if room == 0 {
				return // so long a one is no constant that one would keep
			}
			f := advise.Finding{
				Title:  "same text repeated on every call",
				Claim:  fmt.Sprintf("strings.Repeat builds a new string of %s each time; a short one is the beginning of a longer one, which could be there already", text.QuotedText(s)),
				Advice: "keep a long one, and take the part of it that is needed",
				Risk:   "none: a string that is longer than that is built as before", Safe: true,
				Callee: "strings.Repeat",
			}
			if p.Worth(c) {
				f.Fixes = cutFromLong(p, call, s, room)
			}
			p.Report(call, c, f)
		})
	},
}

const (
	mostRepeated = 16   // bytes of a text
	repeatsKept  = 64   // in a row, at least
	longestKept  = 4096 // bytes
)

// repeatRoom returns how often to repeat a text for all that are not much longer than usual, by what a string takes in the profile; 0 where that is
// more than one would keep.
func repeatRoom(s string, c *cost.Cost) int {
	room := repeatsKept
	if made := c[cost.ObjectsMade]; made > 0 {
		for usual := c[cost.BytesMade] / made; int64(room*len(s)) < 2*usual; {
			if room *= 2; room*len(s) > longestKept {
				return 0
			}
		}
	}
	return room
}

// repeatsItself reports whether strings.Repeat keeps long ones of a text itself.
func repeatsItself(s string) bool {
	return strings.Trim(s, s[:1]) == "" && strings.Contains(" -0=\t", s[:1])
}

// cutFromLong is a fix that takes short ones from a long one that is made when the program starts; until then, it is empty.
func cutFromLong(p *advise.Pass, call *ast.CallExpr, s string, room int) []report.Fix {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return p.No(missing.NoPlainCall)
	}
	pkg, quoted := p.Src(sel.X), text.QuotedText(s)
	long, declared := edit.DeclareShared(p.Func, "longRepeat", fmt.Sprintf("// %%s is %s %d times.", escapedPercent(quoted), room),
		fmt.Sprintf("var %%s = %s.Repeat(%s, %d)", pkg, escapedPercent(quoted), room))
	cut, most := fmt.Sprintf("%s[:n]", long), fmt.Sprintf("len(%s)", long)
	if len(s) > 1 {
		cut, most = fmt.Sprintf("%s[:%d*n]", long, len(s)), fmt.Sprintf("%s/%d", most, len(s))
	}
	name, function := edit.DeclareShared(p.Func, "repeated", fmt.Sprintf("// %%s returns what %s.Repeat does of %s.", pkg, escapedPercent(quoted)),
		fmt.Sprintf(`func %%s(n int) string {
	if 0 <= n && n <= %s {
		return %s
	}
	return %s.Repeat(%s, n)
}`, most, cut, pkg, escapedPercent(quoted)))
	edits := append(declared, function...)
	return p.Fix(report.Mechanical, "take it from a longer one", append(edits, edit.New(call.Pos(), call.Args[1].Pos(), name+"("))...)
}

// escapedPercent makes a text one for a format.
func escapedPercent(s string) string { return strings.ReplaceAll(s, "%", "%%") }
