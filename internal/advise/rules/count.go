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
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/lists"
	"github.com/hone-perf/hone/internal/advise/facts/loops"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

// around returns the loop around that of a growth if the slice grows over all rounds of it. Room for one round is then used up by the next, and
// making it each time allocates more than append does.
func (g *growth) around(p *advise.Pass) ast.Stmt {
	outer := p.Loop(g.loop)
	if outer == nil || lists.Restarted(p.Func, outer, g.s) {
		return nil
	}
	if decl, _ := p.Declared(g.s); decl != nil && code.Within(decl, outer) {
		return nil
	}
	return outer
}

// countedFirst is a fix that makes room for all that a loop within a loop appends: it counts that first, where it is not a product.
func countedFirst(p *advise.Pass, g *growth, around ast.Stmt, f *advise.Finding) []report.Fix {
	if !lists.RoomUnseen(p.Func, g.s) {
		return p.No(missing.RoomShared, g.s.Name())
	}
	count, n, ok := countOf(p, g, around)
	if !ok {
		return p.No(missing.GrowsOverLoops, g.s.Name())
	}
	title := "make room for all of it"
	if count != "" {
		title = "count the elements first, and make room for all of them"
		f.Advice = title
		f.Risk = "the outer loop runs twice, the first time only to count"
	}
	decl, value := p.Declared(g.s)
	elem, isNil, isEmpty := emptyDeclaration(p, g.s, decl, value)
	if isEmpty && p.Parent(decl) == p.Parent(around) && countedAt(p, g, around.(*ast.RangeStmt), decl) {
		if !isNil || lists.NilUnseen(p.Func, g.s) {
			return p.Fix(report.Mechanical, title, edit.Replace(decl, fmt.Sprintf("%s%s := make([]%s, 0, %s)", count, g.s.Name(), elem, n)))
		}
		if p.Pkg.AtLeast(21) { // which has slices.Grow
			p.Need("slices")
			return p.Fix(report.Mechanical, title, edit.Replace(decl, fmt.Sprintf("%s%s := slices.Grow([]%s(nil), %s)", count, g.s.Name(), elem, n)))
		}
	}
	if p.Statement(around) != around {
		return p.No(missing.GrowsOverLoops, g.s.Name())
	}
	if made, _ := madeBefore(p, &growth{loop: around, s: g.s}, n); made != "" && (!isNil || !p.Pkg.AtLeast(21)) {
		return p.Fix(report.Mechanical, title, edit.Before(around, count+made))
	}
	if !p.Pkg.AtLeast(21) {
		return p.No(missing.NoGrowBefore, g.s.Name())
	}
	p.Need("slices")
	grade := report.Mechanical
	if !lists.Fresh(p.Func, g.s) {
		grade = report.Ownership
		f.Risk = "who has the same array may have seen in it what is appended, and then does not"
	}
	return p.Fix(grade, title, edit.Before(around, fmt.Sprintf("%s%s = slices.Grow(%s, %s)\n", count, g.s.Name(), g.s.Name(), n)))
}

// countOf returns how many elements a loop appends in all rounds of the loop around it, and the statements that count them; none for a product.
func countOf(p *advise.Pass, g *growth, around ast.Stmt) (count, n string, ok bool) {
	outer, ok := around.(*ast.RangeStmt)
	inner, isRange := g.loop.(*ast.RangeStmt)
	each := g.perRound(p)
	if !ok || !isRange || each == 0 || outer.Tok == token.ASSIGN || p.Parent(inner) != outer.Body || !flow.Simple(p.Func, outer.X) {
		return "", "", false
	}
	if loops.Leaves(p.Func, outer.Body) || endsWith(p.Func, outer.Body, g.s) || endsWith(p.Func, inner.Body, g.s) || growsElsewhere(p, g, outer) {
		return "", "", false
	}
	length, ok := loops.Rounds(p.Func, inner)
	if !ok || !strings.HasPrefix(length, "len(") {
		return "", "", false
	}
	if each > 1 {
		length = fmt.Sprintf("%d*%s", each, length)
	}
	key, value := roundVar(p, outer.Key), roundVar(p, outer.Value)
	vars := varsOf(p, inner.X)
	if flow.Assigns(p.Func, outer.Body, func(o types.Object) bool { return vars[o] }) {
		return "", "", false
	}
	delete(vars, key)
	delete(vars, value)
	for o := range vars {
		if !o.(*types.Var).IsField() && o.Pos() >= outer.Pos() && o.Pos() < outer.End() {
			return "", "", false // there is none of it before
		}
	}
	byKey, byValue := key != nil && p.MentionsVar(inner.X, key), value != nil && p.MentionsVar(inner.X, value)
	if !byKey && !byValue {
		rounds, ok := loops.Rounds(p.Func, outer)
		return "", strings.Replace(length, "len(", rounds+"*len(", 1), ok && strings.HasPrefix(rounds, "len(")
	}
	switch p.TypeOf(outer.X).Underlying().(type) {
	case *types.Slice, *types.Map:
	default:
		return "", "", false
	}
	if p.Local(inner.X) == nil && outer.Body.List[0] != ast.Stmt(inner) && looksBehind(p, inner.X) {
		return "", "", false // what stands before the loop may see to it that this is not nil
	}
	head := "_"
	if byKey {
		head = key.Name()
	}
	if byValue {
		head += ", " + value.Name()
	}
	n = p.NewLocal("n")
	return fmt.Sprintf("%s := 0\nfor %s := range %s {\n%s += %s\n}\n", n, head, p.Src(outer.X), n, length), n, true
}

// countedAt reports whether the elements can be counted where the slice is declared, as they are when the loops begin.
func countedAt(p *advise.Pass, g *growth, outer *ast.RangeStmt, decl ast.Stmt) bool {
	if flow.Follows(p.Func, outer, decl) {
		return true
	}
	inner := g.loop.(*ast.RangeStmt)
	for _, v := range []*types.Var{roundVar(p, outer.Key), roundVar(p, outer.Value)} {
		if v != nil && p.MentionsVar(inner.X, v) {
			return flow.Between(p.Func, decl, outer, outer.X)
		}
	}
	return flow.Between(p.Func, decl, outer, outer.X) && flow.Between(p.Func, decl, outer, inner.X)
}

// growsElsewhere reports whether other statements of a loop append to the slice as well.
func growsElsewhere(p *advise.Pass, g *growth, outer *ast.RangeStmt) bool {
	return slices.ContainsFunc(p.Uses(g.s), func(id *ast.Ident) bool {
		st, ok := p.Parent(id).(*ast.AssignStmt)
		return ok && code.Within(id, outer) && slices.Contains(st.Lhs, ast.Expr(id)) && !slices.Contains(g.all, st)
	})
}

// roundVar returns the variable that a loop declares for each round, or nil.
func roundVar(p *advise.Pass, e ast.Expr) *types.Var {
	if e == nil {
		return nil
	}
	return p.Local(e)
}

// varsOf returns the variables and fields that an expression names.
func varsOf(p *advise.Pass, e ast.Expr) map[types.Object]bool {
	vars := map[types.Object]bool{}
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if v, ok := p.Info().ObjectOf(id).(*types.Var); ok {
				vars[v] = true
			}
		}
		return true
	})
	return vars
}

// looksBehind reports whether an expression looks at what a pointer points at, which may be nil.
func looksBehind(p *advise.Pass, e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			s := p.Info().Selections[sel]
			found = found || s != nil && s.Indirect()
		}
		return !found
	})
	return found
}
