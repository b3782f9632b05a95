// Package lists knows what becomes of slices: what is appended to them, whether they have room, and an array of their own.
package lists

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
)

// Fresh reports whether a slice of the function has an array of its own, or none.
func Fresh(f *code.Func, s *types.Var) bool {
	decl, value := f.Declared(s)
	if decl == nil {
		return false
	}
	_, isLit := value.(*ast.CompositeLit)
	_, isVar := decl.(*ast.DeclStmt)
	return isLit || f.Builtin(value, "make") != nil || value == nil && isVar
}

// Copies returns the statement of a loop that does nothing but append what it ranges over, or nil.
func Copies(f *code.Func, loop *ast.RangeStmt) *ast.AssignStmt {
	v, ok := loop.Value.(*ast.Ident)
	if !ok || loop.Tok != token.DEFINE || loop.Key != nil && !code.IsBlank(loop.Key) || len(loop.Body.List) != 1 {
		return nil
	}
	list := AppendsIn(f, loop.Body)
	if len(list) != 1 || loop.Body.List[0] != list[0] {
		return nil
	}
	call := list[0].Rhs[0].(*ast.CallExpr)
	arg, ok := ast.Unparen(call.Args[1]).(*ast.Ident)
	if !ok || len(call.Args) > 2 || f.Info().ObjectOf(arg) != f.Info().ObjectOf(v) || !flow.Simple(f, list[0].Lhs[0]) {
		return nil
	}
	from, ok := f.TypeOf(loop.X).Underlying().(*types.Slice)
	if !ok {
		return nil
	}
	to, ok := f.TypeOf(call.Args[0]).Underlying().(*types.Slice)
	if !ok || !types.Identical(from.Elem(), to.Elem()) {
		return nil
	}
	return list[0]
}

// isEmpty reports whether a declaration is one of a list alone, without anything in it.
func isEmpty(f *code.Func, decl ast.Stmt, value ast.Expr) bool {
	switch d := decl.(type) {
	case *ast.DeclStmt:
		spec, ok := d.Decl.(*ast.GenDecl).Specs[0].(*ast.ValueSpec)
		if !ok || len(d.Decl.(*ast.GenDecl).Specs) > 1 || len(spec.Names) > 1 {
			return false
		}
	case *ast.AssignStmt:
		if len(d.Lhs) > 1 {
			return false
		}
	}
	if value == nil {
		_, isVar := decl.(*ast.DeclStmt)
		return isVar
	}
	if lit, ok := value.(*ast.CompositeLit); ok {
		return len(lit.Elts) == 0
	}
	call := f.Builtin(value, "make")
	return call != nil && f.Src(call.Args[1]) == "0" && (len(call.Args) == 2 || flow.Simple(f, call.Args[2]))
}

// AppendsIn returns the statements of a loop that append to what keeps the result: s = append(s, …).
func AppendsIn(f *code.Func, body *ast.BlockStmt) (out []*ast.AssignStmt) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ForStmt, *ast.RangeStmt:
			return false
		case *ast.AssignStmt:
			if Added(f, n) != nil {
				out = append(out, n)
			}
		}
		return true
	})
	return out
}

// Added returns what a statement of the form s = append(s, …) appends, one by one.
func Added(f *code.Func, st *ast.AssignStmt) []ast.Expr {
	if st.Tok != token.ASSIGN || len(st.Lhs) != 1 || len(st.Rhs) != 1 {
		return nil
	}
	call := f.Builtin(st.Rhs[0], "append")
	if call == nil || len(call.Args) < 2 || call.Ellipsis.IsValid() || f.Src(call.Args[0]) != f.Src(st.Lhs[0]) {
		return nil
	}
	return call.Args[1:]
}

// Restarted reports whether a node gives a slice another value than that of append to it, or may do so by its address. How long it gets is
// not known then.
func Restarted(f *code.Func, in ast.Node, s *types.Var) bool {
	return slices.ContainsFunc(f.Uses(s), func(id *ast.Ident) bool {
		if !code.Within(id, in) {
			return false
		}
		switch up := f.Parent(id).(type) {
		case *ast.AssignStmt:
			return slices.Contains(up.Lhs, ast.Expr(id)) && !appends(f, up, s)
		case *ast.RangeStmt:
			return up.Key == ast.Expr(id) || up.Value == ast.Expr(id)
		}
		return flow.ByAddress(f, id)
	})
}

// appends reports whether a statement appends to a slice, be it another list: s = append(s, …).
func appends(f *code.Func, st *ast.AssignStmt, s *types.Var) bool {
	if len(st.Lhs) != 1 || len(st.Rhs) != 1 {
		return false
	}
	call := f.Builtin(st.Rhs[0], "append")
	return call != nil && f.Local(call.Args[0]) == s
}

// HasRoom reports whether the first value of a slice was made with room.
func HasRoom(f *code.Func, value ast.Expr) bool {
	call := f.Builtin(value, "make")
	return call != nil && len(call.Args) == 3
}
