package advise

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/report"
)

// growing is what making a slice larger costs.
func growing() func(*chain) bool { return allocates("growslice") }

var preallocSlice = &Rule{
	Name: "prealloc-slice", Rank: 4,
	Doc: "a slice grows step by step to a length that is known before",

	NoFix: "how many elements there will be is not known before the loop",
	Find: func(p *Pass) {
		each(p, func(loop ast.Stmt) {
			body := bodyOf(loop)
			if r, ok := loop.(*ast.RangeStmt); body == nil || ok && p.copies(r) != nil {
				return // append-loop has the word
			}
			var order []*types.Var
			all := map[*types.Var][]*ast.AssignStmt{}
			for _, st := range p.appendsIn(body) {
				if s := p.local(st.Lhs[0]); s != nil && s.Pos() < loop.Pos() {
					if all[s] == nil {
						order = append(order, s)
					}
					all[s] = append(all[s], st)
				}
			}
			for _, s := range order {
				if p.joinOf(s) == nil { // joined-parts has the word
					p.grownSlice(&growth{loop, body, s, all[s]})
				}
			}
		})
	},
}

// bodyOf returns the body of a loop, or nil for other statements.
func bodyOf(st ast.Stmt) *ast.BlockStmt {
	switch l := st.(type) {
	case *ast.RangeStmt:
		return l.Body
	case *ast.ForStmt:
		return l.Body
	}
	return nil
}

// appendsIn returns the statements of a loop that append to what keeps the result: s = append(s, …).
func (p *function) appendsIn(body *ast.BlockStmt) (out []*ast.AssignStmt) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ForStmt, *ast.RangeStmt:
			return false
		case *ast.AssignStmt:
			if p.added(n) != nil {
				out = append(out, n)
			}
		}
		return true
	})
	return out
}

// added returns what a statement of the form s = append(s, …) appends, one by one.
func (p *function) added(st *ast.AssignStmt) []ast.Expr {
	if st.Tok != token.ASSIGN || len(st.Lhs) != 1 || len(st.Rhs) != 1 {
		return nil
	}
	call := p.builtin(st.Rhs[0], "append")
	if call == nil || len(call.Args) < 2 || call.Ellipsis.IsValid() || p.src(call.Args[0]) != p.src(st.Lhs[0]) {
		return nil
	}
	return call.Args[1:]
}

// A growth is a slice that statements of a loop append to.
type growth struct {
	loop ast.Stmt
	body *ast.BlockStmt
	s    *types.Var
	all  []*ast.AssignStmt
}

// perRound returns how many elements each round appends, whichever way it takes; 0 when that differs.
func (g *growth) perRound(p *Pass) (n int) {
	if p.leaves(g.body) {
		return 0
	}
	for _, st := range g.all {
		if slices.Contains(g.body.List, ast.Stmt(st)) {
			n += len(p.added(st))
		}
	}
	return n
}

func (p *Pass) grownSlice(g *growth) {
	decl, value := p.declared(g.s)
	if p.hasRoom(value) {
		return
	}
	inAll := slices.ContainsFunc(g.all, func(st *ast.AssignStmt) bool { return slices.Contains(g.body.List, ast.Stmt(st)) })
	if !inAll && (decl == nil || p.parent(decl) != p.parent(g.loop)) {
		return // it grows over more than this loop
	}
	worst, c, also := p.worst(g.all, growing())
	f := finding{
		title:  "slice grown step by step",
		claim:  fmt.Sprintf("append has to make a larger array again and again, and copies %s each time", g.s.Name()),
		advice: "make room for all of it before",
		risk:   "none where all rounds append; else some of the room is not needed",
		also:   also,
	}
	if g.perRound(p) == 0 {
		n, _, ok := p.atMost(g.loop)
		f.claim += "; not every round appends, so it is not known how many there will be"
		f.advice = "if most rounds append, make room for " + map[bool]string{true: n, false: "all of them"}[ok] + "; else for what is usual"
	}
	f.fixes = p.makeRoom(g, &f)
	p.report(worst, c, f)
}

// hasRoom reports whether the first value of a slice was made with room.
func (p *function) hasRoom(value ast.Expr) bool {
	call := p.builtin(value, "make")
	return call != nil && len(call.Args) == 3
}

