// Package flow knows when code is run and what changes in between: whether an expression has the same value somewhere else, who assigns to
// a variable, and what goes on behind a statement.
package flow

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise/facts/code"
)

// GoesOut reports whether something in a loop goes to a label that is not in it.
func GoesOut(f *code.Func, loop ast.Stmt) bool {
	labels := map[string]bool{}
	ast.Inspect(loop, func(n ast.Node) bool {
		if l, ok := n.(*ast.LabeledStmt); ok {
			labels[l.Label.Name] = true
		}
		return true
	})
	if l, ok := f.Parent(loop).(*ast.LabeledStmt); ok {
		labels[l.Label.Name] = true
	}
	out := false
	ast.Inspect(loop, func(n ast.Node) bool {
		if b, ok := n.(*ast.BranchStmt); ok && b.Label != nil && !labels[b.Label.Name] {
			out = true
		}
		return !out
	})
	return out
}

// Follows reports whether a statement comes right after another one.
func Follows(f *code.Func, st, first ast.Stmt) bool {
	block, ok := f.Parent(st).(*ast.BlockStmt)
	if !ok {
		return false
	}
	i := slices.Index(block.List, st)
	return i > 0 && block.List[i-1] == first
}

// Known reports whether an expression can be evaluated at a statement as well as later, at another one of the same list, whatever
// its value is then: it is a variable of the function, or a field of one that was looked into before.
func Known(f *code.Func, from, to ast.Stmt, e ast.Expr) bool {
	block, ok := f.Parent(to).(*ast.BlockStmt)
	if !ok {
		return false
	}
	i, j := slices.Index(block.List, from), slices.Index(block.List, to)
	if i < 0 || j < i {
		return false
	}
	e = ast.Unparen(e)
	if v := f.Local(e); v != nil {
		return v.Pos() < from.Pos()
	}
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	v := f.Local(sel.X)
	if v == nil || v.Pos() >= from.Pos() {
		return false
	}
	if i+1 < j && begins(f, block.List[i+1], v) {
		return true
	}
	return slices.ContainsFunc(block.List[:i], func(st ast.Stmt) bool { return LooksInto(f, st, v) })
}

// LooksInto reports whether a statement reads a field of a variable whenever it is run.
func LooksInto(f *code.Func, st ast.Stmt, v *types.Var) bool {
	found := false
	ast.Inspect(st, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt, *ast.FuncLit, *ast.CaseClause, *ast.CommClause:
			return false // that may not be reached
		case *ast.RangeStmt:
			found = found || LooksInto(f, &ast.ExprStmt{X: n.X}, v)
			return false
		case *ast.ForStmt:
			for _, part := range []ast.Stmt{n.Init, &ast.ExprStmt{X: n.Cond}} { // what is behind a round may not be, either
				if e, ok := part.(*ast.ExprStmt); part != nil && (!ok || e.X != nil) {
					found = found || LooksInto(f, part, v)
				}
			}
			return false
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				return false
			}
		case *ast.SelectorExpr:
			found = found || f.Local(n.X) == v && f.Info().Selections[n] != nil && f.Info().Selections[n].Kind() == types.FieldVal
		}
		return true
	})
	return found
}

// begins reports whether a statement reads a field of a variable before it does anything else: if that is a nil pointer, the statement does no
// more than panic.
func begins(f *code.Func, st ast.Stmt, v *types.Var) bool {
	assign, ok := st.(*ast.AssignStmt)
	if !ok {
		return false
	}
	found := false
	look := func(n ast.Node) bool {
		switch n := n.(type) {
		case nil, *ast.Ident, *ast.BasicLit, *ast.ParenExpr:
		case *ast.SelectorExpr:
			s := f.Info().Selections[n]
			ok = ok && (s == nil || s.Kind() == types.FieldVal)
			found = found || s != nil && f.Local(n.X) == v
		case *ast.IndexExpr: // which is where the value goes
			m := f.Local(n.X)
			if m == nil {
				ok = false
				break
			}
			t, isMap := m.Type().Underlying().(*types.Map)
			ok = ok && isMap && !types.IsInterface(t.Key())
		default:
			ok = false
		}
		return ok
	}
	for _, list := range [][]ast.Expr{assign.Lhs, assign.Rhs} {
		for _, e := range list {
			ast.Inspect(e, look)
		}
	}
	return ok && found
}

// Between reports whether an expression has the same value at a statement as later, at another one of the same list: all its
// variables are of the function, there already, and nothing in between changes them.
func Between(f *code.Func, from, to ast.Stmt, e ast.Expr) bool {
	block, ok := f.Parent(to).(*ast.BlockStmt)
	if !ok {
		return false
	}
	i, j := slices.Index(block.List, from), slices.Index(block.List, to)
	if i < 0 || j < i {
		return false
	}
	ok = Simple(f, e)
	vars := map[types.Object]bool{}
	ast.Inspect(e, func(n ast.Node) bool {
		if id, isID := n.(*ast.Ident); isID {
			if v, isVar := f.Info().ObjectOf(id).(*types.Var); isVar {
				vars[v] = true
				ok = ok && !v.IsField() && f.Local(id) != nil && v.Pos() < from.Pos()
			}
		}
		return true
	})
	for _, st := range block.List[i:j] {
		if Assigns(f, st, func(o types.Object) bool { return vars[o] }) {
			return false
		}
	}
	for o := range vars {
		ok = ok && !Captured(f, o, f.Decl.Body)
	}
	return ok
}

