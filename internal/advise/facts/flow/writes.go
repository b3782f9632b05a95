package flow

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/hone-perf/hone/internal/advise/facts/code"
)

// A Write is a place where something is written to, or may be from then on.
type Write struct {
	Root    types.Object   // the variable that the expression begins with; nil where it begins with a call or a literal
	Fields  []types.Object // that are named on the way, the last one first
	Inside  bool           // it is the memory of the variable itself, and nothing that it points or refers to
	Address bool           // no value is assigned here, but its address is taken, be it for a method or for a slice of an array
	At      ast.Node       // the statement or the expression
}

// Writes calls yield with each place in a node where something is written to, until it returns false.
func Writes(f *code.Func, in ast.Node, yield func(Write) bool) {
	more := true
	write := func(at ast.Node, e ast.Expr, address, refers bool) {
		if e != nil && more {
			w := target(f, e)
			w.At, w.Address, w.Inside = at, address, w.Inside && !refers
			more = yield(w)
		}
	}
	ast.Inspect(in, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				write(n, l, false, false)
			}
		case *ast.IncDecStmt:
			write(n, n.X, false, false)
		case *ast.RangeStmt:
			write(n, n.Key, false, false)
			write(n, n.Value, false, false)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				write(n, n.X, true, false)
			}
		case *ast.SliceExpr:
			if t := f.TypeOf(n.X); t != nil {
				if _, isArray := t.Underlying().(*types.Array); isArray {
					write(n, n.X, true, false)
				}
			}
		case *ast.SelectorExpr:
			if forMethod(f, n) {
				write(n, n.X, true, false)
			}
		case *ast.CallExpr:
			for _, name := range []string{"copy", "clear", "delete"} {
				if f.Builtin(n, name) != nil {
					write(n, n.Args[0], false, true)
				}
			}
		}
		return more
	})
}

// target returns what an expression stands for that is written to.
func target(f *code.Func, e ast.Expr) Write {
	w := Write{Inside: true}
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.IndexExpr:
			if _, isArray := f.TypeOf(x.X).Underlying().(*types.Array); !isArray {
				w.Inside = false
			}
			e = x.X
		case *ast.SliceExpr:
			if _, isArray := f.TypeOf(x.X).Underlying().(*types.Array); !isArray {
				w.Inside = false
			}
			e = x.X
		case *ast.SelectorExpr:
			o := f.Info().ObjectOf(x.Sel)
			if s := f.Info().Selections[x]; s == nil { // of a package
				w.Root = o
				return w
			} else if s.Indirect() {
				w.Inside = false
			}
			w.Fields = append(w.Fields, o)
			e = x.X
		case *ast.StarExpr:
			w.Inside = false
			e = x.X
		case *ast.Ident:
			w.Root = f.Info().ObjectOf(x)
			return w
		default:
			return w
		}
	}
}

// forMethod reports whether a selector takes the address of a variable to be the receiver of a method.
func forMethod(f *code.Func, sel *ast.SelectorExpr) bool {
	s := f.Info().Selections[sel]
	if s == nil || s.Kind() != types.MethodVal {
		return false
	}
	_, pointer := types.Unalias(s.Obj().(*types.Func).Signature().Recv().Type()).(*types.Pointer)
	_, is := types.Unalias(s.Recv()).(*types.Pointer)
	return pointer && !is
}

// Assigns reports whether something in a node writes to one of some variables or fields, or to what they lead to, or takes the address of one.
func Assigns(f *code.Func, in ast.Node, is func(types.Object) bool) (found bool) {
	Writes(f, in, func(w Write) bool {
		found = w.Root != nil && is(w.Root)
		for _, field := range w.Fields {
			found = found || field != nil && is(field)
		}
		return !found
	})
	return found
}

// OnlyRead reports whether a variable has one value from where it is declared on. What it leads to may change.
func OnlyRead(f *code.Func, v *types.Var, declared *ast.AssignStmt) bool {
	only := true
	Writes(f, f.Decl.Body, func(w Write) bool {
		only = w.Root != types.Object(v) || !w.Inside || w.At == ast.Node(declared)
		return only
	})
	return only
}

// Addressed reports whether the address of a variable, or of a part of it, is taken anywhere in the function, be it for a method or a slice of an array.
func Addressed(f *code.Func, v types.Object) (found bool) {
	Writes(f, f.Decl, func(w Write) bool {
		found = w.Address && w.Inside && w.Root == v
		return !found
	})
	return found
}

// ByAddress reports whether the address of a variable is taken where it is named, be it for a method.
func ByAddress(f *code.Func, id *ast.Ident) bool {
	switch up := f.Parent(id).(type) {
	case *ast.UnaryExpr:
		return up.Op == token.AND
	case *ast.SelectorExpr:
		return forMethod(f, up)
	}
	return false
}
