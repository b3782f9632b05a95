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
	if !ok || fn.Exported() || depth == 0 || fn.Signature().Recv() != nil && isOfInterface(f, fn) || f.Pkg.NamedElsewhere(fn.Name()) {
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

// isOfInterface reports whether a method may be called through an interface that the package writes down.
func isOfInterface(f *code.Func, fn *types.Func) bool {
	for id, o := range f.Info().Defs {
		if id.Name != fn.Name() {
			continue
		}
		if m, ok := o.(*types.Func); ok && m.Signature().Recv() != nil && types.IsInterface(m.Signature().Recv().Type()) {
			return true
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
	if !ok || !field.IsField() || field.Exported() || field.Pkg() != f.Pkg.Types || f.Pkg.NamedElsewhere(field.Name()) || f.Pkg.LooksInside() {
		return false
	}
	above := f.Pkg.Above()
	for id, used := range f.Info().Uses {
		if v, isVar := used.(*types.Var); !isVar || v.Origin() != field.Origin() {
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

// RoomUnseen reports whether a program does the same whatever capacity a slice of the function has. It does not if it calls cap, or if
// code that got the slice may append to it, too: with enough capacity, both would append into the same array, and one would write over what
// the other appended. Callers that get the slice as a result do not matter: they cannot rely on the capacity, since append made it.
func RoomUnseen(f *code.Func, s *types.Var) bool {
	var appending []ast.Node // statements that append to s
	uses := f.Uses(s)
	for _, id := range uses {
		if st, ok := f.Parent(id).(*ast.AssignStmt); ok && appends(f, st, s) {
			appending = append(appending, st)
		}
	}
	decl, _ := f.Declared(s)
	given := 0 // times that other code got it
	for _, id := range uses {
		switch roomFor(f, id, s, 2) {
		case seen:
			return false
		case shared:
			if startsAnew(f, id, s) {
				continue
			}
			loop := f.Loop(id)
			again := loop != nil && (decl == nil || !code.Within(decl, loop)) // each iteration has the same slice
			if slices.ContainsFunc(appending, func(st ast.Node) bool { return st.Pos() > id.Pos() || again && code.Within(st, loop) }) {
				return false
			}
			if given++; given > 1 || again {
				return false
			}
		}
	}
	return true
}

// startsAnew reports whether a slice gets another array, or none, in the statement with id, or in a later one of the same block.
func startsAnew(f *code.Func, id *ast.Ident, s *types.Var) bool {
	st := f.Statement(id)
	block, ok := f.Parent(st).(*ast.BlockStmt)
	if !ok {
		return false
	}
	for _, behind := range block.List {
		a, ok := behind.(*ast.AssignStmt)
		if !ok || a.Pos() < st.Pos() || a.Tok != token.ASSIGN || len(a.Lhs) != len(a.Rhs) {
			continue
		}
		for i, to := range a.Lhs {
			if f.Local(to) == s {
				_, isLit := a.Rhs[i].(*ast.CompositeLit)
				return isLit || f.Info().Types[a.Rhs[i]].IsNil() || f.Builtin(a.Rhs[i], "make") != nil
			}
		}
	}
	return false
}

// A roomUse is what one use of a slice does with the capacity that it has beyond its length.
type roomUse int

const (
	unused roomUse = iota
	seen           // the program asks how much there is
	shared         // other code may append into it
)

// roomFor returns what the function does with the capacity of the slice s, where the expression e is that slice.
func roomFor(f *code.Func, e ast.Expr, s *types.Var, depth int) roomUse {
	switch up := f.Parent(e).(type) {
	case *ast.ParenExpr:
		return roomFor(f, up, s, depth)
	case *ast.SliceExpr:
		if up.X != e {
			return unused
		}
		return roomFor(f, up, s, depth)
	case *ast.IndexExpr, *ast.RangeStmt, *ast.BinaryExpr, *ast.ReturnStmt, *ast.ExprStmt:
		return unused
	case *ast.AssignStmt:
		if slices.Contains(up.Lhs, e) {
			return unused
		}
	case *ast.CallExpr:
		switch {
		case f.Builtin(up, "cap") != nil:
			return seen
		case f.Builtin(up, "len") != nil, f.Builtin(up, "copy") != nil, f.Builtin(up, "clear") != nil:
			return unused
		case f.Builtin(up, "append") != nil && up.Args[0] != e:
			if up.Ellipsis.IsValid() {
				return unused
			}
			return shared
		}
		if arg, to := f.Conversion(up); arg != nil {
			if kind.IsString(to) {
				return unused
			}
			return shared
		}
		if st, ok := f.Parent(up).(*ast.AssignStmt); ok && len(st.Lhs) == 1 && len(st.Rhs) == 1 && f.Local(st.Lhs[0]) == s {
			return unused // it is the same slice
		}
		return roomForCall(f, up, slices.Index(up.Args, e), s, depth)
	}
	return shared
}

// roomForCall returns what a call does with the capacity of the slice s, which is its argument i.
func roomForCall(f *code.Func, call *ast.CallExpr, i int, s *types.Var, depth int) roomUse {
	fn := f.Callee(call)
	if fn == nil || i < 0 {
		return shared
	}
	if fn.Pkg() != f.Pkg.Types {
		if fn.Name() != "Clone" && types.Identical(f.TypeOf(call).Underlying(), s.Type().Underlying()) {
			return shared // what append returns is one, too
		}
		return unused
	}
	decl, file := f.DeclOf(fn)
	if depth == 0 || decl == nil || decl.Body == nil || fn.Signature().Variadic() && i >= fn.Signature().Params().Len()-1 && !call.Ellipsis.IsValid() || i >= fn.Signature().Params().Len() {
		return shared
	}
	in := f.In(file, decl)
	param := fn.Origin().Signature().Params().At(i)
	for _, id := range in.Uses(param) {
		if st, ok := in.Parent(id).(*ast.AssignStmt); ok && appends(in, st, param) {
			return shared
		}
		if _, returned := in.Parent(id).(*ast.ReturnStmt); returned {
			return shared
		}
		if does := roomFor(in, id, param, depth-1); does != unused {
			return does
		}
	}
	return unused
}
