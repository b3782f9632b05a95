// Package owner knows who may keep what a variable holds, or see it changed: whether it stays in its function, and which functions forget
// what they are given.
package owner

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

// aliases are methods that return something that shares memory with their receiver.
var aliases = []string{"Bytes", "AvailableBuffer", "Next", "Peek", "ReadSlice", "ReadLine", "Buffer"}

// StaysInside reports whether nobody can keep what a variable points to: it is only asked to do something, or given to functions
// that are known to keep nothing.
func StaysInside(f *code.Func, x *types.Var) bool {
	return !flow.Captured(f, x, f.Decl.Body) && !slices.ContainsFunc(f.Uses(x), func(id *ast.Ident) bool { return !harmless(f, id) })
}

// harmless reports whether a use of a variable lets nobody keep it.
func harmless(f *code.Func, id *ast.Ident) bool {
	switch up := f.Parent(id).(type) {
	case *ast.SelectorExpr:
		call, ok := f.Parent(up).(*ast.CallExpr)
		if !ok || call.Fun != up {
			return false
		}
		if slices.Contains(aliases, up.Sel.Name) {
			outer, ok := f.Parent(call).(*ast.CallExpr)
			return ok && (IsWrite(f, outer) || f.Builtin(outer, "len") != nil || f.StringOf(outer) != nil)
		}
		return true
	case *ast.CallExpr:
		i := slices.Index(up.Args, ast.Expr(id))
		if i < 0 {
			return false
		}
		if f.Builtin(up, "len") != nil || f.Builtin(up, "cap") != nil || f.Builtin(up, "clear") != nil || f.Calls(up, "(*sync.Pool).Put") != nil {
			return true
		}
		fn := f.Callee(up)
		return fn != nil && Forgets(f, fn, i, 3)
	}
	return false
}

// IsWrite reports whether a call is one of a Write method, which must not keep what it is given.
func IsWrite(f *code.Func, call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Write" || len(call.Args) != 1 || !kind.IsBytes(f.TypeOf(call.Args[0])) {
		return false
	}
	fn := f.Callee(call)
	return fn != nil && fn.Signature().Results().Len() == 2
}

// forgetful are functions of the standard library that keep nothing of what they are given.
var forgetful = []string{
	"fmt.Fprint", "fmt.Fprintf", "fmt.Fprintln", "io.WriteString", "io.Copy", "io.CopyN", "io.ReadAll", "io.ReadFull",
	"encoding/binary.Write", "encoding/binary.Read", "bytes.Equal", "bytes.Contains", "bytes.Index", "copy",
}

// Forgets reports whether a function keeps nothing of its argument i: it is known to, or it is one of this package that
// only asks it to do something.
func Forgets(of *code.Func, fn *types.Func, i, depth int) bool {
	name := fn.Origin().FullName()
	if slices.Contains(forgetful, name) || strings.HasSuffix(name, "emplate).Execute") || strings.HasSuffix(name, "emplate).ExecuteTemplate") {
		return true
	}
	sig := fn.Signature()
	if depth == 0 || fn.Pkg() != of.Pkg.Types || i < 0 || i >= sig.Params().Len() || sig.Variadic() && i >= sig.Params().Len()-1 {
		return false
	}
	decl, file := of.DeclOf(fn)
	if decl == nil || decl.Body == nil {
		return false
	}
	q := of.In(file, decl)
	v := fn.Origin().Signature().Params().At(i)
	if _, isSlice := v.Type().Underlying().(*types.Slice); isSlice {
		return onlyLooksAt(q, v)
	}
	return !flow.Captured(q, v, decl.Body) && !slices.ContainsFunc(q.Uses(v), func(id *ast.Ident) bool {
		if call, ok := q.Parent(id).(*ast.CallExpr); ok {
			if at := slices.Index(call.Args, ast.Expr(id)); at >= 0 {
				callee := q.Callee(call)
				return callee == nil || !Forgets(q, callee, at, depth-1)
			}
		}
		return !harmless(q, id)
	})
}

// onlyLooksAt reports whether a slice is only indexed, ranged over and measured.
func onlyLooksAt(f *code.Func, v types.Object) bool {
	return !flow.Captured(f, v, f.Decl.Body) && !slices.ContainsFunc(f.Uses(v), func(id *ast.Ident) bool {
		switch up := f.Parent(id).(type) {
		case *ast.IndexExpr:
			return up.X != id
		case *ast.RangeStmt:
			return up.X != id
		case *ast.CallExpr:
			return f.Builtin(up, "len") == nil && f.Builtin(up, "cap") == nil
		}
		return true
	})
}

// ChangedAt reports whether the statement that a use of a variable is in changes the variable, or what is in it.
func ChangedAt(f *code.Func, id *ast.Ident) bool {
	var n ast.Node = id
	for {
		if _, ok := n.(ast.Stmt); ok {
			break
		}
		n = f.Parent(n)
	}
	v := f.Info().Uses[id]
	if r, ok := n.(*ast.RangeStmt); ok {
		for _, e := range []ast.Expr{r.Key, r.Value} {
			if e != nil && code.Within(id, e) {
				return true
			}
		}
		return false
	}
	if _, ok := n.(*ast.BlockStmt); ok {
		return true
	}
	return flow.Assigns(f, n, func(o types.Object) bool { return o == v })
}

// OwnPart reports whether a use of a variable reads a part of it that leads nowhere: a number, a text.
func OwnPart(f *code.Func, id *ast.Ident) bool {
	var e ast.Expr = id
	for {
		if !kind.Refers(f.TypeOf(e)) {
			return true
		}
		sel, ok := f.Parent(e).(*ast.SelectorExpr)
		if !ok || sel.X != e {
			return false
		}
		s := f.Info().Selections[sel]
		if s == nil || s.Kind() != types.FieldVal || s.Indirect() {
			return false
		}
		e = sel
	}
}

// OnlyReads reports whether a use of a variable reads something that it leads to, and passes on nothing that leads anywhere.
func OnlyReads(f *code.Func, id *ast.Ident) bool {
	var e ast.Expr = id
	for {
		switch up := f.Parent(e).(type) {
		case *ast.CallExpr:
			return f.Builtin(up, "len") != nil || f.Builtin(up, "cap") != nil || !kind.Refers(f.TypeOf(e))
		case *ast.RangeStmt:
			return up.X == e && (up.Value == nil || code.IsBlank(up.Value) || !kind.Refers(f.TypeOf(up.Value)))
		case *ast.IndexExpr:
			if up.X != e {
				return !kind.Refers(f.TypeOf(e))
			}
			e = up
		case *ast.SelectorExpr:
			s := f.Info().Selections[up]
			if s == nil || s.Kind() != types.FieldVal {
				return false
			}
			e = up
		case *ast.ParenExpr:
			e = up
		case *ast.UnaryExpr:
			return up.Op != token.AND && !kind.Refers(f.TypeOf(e))
		default:
			return !kind.Refers(f.TypeOf(e))
		}
	}
}
