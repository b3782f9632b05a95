package rules

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/lists"
	"github.com/hone-perf/hone/internal/advise/facts/loops"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var joinedParts = &advise.Rule{
	Name: "joined-parts", Rank: 24,
	Doc: "strings are collected in a slice only to be joined",

	NoFix: missing.ConstantSeparators,
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
		return p.No(missing.ConstantSeparator, p.Src(j.Call.Args[1]))
	}
	name := j.List.Name()
	write := fmt.Sprintf("%s.WriteString(%s)", name, p.Src(j.Call.Args[1]))
	begin, check, count := "var "+name+" strings.Builder", "", ""
	edits := []edit.Edit{edit.Replace(j.Call, name+".String()")}
	first, always := firstAdded(p, j)
	if sep != "" && always {
		check = write
	} else if i, named, ok := roundOf(p, j); sep != "" && ok {
		check, edits = fmt.Sprintf("if %s > 0 {\n%s\n}", i, write), append(edits, named...)
	} else if sep != "" {
		n := p.LocalName("written")
		begin += "\n" + n + " := 0"
		check, count = fmt.Sprintf("if %s > 0 {\n%s\n}", n, write), n+"++"
	}
	edits = append(edits, edit.Replace(j.Decl, begin))
	for _, st := range j.All {
		var lines []string
		if check != "" && (first == nil || st != first) {
			lines = append(lines, check)
		}
		if count != "" {
			lines = append(lines, count)
		}
		for i, x := range lists.Added(p.Func, st) {
			if i > 0 && sep != "" {
				lines = append(lines, write)
			}
			lines = append(lines, text.Writes(p.Func, name, x))
		}
		edits = append(edits, edit.Replace(st, p.CommentsIn(st)+strings.Join(lines, "\n")))
	}
	p.Need("strings")
	return p.Fix(report.Mechanical, "write the parts to a strings.Builder", edits...)
}

// firstAdded returns the statement that nothing is added before, or nil where that depends, and whether it adds a part in any case, so that all
// others follow something.
func firstAdded(p *advise.Pass, j *lists.Join) (first *ast.AssignStmt, always bool) {
	first = slices.MinFunc(j.All, func(a, b *ast.AssignStmt) int { return cmp.Compare(a.Pos(), b.Pos()) })
	goesBack := false // to a label
	ast.Inspect(p.Decl.Body, func(n ast.Node) bool {
		jump, ok := n.(*ast.BranchStmt)
		goesBack = goesBack || ok && jump.Tok == token.GOTO
		return true
	})
	if goesBack || p.Loop(first) != p.Loop(j.Decl) || p.Literal(first) != p.Literal(j.Decl) {
		return nil, false
	}
	return first, p.Parent(first) == p.Parent(p.Statement(j.Decl))
}

// roundOf returns the variable that counts the rounds of the only loop that adds parts, once in every round and nowhere else, with edits that name
// it where it has no name.
func roundOf(p *advise.Pass, j *lists.Join) (name string, edits []edit.Edit, ok bool) {
	if len(j.All) != 1 || jumps(p.Func) {
		return "", nil, false
	}
	loop, isRange := p.Loop(j.All[0]).(*ast.RangeStmt)
	if !isRange || loop.Tok != token.DEFINE || p.Parent(j.All[0]) != loop.Body || p.Loop(loop) != p.Loop(j.Decl) || loops.Leaves(p.Func, loop.Body) {
		return "", nil, false
	}
	switch p.TypeOf(loop.X).Underlying().(type) {
	case *types.Slice, *types.Array:
	default:
		return "", nil, false
	}
	if loop.Key != nil && !code.IsBlank(loop.Key) {
		i := p.Local(loop.Key)
		_, named := p.Pkg.Types.Scope().Innermost(j.All[0].Pos()).LookupParent(i.Name(), j.All[0].Pos())
		return i.Name(), nil, named == types.Object(i) && !flow.Assigns(p.Func, loop.Body, func(o types.Object) bool { return o == i })
	}
	name = p.LocalName("i")
	return name, []edit.Edit{edit.Replace(loop.Key, name)}, true
}