// CapturedBy returns the names of the variables of the function that a literal uses.
func CapturedBy(f *code.Func, lit *ast.FuncLit) (out []string) {
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if v := f.Local(id); v != nil && (v.Pos() < lit.Pos() || v.Pos() >= lit.End()) && !slices.Contains(out, v.Name()) {
				out = append(out, v.Name())
			}
		}
		return true
	})
	return out
}

// AllConst reports whether all that an expression is made of is the same in every call: constants, and calls of functions of
// other packages with them.
func AllConst(f *code.Func, e ast.Expr) bool {
	e = ast.Unparen(e)
	if f.IsConst(e) {
		return true
	}
	call, ok := e.(*ast.CallExpr)
	if !ok || call.Ellipsis.IsValid() {
		return false
	}
	fn := f.Callee(call)
	if fn == nil || fn.Pkg() == f.Pkg.Types {
		return false
	}
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok && f.Info().Selections[sel] != nil && !AllConst(f, sel.X) {
		return false
	}
	return !slices.ContainsFunc(call.Args, func(a ast.Expr) bool { return !AllConst(f, a) })
}

// Changing returns the part of an expression that may be another one in each call: the innermost.
func Changing(f *code.Func, e ast.Expr) string {
	e = ast.Unparen(e)
	if call, ok := e.(*ast.CallExpr); ok {
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && f.Info().Selections[sel] != nil && !AllConst(f, sel.X) {
			return Changing(f, sel.X)
		}
		if i := slices.IndexFunc(call.Args, func(a ast.Expr) bool { return !AllConst(f, a) }); i >= 0 {
			return Changing(f, call.Args[i])
		}
	}
	return f.Src(e)
}

// OutermostSum reports whether a sum of texts is no part of a larger one.
func OutermostSum(f *code.Func, e *ast.BinaryExpr) bool {
	up, ok := f.Parent(e).(*ast.BinaryExpr)
	for n := f.Parent(e); n != nil; n = f.Parent(n) {
		if _, isParen := n.(*ast.ParenExpr); !isParen {
			up, ok = n.(*ast.BinaryExpr)
			break
		}
	}
	return !ok || up.Op != token.ADD
}

// Simple reports whether an expression can be evaluated again, or at another time, without anybody noticing, as long as its
// variables stay as they are: no calls, no receiving, no indexing that may fail.
func Simple(f *code.Func, e ast.Expr) bool {
	ok := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if f.Builtin(n, "len") == nil && f.Builtin(n, "cap") == nil && !f.Info().Types[n.Fun].IsType() {
				ok = false
			}
		case *ast.UnaryExpr:
			ok = ok && n.Op != token.ARROW
		case *ast.IndexExpr, *ast.SliceExpr, *ast.StarExpr, *ast.TypeAssertExpr, *ast.FuncLit, *ast.CompositeLit:
			ok = false
		case *ast.SelectorExpr:
			if s := f.Info().Selections[n]; s != nil && s.Indirect() && f.Local(n.X) == nil {
				ok = false
			}
		}
		return ok
	})
	return ok
}

// Captured reports whether a variable is used in a function literal inside of a node.
func Captured(f *code.Func, v types.Object, in ast.Node) bool {
	found := false
	ast.Inspect(in, func(n ast.Node) bool {
		lit, ok := n.(*ast.FuncLit)
		if !ok {
			return !found
		}
		ast.Inspect(lit.Body, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && f.Info().ObjectOf(id) == v {
				found = true
			}
			return !found
		})
		return false
	})
	return found
}

// MayEnd reports whether something may end the function, or go on elsewhere, outside of function literals.
func MayEnd(f *code.Func, n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt, *ast.LabeledStmt:
			found = true
		case *ast.BranchStmt:
			found = found || n.Label != nil || n.Tok == token.GOTO
		case *ast.CallExpr:
			found = found || f.Builtin(n, "panic") != nil || f.Calls(n, "runtime.Goexit") != nil
		}
		return !found
	})
	return found
}

// Quiet reports whether the arguments of a call only make texts and numbers, so that nothing is written meanwhile to what the
// call is about.
func Quiet(f *code.Func, call *ast.CallExpr) bool {
	ok := true
	for _, a := range call.Args {
		ast.Inspect(a, func(n ast.Node) bool {
			if inner, isCall := n.(*ast.CallExpr); isCall && !f.Info().Types[inner.Fun].IsType() && f.Builtin(inner, "len") == nil {
				fn := f.Callee(inner)
				ok = ok && fn != nil && fn.Pkg() != nil && (slices.Contains([]string{"strconv", "strings"}, fn.Pkg().Path()) || fn.FullName() == "(time.Duration).String")
			}
			return ok
		})
	}
	return ok
}
