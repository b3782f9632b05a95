package code

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"

	"github.com/hone-perf/hone/internal/gocmd"
)

// ResultCalledElsewhere reports whether files of the folder that were not loaded, such as tests, may call a function that a method returns, or use
// the method as a value. Nothing is known of types there: a result that is given to a variable of some name is taken to be called where any variable
// of that name is, and any result that is kept elsewhere.
func (u *Package) ResultCalledElsewhere(method string) bool {
	if !u.NamedElsewhere(method) {
		return false
	}
	for _, f := range u.Files {
		all, err := gocmd.Files(filepath.Dir(f.Path), "*.go")
		if err != nil {
			return true
		}
		for _, one := range all {
			if u.Files[one] != nil {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), one, nil, parser.SkipObjectResolution)
			if err != nil || callsResult(parsed, method) {
				return true
			}
		}
		break
	}
	return false
}

func callsResult(f *ast.File, method string) bool {
	plain := map[*ast.Ident]bool{} // names of the method where its result is not called right away
	kept := map[string]bool{}      // variables that have a result
	called := map[string]bool{}
	isCall := func(e ast.Expr) bool {
		call, ok := e.(*ast.CallExpr)
		if !ok {
			return false
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == method
	}
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if isCall(n) {
				plain[n.Fun.(*ast.SelectorExpr).Sel] = true
			}
			if id := AsIdent(n.Fun); id != nil {
				called[id.Name] = true
			}
			found = found || isCall(ast.Unparen(n.Fun))
		case *ast.AssignStmt:
			for i, e := range n.Rhs {
				if !isCall(ast.Unparen(e)) {
					continue
				}
				if id := AsIdent(n.Lhs[i]); id != nil {
					kept[id.Name] = true
				} else {
					found = true
				}
			}
		case *ast.ValueSpec:
			for i, e := range n.Values {
				if isCall(ast.Unparen(e)) {
					kept[n.Names[i].Name] = true
				}
			}
		}
		return true
	})
	ast.Inspect(f, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == method && !plain[id]
		return true
	})
	for name := range kept {
		found = found || called[name]
	}
	return found
}
