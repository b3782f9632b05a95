package rules

import (
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
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/advise/facts/lists"
	"github.com/hone-perf/hone/internal/advise/facts/loops"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
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

// restarted reports whether the loop gives the slice another value than that of append to it: it may make many short lists in place of one.
func restarted(p *advise.Pass, g *growth) bool { return lists.Restarted(p.Func, g.loop, g.s) }

// endsWith reports whether a loop may be left with what it has added to a variable until then, which may be little each time it is run.
func endsWith(f *code.Func, body *ast.BlockStmt, v *types.Var) bool {
	found := false
	var walk func(n ast.Node, breaks bool)
	walk = func(n ast.Node, breaks bool) {
		ast.Inspect(n, func(m ast.Node) bool {
			switch m := m.(type) {
			case *ast.FuncLit:
				return false
			case *ast.BranchStmt:
				found = found || m.Tok == token.BREAK && (breaks || m.Label != nil) || m.Tok == token.GOTO
			case *ast.ReturnStmt:
				found = found || f.MentionsVar(m, v) || len(m.Results) == 0 && f.IsParamResult(v)
			case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
				if m != n {
					walk(m, false)
					return false
				}
			}
			return !found
		})
	}
	walk(body, true)
	return found
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
	if !ok && loops.NeedsMax(p.Func, g.loop) {
		return p.No(missing.OlderGo, 21, "max")
	}
	if !ok || at == nil {
		return p.No(missing.CountUnknown)
	}
	if restarted(p, g) {
		return p.No(missing.LoopRestarts, g.s.Name())
	}
	if !lists.RoomUnseen(p.Func, g.s) {
		return p.No(missing.RoomShared, g.s.Name())
	}
	if endsWith(p.Func, g.body, g.s) {
		return p.No(missing.LoopMayEnd, n)
	}
	all := g.perRound(p)
	if !loops.IsLength(n) && (all == 0 || loops.Returns(g.body)) {
		return p.No(missing.CountMayBeMore, n)
	}
	title := "make room for all of it"
	if all == 0 || !exact {
		title = "make room for as much as it may be"
	}
	times := all
	for _, st := range g.all {
		times = max(times, len(lists.Added(p.Func, st)))
	}
	n = loops.Times(times, n)
	decl, value := p.Declared(g.s)
	_, isVar := decl.(*ast.DeclStmt)
	if lists.HasRoom(p.Func, value) {
		return p.No(missing.HasRoom, g.s.Name())
	}
	if fixes, ok := roomAtDeclaration(p, g, decl, value, title, n, all); ok {
		return fixes
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
		return p.No(missing.MayHaveRoom, g.s.Name())
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

// roomAtDeclaration is a fix that declares a slice with room for all that loops behind it append, in one line. It reports whether that can be
// done.
func roomAtDeclaration(p *advise.Pass, g *growth, decl ast.Stmt, value ast.Expr, title, n string, all int) ([]report.Fix, bool) {
	elem, isNil, ok := emptyDeclaration(p, g.s, decl, value)
	if !ok {
		return nil, false
	}
	if sum, loops := roomOfAll(p, g, decl); loops > 1 {
		n, title = sum, "make room for what all loops append"
	} else if !stableFrom(p, g.loop, decl) {
		return nil, false
	}
	seen := isNil && !lists.NilUnseen(p.Func, g.s)
	switch {
	case !seen:
		return p.Fix(report.Mechanical, title, edit.Replace(decl, fmt.Sprintf("%s := make([]%s, 0, %s)", g.s.Name(), elem, n))), true
	case all == 0 || !p.Pkg.AtLeast(21): // slices.Grow came then
		return nil, false
	}
	p.Need("slices")
	return p.Fix(report.Mechanical, title, edit.Behind(p.Func, decl, fmt.Sprintf("%s = slices.Grow(%s, %s)", g.s.Name(), g.s.Name(), n))), true
}

// emptyDeclaration returns the type of the elements of a slice that a statement declares, and nothing else, without any, and whether it is nil.
func emptyDeclaration(p *advise.Pass, s *types.Var, decl ast.Stmt, value ast.Expr) (elem string, isNil, ok bool) {
	t, isSlice := types.Unalias(s.Type()).(*types.Slice)
	if !isSlice {
		return "", false, false
	}
	switch d := decl.(type) {
	case *ast.DeclStmt:
		specs := d.Decl.(*ast.GenDecl).Specs
		spec, isValue := specs[0].(*ast.ValueSpec)
		if !isValue || len(specs) > 1 || len(spec.Names) > 1 || d.Decl.(*ast.GenDecl).Lparen.IsValid() {
			return "", false, false
		}
		ok, isNil = value == nil, true
	case *ast.AssignStmt:
		lit, isLit := value.(*ast.CompositeLit)
		call := p.Builtin(value, "make")
		ok = len(d.Lhs) == 1 && (isLit && len(lit.Elts) == 0 || call != nil && len(call.Args) == 2 && p.Src(call.Args[1]) == "0")
	}
	return types.TypeString(t.Elem(), p.Qualifier()), isNil, ok
}

// stableFrom reports whether the number of rounds of a loop is the same where something before it is declared.
func stableFrom(p *advise.Pass, loop, decl ast.Stmt) bool {
	if flow.Follows(p.Func, loop, decl) {
		return true
	}
	over := loops.Over(p.Func, loop)
	return over != nil && p.Parent(loop) == p.Parent(decl) && flow.Between(p.Func, decl, loop, over)
}

// roomOfAll returns how many elements the loops of a list append to a slice in all, where each of them does so in every round, and how many
// loops there are.
func roomOfAll(p *advise.Pass, g *growth, decl ast.Stmt) (sum string, n int) {
	block, ok := p.Parent(g.loop).(*ast.BlockStmt)
	if !ok {
		return "", 0
	}
	for _, st := range block.List {
		body := loops.BodyOf(st)
		if body == nil || st.Pos() < decl.Pos() {
			continue
		}
		h := &growth{loop: st, body: body, s: g.s}
		for _, a := range lists.AppendsIn(p.Func, body) {
			if p.Local(a.Lhs[0]) == g.s {
				h.all = append(h.all, a)
			}
		}
		if len(h.all) == 0 {
			continue
		}
		rounds, _, known := loops.AtMost(p.Func, st)
		each := h.perRound(p)
		if !known || each == 0 || restarted(p, h) || !loops.IsLength(rounds) || !stableFrom(p, st, decl) {
			return "", 0
		}
		if n++; n > 1 {
			sum += "+"
		}
		sum += loops.Times(each, rounds)
	}
	return sum, n
}

// roomAtFirst is a fix that makes room when the first element is appended, of a slice that is nil until then.
func roomAtFirst(p *advise.Pass, g *growth, title, n string) []report.Fix {
	t, ok := types.Unalias(g.s.Type()).(*types.Slice)
	if !ok {
		return p.No(missing.OwnType, g.s.Name())
	}
	s := g.s.Name()
	if !knownWithin(p.Func, g) {
		return p.No(missing.CountMayBeMore, n)
	}
	elem := types.TypeString(t.Elem(), p.Qualifier())
	var edits []edit.Edit
	for _, st := range g.all {
		if p.Statement(st) != ast.Stmt(st) {
			return p.No(missing.AppendedInHead, s)
		}
		edits = append(edits, edit.Before(st, fmt.Sprintf("if %s == nil {\n%s = make([]%s, 0, %s)\n}\n", s, s, elem, n)))
	}
	return p.Fix(report.Mechanical, title, edits...)
}

// knownWithin reports whether the number of rounds of a loop can be evaluated in each of them, too.
func knownWithin(f *code.Func, g *growth) bool {
	over := loops.Over(f, g.loop)
	if over == nil || flow.Simple(f, over) {
		return over != nil
	}
	// An entry of a map is there, or not; which one it is must stay.
	index, ok := ast.Unparen(over).(*ast.IndexExpr)
	if !ok || !kind.IsMap(f.TypeOf(index.X)) || !kind.IsBasic(f.TypeOf(index.Index), types.IsInteger|types.IsString) {
		return false
	}
	vars := map[types.Object]bool{}
	ast.Inspect(over, func(n ast.Node) bool {
		if id, isID := n.(*ast.Ident); isID {
			if v, isVar := f.Info().Uses[id].(*types.Var); isVar {
				vars[v] = true
				ok = ok && (v.IsField() || f.Local(id) != nil && !flow.Captured(f, v, f.Decl.Body))
			}
		}
		return ok
	})
	return ok && !flow.Assigns(f, g.body, func(o types.Object) bool { return vars[o] })
}

// roomForNil is a fix that makes room in a slice that has no elements until a loop appends to it, where there is no slices.Grow yet: nil stays
// nil where there are no rounds.
func roomForNil(p *advise.Pass, g *growth, title, n string) []report.Fix {
	made, why := madeBefore(p, g, n)
	if made == "" {
		return p.Because(why)
	}
	return p.Fix(report.Mechanical, title, edit.Before(g.loop, made))
}

// madeBefore returns a statement for the place before a loop that makes room for n elements in a slice that has none there; or why there is none.
func madeBefore(p *advise.Pass, g *growth, n string) (string, missing.Reason) {
	s := g.s
	decl, value := p.Declared(s)
	_, isVar := decl.(*ast.DeclStmt)
	isNil := isVar && value == nil || decl == nil && p.IsParamResult(s)
	_, isSlice := s.Type().Underlying().(*types.Slice)
	first := p.Uses(s)
	if !isSlice || p.Statement(g.loop) != g.loop || flow.Captured(p.Func, s, p.Decl.Body) || len(first) == 0 || first[0].Pos() < g.loop.Pos() {
		return "", missing.NoGrowBefore.Of(s.Name())
	}
	made := fmt.Sprintf("%s = make(%s, 0, %s)\n", s.Name(), types.TypeString(s.Type(), p.Qualifier()), n)
	if _, _, ok := emptyDeclaration(p, s, decl, value); ok && !isNil && p.Parent(decl) == p.Parent(g.loop) {
		return made, missing.Reason{}
	}
	switch {
	case !isNil || p.Loop(g.loop) != nil:
		return "", missing.NoGrowBefore.Of(s.Name())
	case token.IsIdentifier(n) || strings.HasPrefix(n, "len(") && strings.Count(n, "(") == 1 && strings.HasSuffix(n, ")"):
		return fmt.Sprintf("if %s > 0 {\n%s}\n", n, made), missing.Reason{}
	}
	room := p.LocalName("n")
	made = strings.TrimSuffix(made, n+")\n") + room + ")\n"
	return fmt.Sprintf("if %s := %s; %s > 0 {\n%s}\n", room, n, room, made), missing.Reason{}
}
