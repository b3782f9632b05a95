package owner

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise/facts/code"
)

// UsedPlainly reports whether the compiler can see that the array of a slice does not escape: the function only appends to the slice, takes its
// length, indexes it, ranges over it, and passes it to functions of the package that do no more with it.
func UsedPlainly(f *code.Func, s *types.Var) bool { return usedPlainly(f, s, 3) }

func usedPlainly(f *code.Func, s *types.Var, depth int) bool {
	if depth == 0 {
		return false
	}
	uses := f.Uses(s)
	return !slices.ContainsFunc(uses, func(id *ast.Ident) bool { return f.Literal(id) != nil || !plainUse(f, id, depth) })
}

func plainUse(f *code.Func, id *ast.Ident, depth int) bool {
	switch up := f.Parent(id).(type) {
	case *ast.IndexExpr:
		return up.X == ast.Expr(id) && plainElement(f, up)
	case *ast.RangeStmt:
		return up.X == ast.Expr(id)
	case *ast.AssignStmt:
		return slices.Contains(up.Lhs, ast.Expr(id)) && len(up.Lhs) == 1 && up.Tok == token.ASSIGN && appendsTo(f, up.Rhs[0], id)
	case *ast.CallExpr:
		switch f.Parent(up).(type) {
		case *ast.GoStmt, *ast.DeferStmt:
			return false
		}
		i := slices.Index(up.Args, ast.Expr(id))
		switch {
		case f.Builtin(up, "len") != nil:
			return true
		case f.Builtin(up, "append") != nil:
			st, ok := f.Parent(up).(*ast.AssignStmt)
			return i > 0 && up.Ellipsis.IsValid() || i == 0 && ok && len(st.Lhs) == 1 && st.Tok == token.ASSIGN && appendsTo(f, up, st.Lhs[0])
		}
		return i >= 0 && plainArgument(f, up, i, depth)
	}
	return false
}

// appendsTo reports whether an expression appends to a variable.
func appendsTo(f *code.Func, e, to ast.Expr) bool {
	call := f.Builtin(e, "append")
	return call != nil && f.Local(to) != nil && f.Local(call.Args[0]) == f.Local(to)
}

// plainElement reports whether nothing takes the address of an element, or of a part of it.
func plainElement(f *code.Func, e ast.Expr) bool {
	switch up := f.Parent(e).(type) {
	case *ast.UnaryExpr:
		return up.Op != token.AND
	case *ast.SliceExpr:
		_, isArray := f.TypeOf(e).Underlying().(*types.Array)
		return up.X != e || !isArray
	case *ast.ParenExpr:
		return plainElement(f, up)
	case *ast.IndexExpr:
		return up.X != e || plainElement(f, up)
	case *ast.SelectorExpr:
		sel := f.Info().Selections[up]
		if sel == nil || sel.Kind() == types.FieldVal {
			return sel != nil && (sel.Indirect() || plainElement(f, up))
		}
		_, byAddress := sel.Obj().(*types.Func).Signature().Recv().Type().(*types.Pointer)
		_, isPointer := sel.Recv().Underlying().(*types.Pointer)
		return !byAddress || isPointer
	}
	return true
}

// plainArgument reports whether a function of the package that is called by its name uses an argument plainly, too.
func plainArgument(f *code.Func, call *ast.CallExpr, i, depth int) bool {
	fn := f.Callee(call)
	if fn == nil || fn.Pkg() != f.Pkg.Types || fn.Origin() != fn {
		return false
	}
	decl, file := f.DeclOf(fn)
	sig := fn.Signature()
	if decl == nil || decl.Body == nil || sig.Variadic() || i >= sig.Params().Len() {
		return false
	}
	param := sig.Params().At(i)
	if _, ok := param.Type().Underlying().(*types.Slice); !ok {
		return false
	}
	return usedPlainly(f.In(file, decl), param, depth-1)
}
