package steady

import (
	"go/ast"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise/facts/code"
)

// pure are packages of functions that depend on their arguments alone, and methods that do.
var (
	pure        = []string{"strings", "strconv", "unicode", "unicode/utf8", "path", "math", "math/bits"}
	pureMethods = []string{"(*strings.Replacer).Replace", "(*regexp.Regexp).MatchString", "(*regexp.Regexp).ReplaceAllString", "(*regexp.Regexp).Split", "(time.Duration).String"}
)

// Pure reports whether what a function returns depends on its arguments alone, and it changes nothing: as far as it calls
// functions that are known for that, and reads no variable that is ever changed.
func Pure(of *code.Func, fn *types.Func, depth int) bool {
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	if fn.Pkg() != of.Pkg.Types {
		if fn.Signature().Recv() != nil {
			return slices.Contains(pureMethods, fn.FullName())
		}
		return slices.Contains(pure, fn.Pkg().Path())
	}
	decl, f := of.DeclOf(fn)
	if decl == nil || depth == 0 || decl.Body == nil {
		return false
	}
	q := of.In(f, decl)
	ok := true
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt, *ast.DeferStmt, *ast.SendStmt, *ast.SelectStmt, *ast.FuncLit, *ast.StarExpr:
			ok = false
		case *ast.CallExpr:
			tv := of.Info().Types[n.Fun]
			if tv.IsType() || q.Callee(n) != nil {
				return ok // who is called is an identifier in it
			}
			id, isID := ast.Unparen(n.Fun).(*ast.Ident)
			ok = ok && isID && tv.IsBuiltin() && slices.Contains([]string{"len", "cap", "append", "make", "min", "max", "copy"}, id.Name)
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				ok = ok && (code.IsBlank(l) || q.Local(l) != nil)
			}
		case *ast.IncDecStmt:
			ok = ok && q.Local(n.X) != nil
		case *ast.Ident:
			switch o := of.Info().Uses[n].(type) {
			case *types.Func: // that is called, or handed to another one that calls it
				ok = ok && Pure(of, o, depth-1)
			case *types.Var:
				ok = ok && Known(of, o)
			}
		}
		return ok
	})
	return ok
}

// Known reports whether a variable is one of a function, a field, or one that never changes and holds no function.
func Known(of *code.Func, v *types.Var) bool {
	if v.IsField() || v.Pkg() == nil || v.Parent() != v.Pkg().Scope() {
		return true
	}
	if v.Pkg().Path() == "unicode" { // its tables
		return true
	}
	_, isFunc := v.Type().Underlying().(*types.Signature)
	return !isFunc && Variable(of, v)
}

// ReadsState reports whether a function of the package, or one of the package that it calls, names a variable that may change.
func ReadsState(of *code.Func, fn *types.Func, depth int) bool {
	decl, _ := of.DeclOf(fn)
	if decl == nil || decl.Body == nil || depth == 0 {
		return false
	}
	found := false
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			switch o := of.Info().Uses[id].(type) {
			case *types.Func:
				found = found || o.Pkg() == of.Pkg.Types && o != fn && ReadsState(of, o, depth-1)
			case *types.Var:
				found = found || !Known(of, o)
			}
		}
		return !found
	})
	return found
}
