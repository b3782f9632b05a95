// Package pool knows code of a sync.Pool.
package pool

import (
	"go/ast"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise/facts/code"
)

// InNew returns the function literal that a node is in when it is the New of a sync.Pool, or nil.
func InNew(f *code.Func, n ast.Node) *ast.FuncLit {
	isPool := func(t types.Type) bool {
		if t == nil {
			return false
		}
		if ptr, ok := types.Unalias(t).(*types.Pointer); ok {
			t = ptr.Elem()
		}
		named, ok := types.Unalias(t).(*types.Named)
		return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "sync" && named.Obj().Name() == "Pool"
	}
	for lit := f.Literal(n); lit != nil; lit = f.Literal(lit) {
		switch up := f.Parent(lit).(type) {
		case *ast.KeyValueExpr:
			if key := code.AsIdent(up.Key); key != nil && key.Name == "New" {
				if pool, ok := f.Parent(up).(*ast.CompositeLit); ok && isPool(f.TypeOf(pool)) {
					return lit
				}
			}
		case *ast.AssignStmt:
			i := slices.Index(up.Rhs, ast.Expr(lit))
			if i >= 0 && i < len(up.Lhs) {
				if sel, ok := up.Lhs[i].(*ast.SelectorExpr); ok && sel.Sel.Name == "New" && isPool(f.TypeOf(sel.X)) {
					return lit
				}
			}
		}
	}
	return nil
}
