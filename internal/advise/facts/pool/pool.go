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
	for lit := f.Literal(n); lit != nil; lit = f.Literal(lit) {
		if isNew(f, lit) {
			return lit
		}
	}
	return nil
}

// OnlyNew reports whether a function of the package that others cannot call is called by the New of a sync.Pool alone, or is one.
func OnlyNew(f *code.Func) bool {
	fn, ok := f.Info().Defs[f.Decl.Name].(*types.Func)
	if !ok || fn.Exported() {
		return false
	}
	uses, above := f.Pkg.UsesOf(fn), f.Pkg.Above()
	return len(uses) > 0 && !slices.ContainsFunc(uses, func(id *ast.Ident) bool {
		for n := ast.Node(id); n != nil; n = above[n] {
			if e, ok := n.(ast.Expr); ok && isNew(f, e) {
				return false
			}
		}
		return true
	})
}

// isNew reports whether a function is given to the New of a sync.Pool.
func isNew(f *code.Func, fn ast.Expr) bool {
	above := f.Pkg.Above()
	switch up := above[fn].(type) {
	case *ast.KeyValueExpr:
		key := code.AsIdent(up.Key)
		pool, ok := above[up].(*ast.CompositeLit)
		return up.Value == fn && key != nil && key.Name == "New" && ok && isPool(f.TypeOf(pool))
	case *ast.AssignStmt:
		if i := slices.Index(up.Rhs, fn); i >= 0 && i < len(up.Lhs) {
			sel, ok := up.Lhs[i].(*ast.SelectorExpr)
			return ok && sel.Sel.Name == "New" && isPool(f.TypeOf(sel.X))
		}
	}
	return false
}

// isPool reports whether a type is sync.Pool, or a pointer to it.
func isPool(t types.Type) bool {
	if t == nil {
		return false
	}
	if ptr, ok := types.Unalias(t).(*types.Pointer); ok {
		t = ptr.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "sync" && named.Obj().Name() == "Pool"
}
