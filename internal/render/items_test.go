package render

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestItemsAreKnown holds that formatter.text has a case for the type of whatever package report makes an item of. The blocks of a
// report have items of type any, so the compiler accepts a type that would make every renderer panic, perhaps in a part of the report
// that only few recordings have.
func TestItemsAreKnown(t *testing.T) {
	t.Parallel()
	pkgs, err := packages.Load(&packages.Config{
		Mode:    packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedSyntax | packages.NeedExportFile,
		Context: t.Context(),
	}, ".", "../report")
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool) // types with a case
	for _, pkg := range pkgs {
		for _, err := range pkg.Errors {
			t.Error(err)
		}
		if pkg.Name == "render" {
			for _, e := range textCases(pkg) {
				known[types.TypeString(pkg.TypesInfo.TypeOf(e), nil)] = true
			}
		}
	}
	if len(known) < 20 {
		t.Fatalf("formatter.text has cases for %d types", len(known))
	}
	seen := 0
	for _, pkg := range pkgs {
		if pkg.Name == "render" {
			continue
		}
		eachAny(pkg, func(e ast.Expr) {
			of := pkg.TypesInfo.TypeOf(e)
			if types.IsInterface(of) {
				return
			}
			seen++
			if name := types.TypeString(types.Default(of), nil); name != "untyped nil" && !known[name] {
				t.Errorf("%s: an item of type %s, of which formatter.text has no case", pkg.Fset.Position(e.Pos()), name)
			}
		})
	}
	if seen < 300 {
		t.Errorf("found %d items", seen)
	}
}

// textCases returns the types in the switch of formatter.text.
func textCases(pkg *packages.Package) []ast.Expr {
	var list []ast.Expr
	for _, file := range pkg.Syntax {
		for _, d := range file.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Name.Name == "text" && d.Recv != nil && strings.HasSuffix(types.ExprString(d.Recv.List[0].Type), "formatter") {
				ast.Inspect(d, func(n ast.Node) bool {
					if c, ok := n.(*ast.CaseClause); ok {
						list = append(list, c.List...)
					}
					return true
				})
			}
		}
	}
	return list
}

// eachAny calls f for what a package makes a value of type any, except for calls of other packages.
func eachAny(pkg *packages.Package, f func(ast.Expr)) {
	info := pkg.TypesInfo
	isAny := func(t types.Type) bool {
		if t == nil {
			return false
		}
		i, ok := t.Underlying().(*types.Interface)
		return ok && i.Empty()
	}
	into := func(to types.Type, e ast.Expr) {
		if isAny(to) {
			f(e)
		}
	}
	for _, file := range pkg.Syntax {
		var results []*types.Tuple // of the functions that a node is in
		var stack []ast.Node
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil {
				switch stack[len(stack)-1].(type) {
				case *ast.FuncDecl, *ast.FuncLit:
					results = results[:len(results)-1]
				}
				stack = stack[:len(stack)-1]
				return true
			}
			stack = append(stack, n)
			switch n := n.(type) {
			case *ast.FuncDecl:
				results = append(results, info.Defs[n.Name].Type().(*types.Signature).Results())
			case *ast.FuncLit:
				results = append(results, info.TypeOf(n).(*types.Signature).Results())
			case *ast.ReturnStmt:
				of := results[len(results)-1]
				for i, e := range n.Results {
					if len(n.Results) == of.Len() {
						into(of.At(i).Type(), e)
					}
				}
			case *ast.AssignStmt:
				for i, l := range n.Lhs {
					if n.Tok == token.ASSIGN && len(n.Lhs) == len(n.Rhs) {
						into(info.TypeOf(l), n.Rhs[i])
					}
				}
			case *ast.ValueSpec:
				for i, e := range n.Values {
					if len(n.Values) == len(n.Names) {
						into(info.TypeOf(n.Names[i]), e)
					}
				}
			case *ast.CompositeLit:
				of := info.TypeOf(n)
				for i, e := range n.Elts {
					kv, keyed := e.(*ast.KeyValueExpr)
					if keyed {
						e = kv.Value
					}
					switch u := of.Underlying().(type) {
					case *types.Slice:
						into(u.Elem(), e)
					case *types.Map:
						into(u.Elem(), e)
					case *types.Struct:
						field := (*types.Var)(nil)
						if !keyed {
							field = u.Field(i)
						} else if o, ok := info.Uses[kv.Key.(*ast.Ident)].(*types.Var); ok {
							field = o
						}
						if field != nil {
							into(field.Type(), e)
						}
					}
				}
			case *ast.CallExpr:
				if tv := info.Types[n.Fun]; tv.IsType() {
					into(tv.Type, n.Args[0])
					break
				}
				sig, ok := info.TypeOf(n.Fun).Underlying().(*types.Signature) // also that of append, as it is used here
				if !ok || isElsewhere(info, n.Fun) {
					break
				}
				for i, e := range n.Args {
					last := sig.Params().Len() - 1
					switch {
					case sig.Variadic() && i >= last && !n.Ellipsis.IsValid():
						if s, ok := sig.Params().At(last).Type().(*types.Slice); ok {
							into(s.Elem(), e)
						}
					case i <= last:
						into(sig.Params().At(i).Type(), e)
					}
				}
			}
			return true
		})
	}
}

// isElsewhere reports whether a function is of a package that knows nothing of items, such as fmt.
func isElsewhere(info *types.Info, fun ast.Expr) bool {
	sel, ok := ast.Unparen(fun).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	o := info.Uses[sel.Sel]
	return o.Pkg() == nil || o.Pkg().Name() != "report"
}