// worst returns the statement that costs most, what all of them do, and the others.
func (p *Pass) worst(all []*ast.AssignStmt, match func(*chain) bool) (worst *ast.AssignStmt, sum cost, others []ast.Node) {
	var most cost
	worst = all[0]
	lines := map[int]bool{}
	for _, st := range all {
		if line := p.line(st.Pos()); lines[line] {
			continue
		} else {
			lines[line] = true
		}
		c := p.cost(st, match)
		sum.add(&c)
		if p.costs.weight(&c) > p.costs.weight(&most) {
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
func (p *Pass) makeRoom(g *growth, f *finding) []report.Fix {
	n, exact, ok := p.atMost(g.loop)
	at := p.statement(g.loop)
	if !ok || at == nil {
		return p.no("how many rounds the loop has is not known before it begins")
	}
	all := g.perRound(p)
	if !strings.HasPrefix(n, "len(") && (all == 0 || returns(g.body)) {
		return p.no("%s may be any number, and the loop may be left, or append nothing, long before", n)
	}
	title := "make room for all of it"
	if all == 0 || !exact {
		title = "make room for as much as it may be"
	}
	times := all
	for _, st := range g.all {
		times = max(times, len(p.added(st)))
	}
	if times > 1 {
		n = fmt.Sprintf("%d*%s", times, n)
	}
	decl, value := p.declared(g.s)
	_, isVar := decl.(*ast.DeclStmt)
	if p.hasRoom(value) {
		return p.no("%s has room already", g.s.Name())
	}
	if decl != nil && value != nil && p.follows(g.loop, decl) {
		if lit, isLit := value.(*ast.CompositeLit); isLit && len(lit.Elts) == 0 {
			return p.fix(report.Mechanical, title, replace(value, fmt.Sprintf("make(%s, 0, %s)", p.src(lit.Type), n)))
		}
		if call := p.builtin(value, "make"); call != nil && len(call.Args) == 2 && p.src(call.Args[1]) == "0" {
			return p.fix(report.Mechanical, title, newEdit(call.Args[1].End(), call.Args[1].End(), ", "+n))
		}
	}
	switch {
	case all == 0 && isVar && value == nil:
		return p.roomAtFirst(g, title, n)
	case all == 0 && !p.fresh(g.s):
		return p.no("%s may well have room from before, and not every round appends", g.s.Name())
	case !p.unit.atLeast(21): // which has slices.Grow
		return p.roomForNil(g, title, n)
	}
	p.need("slices")
	grade := report.Mechanical
	if !p.fresh(g.s) {
		grade = report.Ownership
		f.risk = "who has the same array may have seen in it what is appended, and then does not"
	}
	return p.fix(grade, title, before(at, fmt.Sprintf("%s = slices.Grow(%s, %s)\n", g.s.Name(), g.s.Name(), n)))
}

// returns reports whether a loop may be left by returning.
func returns(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			found = true
		}
		return !found
	})
	return found
}

// roomAtFirst is a fix that makes room when the first element is appended, of a slice that is nil until then.
func (p *Pass) roomAtFirst(g *growth, title, n string) []report.Fix {
	t, ok := types.Unalias(g.s.Type()).(*types.Slice)
	if !ok {
		return p.no("%s has a type of its own", g.s.Name())
	}
	s := g.s.Name()
	elem := types.TypeString(t.Elem(), p.qualifier())
	var edits []edit
	for _, st := range g.all {
		if p.statement(st) != ast.Stmt(st) {
			return p.no("something is appended to %s in the head of another statement", s)
		}
		edits = append(edits, before(st, fmt.Sprintf("if %s == nil {\n%s = make([]%s, 0, %s)\n}\n", s, s, elem, n)))
	}
	return p.fix(report.Mechanical, title, edits...)
}

// roomForNil is a fix that makes room in a slice that is nil until a loop appends to it, where there is no slices.Grow yet: nil stays nil
// where there are no rounds.
func (p *Pass) roomForNil(g *growth, title, n string) []report.Fix {
	s := g.s
	decl, value := p.declared(s)
	_, isVar := decl.(*ast.DeclStmt)
	isNil := isVar && value == nil || decl == nil && p.isParamResult(s)
	t, isSlice := types.Unalias(s.Type()).(*types.Slice)
	first := p.uses(s)
	if !isNil || !isSlice || p.statement(g.loop) != g.loop || p.captured(s, p.decl.Body) || p.loop(g.loop) != nil || len(first) == 0 || first[0].Pos() < g.loop.Pos() {
		return p.no("the module is for a Go older than 1.21, which has no slices.Grow, and %s may have elements before the loop", s.Name())
	}
	room := p.localName("n")
	elem := types.TypeString(t.Elem(), p.qualifier())
	return p.fix(report.Mechanical, title, before(g.loop, fmt.Sprintf("if %s := %s; %s > 0 {\n%s = make([]%s, 0, %s)\n}\n", room, n, room, s.Name(), elem, room)))
}

