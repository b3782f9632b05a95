// Package code has functions of a program, with their syntax and types, as rules ask for them: what calls call, which variables are local,
// what a node is in, and what there is in the rest of the package.
package code

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/types/typeutil"

	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/advise/facts/symbol"
)

// A Func is a function of a package.
type Func struct {
	Pkg  *Package
	File *File
	Decl *ast.FuncDecl
	Name string // as profiles name it

	parents map[ast.Node]ast.Node
}

// SizeOf returns how many bytes a value of a type takes, if that is not left to the arguments of a generic function.
func (f *Func) SizeOf(t types.Type) (int64, bool) {
	if !kind.Sized(t) {
		return 0, false
	}
	return f.Pkg.TypesSizes.Sizeof(t), true
}

// Callable names the function, or the function literal, that a node is in.
func (f *Func) Callable(n ast.Node) string {
	if lit := f.Literal(n); lit != nil {
		return fmt.Sprintf("the function literal at line %d", f.Line(lit.Pos()))
	}
	return f.Decl.Name.Name
}

// Object returns what an identifier or a selector stands for.
func (f *Func) Object(e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return f.Info().ObjectOf(e)
	case *ast.SelectorExpr:
		return f.Info().ObjectOf(e.Sel)
	}
	return nil
}

// In returns another function of the package, which is in a file of it.
func (fn *Func) In(f *File, decl *ast.FuncDecl) *Func {
	return &Func{Pkg: fn.Pkg, File: f, Decl: decl, Name: fn.Name}
}

// Info returns the types of the package.
func (f *Func) Info() *types.Info { return f.Pkg.TypesInfo }

// Line returns the line that a place is in.
func (f *Func) Line(at token.Pos) int { return f.File.Tok.Line(at) }

// Src returns the text of a node.
func (f *Func) Src(n ast.Node) string { return f.Between(n.Pos(), n.End()) }

// Between returns the text from one place to another.
func (f *Func) Between(from, to token.Pos) string {
	return string(f.File.Text[f.File.Tok.Offset(from):f.File.Tok.Offset(to)])
}

// ProfileName returns the name that profiles have for a function.
func (f *Func) ProfileName(fn *types.Func) string {
	fn = fn.Origin()
	pkg := ""
	if fn.Pkg() != nil {
		pkg = fn.Pkg().Path()
		if pkg == f.Pkg.PkgPath {
			pkg = symbol.PackageOf(f.Name) // main, where it is a command
		}
	}
	recv := fn.Signature().Recv()
	if recv == nil {
		return pkg + "." + fn.Name()
	}
	t := recv.Type()
	star := false
	if ptr, ok := types.Unalias(t).(*types.Pointer); ok {
		t, star = ptr.Elem(), true
	}
	name := "?"
	if n, ok := types.Unalias(t).(*types.Named); ok {
		name = n.Obj().Name()
	}
	if star {
		return pkg + ".(*" + name + ")." + fn.Name()
	}
	return pkg + "." + name + "." + fn.Name()
}

// Callee returns the function or method that is called, or nil for what is only known at run time. A function of another package is one that is named
// with it, and a method one that is named behind its receiver, so that patches can use both.
func (f *Func) Callee(call *ast.CallExpr) *types.Func {
	fn, ok := typeutil.Callee(f.Info(), call).(*types.Func)
	if _, selected := call.Fun.(*ast.SelectorExpr); !ok || !selected && (fn.Pkg() != f.Pkg.Types || fn.Signature().Recv() != nil) {
		return nil
	}
	return fn
}

// Calls reports whether a call is one of some functions, written as types.Func has them: strings.Split, (*log.Logger).Printf.
func (f *Func) Calls(n ast.Node, names ...string) *ast.CallExpr {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil
	}
	fn := f.Callee(call)
	if fn == nil || !slices.Contains(names, fn.Origin().FullName()) {
		return nil
	}
	return call
}

// HasToo reports whether another method would be called with the same receiver type as the method in call, if it were called in its place. That is
// not so for a struct that embeds the type and declares a method of that name itself.
func (f *Func) HasToo(call *ast.CallExpr, name string) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	fn := f.Callee(call)
	if !ok || fn == nil || fn.Signature().Recv() == nil || f.TypeOf(sel.X) == nil {
		return false
	}
	o, _, _ := types.LookupFieldOrMethod(f.TypeOf(sel.X), true, f.Pkg.Types, name)
	other, ok := o.(*types.Func)
	return ok && other.Signature().Recv() != nil && kind.TypeName(other.Signature().Recv().Type()) == kind.TypeName(fn.Signature().Recv().Type())
}

// Builtin reports whether a call is one of a builtin function.
func (f *Func) Builtin(n ast.Node, name string) *ast.CallExpr {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil
	}
	b, ok := typeutil.Callee(f.Info(), call).(*types.Builtin)
	if !ok || b.Name() != name {
		return nil
	}
	return call
}

// Conversion returns what is converted, and to what, when a node is a conversion.
func (f *Func) Conversion(n ast.Node) (arg ast.Expr, to types.Type) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 || !f.Info().Types[call.Fun].IsType() {
		return nil, nil
	}
	return call.Args[0], f.Info().Types[call.Fun].Type
}

// BytesOf returns the string that a node makes bytes of: s in []byte(s).
func (f *Func) BytesOf(n ast.Node) ast.Expr {
	if arg, to := f.Conversion(n); arg != nil && kind.IsBytes(to) && kind.IsString(f.TypeOf(arg)) {
		return arg
	}
	return nil
}

// StringOf returns the bytes that a node makes a string of: b in string(b).
func (f *Func) StringOf(n ast.Node) ast.Expr {
	if arg, to := f.Conversion(n); arg != nil && kind.IsString(to) && kind.IsBytes(f.TypeOf(arg)) {
		return arg
	}
	return nil
}

// TypeOf returns the type of an expression, or nil when it is not known.
func (f *Func) TypeOf(e ast.Expr) types.Type { return f.Info().TypeOf(e) }

// Text returns the value of a constant string.
func (f *Func) Text(e ast.Expr) (string, bool) {
	v := f.Info().Types[e].Value
	if v == nil || v.Kind() != constant.String {
		return "", false
	}
	return constant.StringVal(v), true
}

// IsConst reports whether an expression is constant.
func (f *Func) IsConst(e ast.Expr) bool { return f.Info().Types[e].Value != nil }

// Local returns the variable of the function that an expression is, or nil.
func (f *Func) Local(e ast.Expr) *types.Var {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return nil
	}
	v, ok := f.Info().ObjectOf(id).(*types.Var)
	if !ok || v.IsField() || v.Parent() == nil || v.Parent() == f.Pkg.Types.Scope() || v.Pos() < f.Decl.Pos() || v.Pos() >= f.Decl.End() {
		return nil
	}
	return v
}

// IsParam reports whether a variable is a parameter, receiver or result.
func (f *Func) IsParam(v *types.Var) bool {
	return f.Decl.Body != nil && v.Pos() < f.Decl.Body.Pos()
}

// IsParamResult reports whether a variable is a named result, which others see when the function ends anyhow.
func (f *Func) IsParamResult(v *types.Var) bool {
	if f.Decl.Type.Results == nil {
		return false
	}
	return v.Pos() >= f.Decl.Type.Results.Pos() && v.Pos() < f.Decl.Type.Results.End()
}
