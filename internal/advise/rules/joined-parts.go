package rules

import (
	"fmt"
	"go/ast"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/lists"
	"github.com/hone-perf/hone/internal/advise/facts/loops"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report"
)

var joinedParts = &advise.Rule{
	Name: "joined-parts", Rank: 24,
	Doc: "strings are collected in a slice only to be joined",

	NoFix: "the separator is not a constant",
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			if p.Calls(call, "strings.Join") == nil {
				return
			}
			if s := p.Local(call.Args[0]); s != nil {
				if j := lists.JoinOf(p.Func, s); j != nil {
					partsJoined(p, j)
				}
			}
		})
	},
}

func partsJoined(p *advise.Pass, j *lists.Join) {
	worst, c, also := worst(p, j.All, cost.Either(cost.Growing(), cost.Allocates("intstring", "slicebytetostring")))
	joining := p.Cost(j.Call, cost.Below("strings.Join"))
	c.Add(&joining)
	f := advise.Finding{
		Title:  "strings collected in a slice to be joined",
		Claim:  fmt.Sprintf("the slice takes 16 bytes per string and grows step by step; then strings.Join copies all of %s", j.List.Name()),
		Advice: "write each part to a strings.Builder right away",
		Risk:   "none", Safe: true,
		Callee: "strings.Join",
		Also:   append(also, j.Call),
	}
	f.Fixes = writtenAtOnce(p, j)
	if loop := p.Loop(worst); loop != nil {
		if p.Loop(j.Decl) == p.Loop(loop) {
			g := &growth{loop, loops.BodyOf(loop), j.List, j.All}
			f.Fixes = append(f.Fixes, makeRoom(p, g, &f)...)
		}
	}
	p.Report(worst, c, f)
}

// writtenAtOnce is a fix that writes each part to a Builder, with what is between them: that needs to know whether something was
// written before, be it empty.
func writtenAtOnce(p *advise.Pass, j *lists.Join) []report.Fix {
	sep, known := p.Text(j.Call.Args[1])
	if !known {
		return p.No("%s, which comes between the parts, is not a constant", p.Src(j.Call.Args[1]))
	}
	name := j.List.Name()
	begin, between := "var "+name+" strings.Builder", ""
	if sep != "" {
		n := p.LocalName("written")
		begin += "\n" + n + " := 0"
		between = fmt.Sprintf("if %s > 0 {\n%s.WriteString(%s)\n}\n%s++", n, name, p.Src(j.Call.Args[1]), n)
	}
	edits := []edit.Edit{edit.Replace(j.Decl, begin), edit.Replace(j.Call, name+".String()")}
	for _, st := range j.All {
		var lines []string
		for _, x := range lists.Added(p.Func, st) {
			if between != "" {
				lines = append(lines, between)
			}
			lines = append(lines, text.Writes(p.Func, name, x))
		}
		edits = append(edits, edit.Replace(st, strings.Join(lines, "\n")))
	}
	p.Need("strings")
	return p.Fix(report.Mechanical, "write the parts to a strings.Builder", edits...)
}
