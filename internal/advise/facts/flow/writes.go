package flow

import (
	"go/ast"
	"go/types"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/gotypes/writes"
)

// Assigns reports whether something in a node writes to one of some variables or fields, or to what they lead to, or takes the address of one.
// What goes through a channel changes no variable.
func Assigns(f *code.Func, in ast.Node, is func(types.Object) bool) bool {
	for w := range writes.In(f.Info(), in) {
		if w.How == writes.Send || w.How == writes.Receive {
			continue
		}
		if w.Root != nil {
			if o := f.Info().ObjectOf(w.Root); o != nil && is(o) {
				return true
			}
		}
		for _, field := range w.Fields {
			if is(field) {
				return true
			}
		}
	}
	return false
}

// OnlyRead reports whether a variable has one value from where it is declared on. What it leads to may change.
func OnlyRead(f *code.Func, v *types.Var, declared *ast.AssignStmt) bool {
	return !writes.To(f.Info(), f.Decl.Body, v, func(w writes.Write) bool {
		return w.Inside && w.At != ast.Node(declared) && w.How != writes.Send && w.How != writes.Receive
	})
}

// Addressed reports whether the address of a variable, or of a part of it, is taken anywhere in the function, be it for a method or a slice of an array.
func Addressed(f *code.Func, v types.Object) bool {
	return writes.To(f.Info(), f.Decl, v, func(w writes.Write) bool { return w.Inside && w.How.HandsOut() })
}

// ByAddress reports whether the address of a variable is taken where it is named, be it for a method or a slice of an array.
func ByAddress(f *code.Func, id *ast.Ident) bool {
	switch up := f.Parent(id).(type) {
	case *ast.UnaryExpr, *ast.SelectorExpr, *ast.SliceExpr:
		for w := range writes.In(f.Info(), up) {
			if w.Expr == ast.Expr(id) && w.How.HandsOut() {
				return true
			}
		}
	}
	return false
}
