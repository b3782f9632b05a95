// Package pool knows code of a sync.Pool.
package pool

import (
	"go/ast"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/advise/facts/steady"
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
	o := kind.TypeName(t)
	return o != nil && o.Pkg() != nil && o.Pkg().Path() == "sync" && o.Name() == "Pool"
}

// Empty reports whether a pool, which is a variable of the package, makes empty buffers: then one that was reset is as good as new.
func Empty(f *code.Func, pool ast.Expr) bool {
	o, ok := f.Object(pool).(*types.Var)
	if !ok || o.Parent() != f.Pkg.Types.Scope() {
		return false
	}
	found := false
	for _, file := range f.Pkg.Files {
		ast.Inspect(file.AST, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if i := slices.IndexFunc(spec.Names, func(id *ast.Ident) bool { return f.Info().Defs[id] == types.Object(o) }); i >= 0 && i < len(spec.Values) {
				found = makesBuffers(f, spec.Values[i])
			}
			return false
		})
	}
	return found && steady.Variable(f, o)
}

// makesBuffers reports whether a literal of a pool has a New that returns an empty bytes.Buffer.
func makesBuffers(f *code.Func, value ast.Expr) bool {
	if ref, ok := value.(*ast.UnaryExpr); ok {
		value = ref.X
	}
	lit, ok := value.(*ast.CompositeLit)
	if !ok || len(lit.Elts) != 1 {
		return false
	}
	kv, ok := lit.Elts[0].(*ast.KeyValueExpr)
	if !ok {
		return false
	}
	made, ok := kv.Value.(*ast.FuncLit)
	if !ok || len(made.Body.List) != 1 {
		return false
	}
	ret, ok := made.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 || f.TypeOf(ret.Results[0]).String() != "*bytes.Buffer" {
		return false
	}
	switch e := ret.Results[0].(type) {
	case *ast.CallExpr:
		return f.Builtin(e, "new") != nil
	case *ast.UnaryExpr:
		inner, ok := e.X.(*ast.CompositeLit)
		return ok && len(inner.Elts) == 0
	}
	return false
}
