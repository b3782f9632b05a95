package lists

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
)

// NilUnseen reports whether nobody can tell whether a slice without elements is nil: it is only appended to, measured, indexed, ranged over, and
// given to functions, or returned to callers, that look at the elements.
func NilUnseen(f *code.Func, s *types.Var) bool { return nilUnseen(f, s, 2) }

// nilUnseen follows results of functions to as many callers as depth says.
func nilUnseen(f *code.Func, s *types.Var, depth int) bool {
	if f.IsParamResult(s) || flow.Captured(f, s, f.Decl.Body) {
		return false
	}
	for _, id := range f.Uses(s) {
		switch up := f.Parent(id).(type) {
		case *ast.IndexExpr:
			if up.X != id {
				return false
			}
		case *ast.RangeStmt:
			if up.X != id {
				return false
			}
		case *ast.AssignStmt:
			if slices.Contains(up.Rhs, ast.Expr(id)) && keptUnseen(f, up, id) {
				continue
			}
			if !slices.Contains(up.Lhs, ast.Expr(id)) || Added(f, up) == nil {
				return false
			}
		case *ast.ReturnStmt:
			if !filledBefore(f, up, s) && !resultUnseen(f, slices.Index(up.Results, ast.Expr(id)), depth) {
				return false
			}
		case *ast.KeyValueExpr:
			if key, ok := up.Key.(*ast.Ident); !ok || up.Value != id || !fieldUnseen(f, f.Info().Uses[key]) {
				return false
			}
		case *ast.CallExpr:
			if !looksAtElements(f, up, id) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// filledBefore reports whether something is appended to a slice just before a statement, in its list or in one around it.
func filledBefore(f *code.Func, st ast.Stmt, s *types.Var) bool {
	for n := ast.Node(st); n != nil; n = f.Parent(n) {
		block, ok := f.Parent(n).(*ast.BlockStmt)
		if !ok {
			continue
		}
		for _, before := range block.List {
			if before.Pos() >= n.Pos() {
				break
			}
			if a, ok := before.(*ast.AssignStmt); ok && Added(f, a) != nil && f.Local(a.Lhs[0]) == s {
				return true
			}
		}
	}
	return false
}

// resultUnseen reports whether no caller of a function of the package, which nobody else can call, can tell whether a result is nil.
func resultUnseen(f *code.Func, i, depth int) bool {
	fn, ok := f.Info().Defs[f.Decl.Name].(*types.Func)
	if !ok || fn.Exported() || depth == 0 || fn.Signature().Recv() != nil && isOfInterface(f, fn) {
		return false
	}
	above := f.Pkg.Above()
	for _, id := range f.Pkg.UsesOf(fn) {
		callee := ast.Node(id)
		if sel, ok := above[id].(*ast.SelectorExpr); ok {
			callee = sel
		}
		call, ok := above[callee].(*ast.CallExpr)
		if !ok || ast.Node(call.Fun) != callee {
			return false
		}
		switch up := above[call].(type) {
		case *ast.RangeStmt:
			ok = up.X == ast.Expr(call)
		case *ast.CallExpr:
			ok = f.Builtin(up, "len") != nil
		case *ast.AssignStmt:
			ok = len(up.Rhs) == 1 && i >= 0 && i < len(up.Lhs) && givenUnseen(f, up.Lhs[i], depth)
		default:
			_, ok = up.(*ast.ExprStmt)
		}
		if !ok {
			return false
		}
	}
	return true
}

// givenUnseen reports whether nobody can tell whether what is assigned is nil.
func givenUnseen(f *code.Func, to ast.Expr, depth int) bool {
	if code.IsBlank(to) {
		return true
	}
	if sel, ok := to.(*ast.SelectorExpr); ok {
		return fieldUnseen(f, f.Info().Uses[sel.Sel])
	}
	id, ok := to.(*ast.Ident)
	if !ok {
		return false
	}
	above := f.Pkg.Above()
	v, isVar := f.Info().ObjectOf(id).(*types.Var)
	for n := above[id]; n != nil && isVar; n = above[n] {
		decl, ok := n.(*ast.FuncDecl)
		if !ok {
			continue
		}
		for _, file := range f.Pkg.Files {
			if file.AST == above[decl] {
				return nilUnseen(f.In(file, decl), v, depth-1)
			}
		}
	}
	return false
}

// isOfInterface reports whether a method may be called through an interface of the package.
func isOfInterface(f *code.Func, fn *types.Func) bool {
	scope := f.Pkg.Types.Scope()
	for _, name := range scope.Names() {
		t, ok := scope.Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		iface, ok := t.Type().Underlying().(*types.Interface)
		if !ok {
			continue
		}
		for m := range iface.Methods() {
			if m.Name() == fn.Name() {
				return true
			}
		}
	}
	return false
}

// keptUnseen reports whether an assignment puts a slice into a field of which nobody can tell whether it is nil.
func keptUnseen(f *code.Func, st *ast.AssignStmt, s *ast.Ident) bool {
	if len(st.Lhs) != len(st.Rhs) || st.Tok != token.ASSIGN {
		return false
	}
	sel, ok := ast.Unparen(st.Lhs[slices.Index(st.Rhs, ast.Expr(s))]).(*ast.SelectorExpr)
	return ok && fieldUnseen(f, f.Info().Uses[sel.Sel])
}

// fieldUnseen reports whether a field that only the package can see is a list that all of it only measures, indexes and ranges over.
func fieldUnseen(f *code.Func, o types.Object) bool {
	field, ok := o.(*types.Var)
	if !ok || !field.IsField() || field.Exported() || field.Pkg() != f.Pkg.Types {
		return false
	}
	above := f.Pkg.Above()
	for id, used := range f.Info().Uses {
		if used != o {
			continue
		}
		if kv, ok := above[id].(*ast.KeyValueExpr); ok && kv.Key == id {
			continue
		}
		sel, ok := above[id].(*ast.SelectorExpr)
		if !ok {
			return false
		}
		switch up := above[sel].(type) {
		case *ast.IndexExpr:
			ok = up.X == sel
		case *ast.RangeStmt:
			ok = up.X == sel
		case *ast.AssignStmt:
			ok = slices.Contains(up.Lhs, ast.Expr(sel))
		case *ast.CallExpr:
			ok = f.Builtin(up, "len") != nil || f.Builtin(up, "cap") != nil
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return true
}

// looksAtElements reports whether a call does the same with a slice without elements, whether that is nil or not.
func looksAtElements(f *code.Func, call *ast.CallExpr, list *ast.Ident) bool {
	if f.Builtin(call, "len") != nil || f.Builtin(call, "cap") != nil || f.Builtin(call, "copy") != nil {
		return true
	}
	if fun := f.Info().Types[call.Fun]; fun.IsType() && kind.IsString(fun.Type) {
		return true
	}
	if f.Builtin(call, "append") != nil {
		st, ok := f.Parent(call).(*ast.AssignStmt)
		if call.Args[0] != ast.Expr(list) {
			return call.Ellipsis.IsValid() // or else it is an element itself
		}
		return ok && Added(f, st) != nil
	}
	fn := f.Callee(call)
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	switch name := fn.Name(); fn.Pkg().Path() {
	case "strings":
		return name == "Join"
	case "sort":
		return true
	case "slices":
		return strings.HasPrefix(name, "Sort") || strings.HasPrefix(name, "Contains") || strings.HasPrefix(name, "Index") || name == "Reverse" || name == "BinarySearch"
	}
	return false
}