// rounds returns how many rounds a loop has, as an expression that can be evaluated before it.
func (p *function) rounds(loop *ast.RangeStmt) (string, bool) {
	if !p.simple(loop.X) {
		return "", false
	}
	t := p.typeOf(loop.X)
	if isBasic(t, types.IsInteger) {
		if p.isConst(loop.X) {
			return p.src(loop.X), true
		}
		if b, ok := types.Unalias(t).(*types.Basic); ok && b.Kind() == types.Int {
			return "max(0, " + p.src(loop.X) + ")", true
		}
		return "", false
	}
	switch u := t.Underlying().(type) {
	case *types.Slice, *types.Array, *types.Map:
		return "len(" + p.src(loop.X) + ")", true
	case *types.Pointer:
		_, isArray := u.Elem().Underlying().(*types.Array)
		return "len(" + p.src(loop.X) + ")", isArray
	}
	return "", false
}

// atMost returns how many rounds a loop has at most, as an expression that can be evaluated before it, and whether it has that many
// unless it is left.
func (p *function) atMost(loop ast.Stmt) (n string, exact, ok bool) {
	switch l := loop.(type) {
	case *ast.RangeStmt:
		if n, ok := p.rounds(l); ok {
			return n, true, true
		}
		if isString(p.typeOf(l.X)) && p.simple(l.X) {
			return "len(" + p.src(l.X) + ")", false, true
		}
	case *ast.ForStmt:
		n, ok := p.counted(l)
		return n, true, ok
	}
	return "", false, false
}

// counted returns how many rounds a loop has that counts up or down: for i := a; i < b; i++.
func (p *function) counted(l *ast.ForStmt) (string, bool) {
	init, ok := l.Init.(*ast.AssignStmt)
	if !ok || init.Tok != token.DEFINE || len(init.Lhs) != 1 || len(init.Rhs) != 1 {
		return "", false
	}
	cond, isCond := l.Cond.(*ast.BinaryExpr)
	post, isPost := l.Post.(*ast.IncDecStmt)
	i := p.local(init.Lhs[0])
	if !isCond || !isPost || i == nil || p.local(cond.X) != i || p.local(post.X) != i || !types.Identical(i.Type(), types.Typ[types.Int]) {
		return "", false
	}
	from, to, last := init.Rhs[0], cond.Y, false // last: that one, too
	switch {
	case post.Tok == token.INC && cond.Op == token.LSS:
	case post.Tok == token.INC && cond.Op == token.LEQ:
		last = true
	case post.Tok == token.DEC && cond.Op == token.GTR:
		from, to = to, from
	case post.Tok == token.DEC && cond.Op == token.GEQ:
		from, to, last = to, from, true
	default:
		return "", false
	}
	vars := map[types.Object]bool{i: true}
	for _, e := range []ast.Expr{from, to} {
		if !p.simple(e) || p.mentionsVar(e, i) {
			return "", false
		}
		ast.Inspect(e, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if v, ok := p.info().ObjectOf(id).(*types.Var); ok {
					vars[v] = true
				}
			}
			return true
		})
	}
	if p.assigns(l.Body, func(o types.Object) bool { return vars[o] }) {
		return "", false
	}
	if less, ok := ast.Unparen(to).(*ast.BinaryExpr); ok && last && less.Op == token.SUB && p.src(less.Y) == "1" {
		to, last = less.X, false
	}
	zero := p.src(from) == "0"
	if zero && !last && (p.builtin(to, "len") != nil || p.isConst(to)) {
		return p.src(to), true
	}
	if !p.unit.atLeast(21) { // which has max
		return "", false
	}
	n := p.src(to)
	if last {
		n += "+1"
	}
	if !zero {
		if _, sum := ast.Unparen(from).(*ast.BinaryExpr); sum {
			n += "-(" + p.src(from) + ")"
		} else {
			n += "-" + p.src(from)
		}
	}
	return "max(0, " + n + ")", true
}
