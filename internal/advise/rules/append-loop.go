package rules

import (
	"fmt"
	"go/ast"
	"go/types"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/lists"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var appendLoop = &advise.Rule{
	Name: "append-loop", Rank: 27,
	Doc: "a slice is appended to another one element by element",

	NoFix: missing.LabeledLoop,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(loop *ast.RangeStmt) {
			st := lists.Copies(p.Func, loop)
			if st == nil {
				return
			}
			s := p.Src(st.Lhs[0])
			f := advise.Finding{
				Title:  "slice appended one by one",
				Claim:  "one append of all elements grows the slice once and copies them in one block",
				Advice: "append the whole slice",
				Risk:   "none", Safe: true,
			}
			grade := report.Mechanical
			if v := p.Local(st.Lhs[0]); v == nil || !ownArray(p.Func, v) || !flow.Simple(p.Func, loop.X) && flow.Captured(p.Func, v, p.Decl.Body) {
				grade = report.Ownership
				f.Risk, f.Safe = "the two must not be parts of one array that overlap, and there may be more or less room behind the elements", false
			}
			if p.Statement(loop) == loop {
				f.Fixes = p.Fix(grade, "append the whole slice", edit.Replace(loop, p.CommentsIn(loop)+fmt.Sprintf("%s = append(%s, %s...)", s, s, p.Src(loop.X))))
			}
			p.Report(loop, p.Cost(loop, cost.Either(cost.Growing(), func(c *cost.Chain) bool { return len(c.Below) == 0 })), f)
		})
	},
}

// ownArray reports whether nothing but a slice of the function has the array that it is appended to, and nobody can tell how much room there is in it.
func ownArray(f *code.Func, v *types.Var) bool {
	return lists.Fresh(f, v) && !lists.Restarted(f, f.Decl.Body, v) && lists.RoomUnseen(f, v)
}
