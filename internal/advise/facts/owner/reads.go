package owner

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
)

// readers are functions that look at what their first argument leads to, and neither keep nor return it.
var readers = []string{
	"slices.Contains", "slices.Index", "slices.BinarySearch", "slices.Max", "slices.Min", "slices.Equal", "slices.IsSorted",
	"strings.Join", "bytes.Join", "sort.SearchStrings", "sort.SearchInts", "sort.StringsAreSorted", "maps.Equal",
	"bytes.Equal", "bytes.Contains", "bytes.HasPrefix", "bytes.HasSuffix", "bytes.Index", "bytes.Compare",
}

// ReadOnly reports whether a slice, a map, or what a pointer leads to is only read where an expression of it stands, and nothing that leads into it
// is passed on: so it does not matter whether others have the same one.
func ReadOnly(f *code.Func, e ast.Expr) bool { return readOnly(f, e, 3) }

func readOnly(f *code.Func, e ast.Expr, depth int) bool {
	switch up := f.Parent(e).(type) {
	case *ast.ParenExpr:
		return readOnly(f, up, depth)
	case *ast.IndexExpr:
		if up.X != e {
			return !kind.Refers(f.TypeOf(e))
		}
		return readPart(f, up, depth)
	case *ast.StarExpr:
		return readPart(f, up, depth)
	case *ast.SelectorExpr:
		s := f.Info().Selections[up]
		switch {
		case s == nil:
			return false
		case s.Kind() == types.FieldVal:
			return readPart(f, up, depth)
		}
		call, called := f.Parent(up).(*ast.CallExpr)
		fn, _ := s.Obj().(*types.Func)
		if !called || call.Fun != ast.Expr(up) || fn == nil || depth == 0 {
			return false
		}
		decl, file := f.DeclOf(fn)
		if decl == nil || decl.Body == nil {
			return false // of an interface, or of another package
		}
		return AllReadOnly(f.In(file, decl), fn.Origin().Signature().Recv(), depth-1)
	case *ast.RangeStmt:
		return up.X == e && (up.Value == nil || code.IsBlank(up.Value) || !kind.Refers(elementOf(f.TypeOf(e))))
	case *ast.BinaryExpr: // two pointers may be equal only because they are shared
		return f.Info().Types[up.X].IsNil() || f.Info().Types[up.Y].IsNil()
	case *ast.AssignStmt:
		i := slices.Index(up.Rhs, e)
		if i < 0 || len(up.Lhs) != len(up.Rhs) {
			return false
		}
		v := f.Local(up.Lhs[i])
		return v != nil && f.Info().Defs[code.AsIdent(up.Lhs[i])] == types.Object(v) && AllReadOnly(f, v, depth)
	case *ast.CallExpr:
		i := slices.Index(up.Args, e)
		switch {
		case i < 0:
			return false
		case f.Builtin(up, "len") != nil, f.Builtin(up, "cap") != nil:
			return true
		case f.Builtin(up, "append") != nil, f.Builtin(up, "copy") != nil:
			return i == 1 && (up.Ellipsis.IsValid() || f.Builtin(up, "copy") != nil) && !kind.Refers(elementOf(f.TypeOf(e)))
		}
		fn := f.Callee(up)
		if fn == nil || fn.Pkg() == nil || f.Parent(up) == nil {
			return false
		}
		if slices.Contains(readers, fn.Origin().FullName()) {
			return i < 2
		}
		sig := fn.Signature()
		decl, file := f.DeclOf(fn)
		if depth == 0 || fn.Pkg() != f.Pkg.Types || decl == nil || decl.Body == nil || i >= sig.Params().Len() || sig.Variadic() && i == sig.Params().Len()-1 && !up.Ellipsis.IsValid() {
			return false
		}
		return AllReadOnly(f.In(file, decl), fn.Origin().Signature().Params().At(i), depth-1)
	}
	return false
}

// readPart reports whether an expression for a part of a shared value, such as a field or an element, only reads it.
func readPart(f *code.Func, e ast.Expr, depth int) bool {
	switch up := f.Parent(e).(type) {
	case *ast.AssignStmt:
		if slices.Contains(up.Lhs, e) {
			return false
		}
	case *ast.IncDecStmt:
		return false
	case *ast.RangeStmt:
		if up.X != e {
			return false
		}
	case *ast.UnaryExpr:
		if up.Op == token.AND {
			return false
		}
	case *ast.ParenExpr, *ast.SelectorExpr: // of which a part may be changed, or a method called that changes it
		return readOnly(f, e, depth)
	case *ast.IndexExpr:
		if up.X == e {
			return readOnly(f, e, depth)
		}
	case *ast.SliceExpr:
		if up.X == e {
			return kind.IsString(f.TypeOf(e))
		}
	}
	t := f.TypeOf(e)
	if pair, ok := t.(*types.Tuple); ok { // v, ok := m[k]
		t = pair.At(0).Type()
	}
	return !kind.Refers(t) || readOnly(f, e, depth)
}

// AllReadOnly reports whether what a variable leads to is only read, wherever it is named.
func AllReadOnly(f *code.Func, v *types.Var, depth int) bool {
	return !flow.Captured(f, v, f.Decl.Body) && !slices.ContainsFunc(f.Uses(v), func(id *ast.Ident) bool { return !readOnly(f, id, depth) })
}

// elementOf returns the type of the elements of a slice, an array or a map.
func elementOf(t types.Type) types.Type {
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return u.Elem()
	case *types.Array:
		return u.Elem()
	case *types.Map:
		return u.Elem()
	}
	return t
}
