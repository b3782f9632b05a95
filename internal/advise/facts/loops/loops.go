// Package loops knows how often loops go round, and how their rounds may end.
package loops

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
)

// Leaves reports whether rounds of a loop may end before their end, other than by returning.
func Leaves(f *code.Func, body *ast.BlockStmt) bool {
	found := false
	var walk func(n ast.Node, breaks bool)
	walk = func(n ast.Node, breaks bool) {
		ast.Inspect(n, func(m ast.Node) bool {
			switch m := m.(type) {
			case *ast.FuncLit:
				return false
			case *ast.BranchStmt:
				if m.Label != nil || m.Tok == token.GOTO || m.Tok == token.CONTINUE || m.Tok == token.BREAK && breaks {
					found = true
				}
			case *ast.ForStmt, *ast.RangeStmt:
				if m != n {
					return false // their own; labels are rare enough
				}
			case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
				if m != n {
					walk(m, false)
					return false
				}
			}
			return !found
		})
	}
	walk(body, true)
	return found || hasLabel(body)
}

// hasLabel reports whether something in a node goes to a label.
func hasLabel(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if b, ok := n.(*ast.BranchStmt); ok && b.Label != nil {
			found = true
		}
		return !found
	})
	return found
}

// BodyOf returns the body of a loop, or nil for other statements.
func BodyOf(st ast.Stmt) *ast.BlockStmt {
	switch l := st.(type) {
	case *ast.RangeStmt:
		return l.Body
	case *ast.ForStmt:
		return l.Body
	}
	return nil
}

// Returns reports whether a loop may be left by returning.
func Returns(body *ast.BlockStmt) bool {
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

// Rounds returns how many rounds a loop has, as an expression that can be evaluated before it.
func Rounds(f *code.Func, loop *ast.RangeStmt) (string, bool) {
	if !flow.Simple(f, loop.X) {
		return "", false
	}
	t := f.TypeOf(loop.X)
	if kind.IsBasic(t, types.IsInteger) {
		if f.IsConst(loop.X) {
			return f.Src(loop.X), true
		}
		if b, ok := types.Unalias(t).(*types.Basic); ok && b.Kind() == types.Int {
			return "max(0, " + f.Src(loop.X) + ")", true
		}
		return "", false
	}
	switch u := t.Underlying().(type) {
	case *types.Slice, *types.Array, *types.Map:
		return "len(" + f.Src(loop.X) + ")", true
	case *types.Pointer:
		_, isArray := u.Elem().Underlying().(*types.Array)
		return "len(" + f.Src(loop.X) + ")", isArray
	}
	return "", false
}

// AtMost returns how many rounds a loop has at most, as an expression that can be evaluated before it, and whether it has that many
// unless it is left.
func AtMost(f *code.Func, loop ast.Stmt) (n string, exact, ok bool) {
	switch l := loop.(type) {
	case *ast.RangeStmt:
		if n, ok := Rounds(f, l); ok {
			return n, true, true
		}
		if kind.IsString(f.TypeOf(l.X)) && flow.Simple(f, l.X) {
			return "len(" + f.Src(l.X) + ")", false, true
		}
	case *ast.ForStmt:
		n, ok := counted(f, l)
		return n, true, ok
	}
	return "", false, false
}

// counted returns how many rounds a loop has that counts up or down: for i := a; i < b; i++.
func counted(f *code.Func, l *ast.ForStmt) (string, bool) {
	init, ok := l.Init.(*ast.AssignStmt)
	if !ok || init.Tok != token.DEFINE || len(init.Lhs) != 1 || len(init.Rhs) != 1 {
		return "", false
	}
	cond, isCond := l.Cond.(*ast.BinaryExpr)
	post, isPost := l.Post.(*ast.IncDecStmt)
	i := f.Local(init.Lhs[0])
	if !isCond || !isPost || i == nil || f.Local(cond.X) != i || f.Local(post.X) != i || !types.Identical(i.Type(), types.Typ[types.Int]) {
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
		if !flow.Simple(f, e) || f.MentionsVar(e, i) {
			return "", false
		}
		ast.Inspect(e, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if v, ok := f.Info().ObjectOf(id).(*types.Var); ok {
					vars[v] = true
				}
			}
			return true
		})
	}
	if flow.Assigns(f, l.Body, func(o types.Object) bool { return vars[o] }) {
		return "", false
	}
	if less, ok := ast.Unparen(to).(*ast.BinaryExpr); ok && last && less.Op == token.SUB && f.Src(less.Y) == "1" {
		to, last = less.X, false
	}
	zero := f.Src(from) == "0"
	if zero && !last && (f.Builtin(to, "len") != nil || f.IsConst(to)) {
		return f.Src(to), true
	}
	if !f.Pkg.AtLeast(21) { // which has max
		return "", false
	}
	n := f.Src(to)
	if last {
		n += "+1"
	}
	if !zero {
		if _, sum := ast.Unparen(from).(*ast.BinaryExpr); sum {
			n += "-(" + f.Src(from) + ")"
		} else {
			n += "-" + f.Src(from)
		}
	}
	return "max(0, " + n + ")", true
}
