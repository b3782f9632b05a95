package rules

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/lists"
	"github.com/hone-perf/hone/internal/advise/facts/loops"
	"github.com/hone-perf/hone/internal/report"
)

// A growth is a slice that statements of a loop append to.
type growth struct {
	loop ast.Stmt
	body *ast.BlockStmt
	s    *types.Var
	all  []*ast.AssignStmt
}

// perRound returns how many elements each round appends, whichever way it takes; 0 when that differs.
func (g *growth) perRound(p *advise.Pass) (n int) {
	if loops.Leaves(p.Func, g.body) {
		return 0
	}
	for _, st := range g.all {
		if slices.Contains(g.body.List, ast.Stmt(st)) {
			n += len(lists.Added(p.Func, st))
		}
	}
	return n
}

// worst returns the statement that costs most, what all of them do, and the others.
func worst(p *advise.Pass, all []*ast.AssignStmt, match func(*cost.Chain) bool) (worst *ast.AssignStmt, sum cost.Cost, others []ast.Node) {
	var most cost.Cost
	worst = all[0]
	lines := map[int]bool{}
	for _, st := range all {
		if line := p.Line(st.Pos()); lines[line] {
			continue
		} else {
			lines[line] = true
		}
		c := p.Cost(st, match)
		sum.Add(&c)
		if p.Costs.Weight(&c) > p.Costs.Weight(&most) {
			worst, most = st, c
		}
	}
	for _, st := range all {
		if st != worst {
			others = append(others, st)
		}
	}
	return worst, sum, others
}

// makeRoom is a fix that gives a slice room for what a loop appends at most. What is nil when nothing is appended stays so.
func makeRoom(p *advise.Pass, g *growth, f *advise.Finding) []report.Fix {
	n, exact, ok := loops.AtMost(p.Func, g.loop)
	at := p.Statement(g.loop)
	if !ok || at == nil {
		return p.No("the number of iterations is not known before the loop")
	}
	all := g.perRound(p)
	if !strings.HasPrefix(n, "len(") && (all == 0 || loops.Returns(g.body)) {
		return p.No("%s may be any number, and the loop may be left, or append nothing, long before", n)
	}
	title := "make room for all of it"
	if all == 0 || !exact {
		title = "make room for as much as it may be"
	}
	times := all
	for _, st := range g.all {
		times = max(times, len(lists.Added(p.Func, st)))
	}
	if times > 1 {
		n = fmt.Sprintf("%d*%s", times, n)
	}
	decl, value := p.Declared(g.s)
	_, isVar := decl.(*ast.DeclStmt)
	if lists.HasRoom(p.Func, value) {
		return p.No("%s has room already", g.s.Name())
	}
	if decl != nil && value != nil && flow.Follows(p.Func, g.loop, decl) {
		if lit, isLit := value.(*ast.CompositeLit); isLit && len(lit.Elts) == 0 {
			return p.Fix(report.Mechanical, title, edit.Replace(value, fmt.Sprintf("make(%s, 0, %s)", p.Src(lit.Type), n)))
		}
		if call := p.Builtin(value, "make"); call != nil && len(call.Args) == 2 && p.Src(call.Args[1]) == "0" {
			return p.Fix(report.Mechanical, title, edit.New(call.Args[1].End(), call.Args[1].End(), ", "+n))
		}
	}
	switch {
	case all == 0 && isVar && value == nil:
		return roomAtFirst(p, g, title, n)
	case all == 0 && !lists.Fresh(p.Func, g.s):
		return p.No("%s may well have room from before, and not every round appends", g.s.Name())
	case !p.Pkg.AtLeast(21): // which has slices.Grow
		return roomForNil(p, g, title, n)
	}
	p.Need("slices")
	grade := report.Mechanical
	if !lists.Fresh(p.Func, g.s) {
		grade = report.Ownership
		f.Risk = "who has the same array may have seen in it what is appended, and then does not"
	}
	return p.Fix(grade, title, edit.Before(at, fmt.Sprintf("%s = slices.Grow(%s, %s)\n", g.s.Name(), g.s.Name(), n)))
}

// roomAtFirst is a fix that makes room when the first element is appended, of a slice that is nil until then.
func roomAtFirst(p *advise.Pass, g *growth, title, n string) []report.Fix {
	t, ok := types.Unalias(g.s.Type()).(*types.Slice)
	if !ok {
		return p.No("%s has a type of its own", g.s.Name())
	}
	s := g.s.Name()
	elem := types.TypeString(t.Elem(), p.Qualifier())
	var edits []edit.Edit
	for _, st := range g.all {
		if p.Statement(st) != ast.Stmt(st) {
			return p.No("something is appended to %s in the head of another statement", s)
		}
		edits = append(edits, edit.Before(st, fmt.Sprintf("if %s == nil {\n%s = make([]%s, 0, %s)\n}\n", s, s, elem, n)))
	}
	return p.Fix(report.Mechanical, title, edits...)
}

// roomForNil is a fix that makes room in a slice that is nil until a loop appends to it, where there is no slices.Grow yet: nil stays nil
// where there are no rounds.
func roomForNil(p *advise.Pass, g *growth, title, n string) []report.Fix {
	s := g.s
	decl, value := p.Declared(s)
	_, isVar := decl.(*ast.DeclStmt)
	isNil := isVar && value == nil || decl == nil && p.IsParamResult(s)
	t, isSlice := types.Unalias(s.Type()).(*types.Slice)
	first := p.Uses(s)
	if !isNil || !isSlice || p.Statement(g.loop) != g.loop || flow.Captured(p.Func, s, p.Decl.Body) || p.Loop(g.loop) != nil || len(first) == 0 || first[0].Pos() < g.loop.Pos() {
		return p.No("go.mod is for a Go before 1.21, which introduced slices.Grow, and %s may have elements before the loop", s.Name())
	}
	room := p.LocalName("n")
	elem := types.TypeString(t.Elem(), p.Qualifier())
	return p.Fix(report.Mechanical, title, edit.Before(g.loop, fmt.Sprintf("if %s := %s; %s > 0 {\n%s = make([]%s, 0, %s)\n}\n", room, n, room, s.Name(), elem, room)))
}
