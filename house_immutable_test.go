package main

import (
	"go/ast"
	"go/types"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/hone-perf/hone/internal/testrun"
)

// TestRecordingsAreNotChanged holds that only the packages of recordings and profiles assign to fields of one that others may have, by a
// pointer to it. A copy that a function made, whose type is not a pointer, is its own.
func TestRecordingsAreNotChanged(t *testing.T) {
	t.Parallel()
	testrun.Live(t, "reads the types of all packages")
	shared := map[string]string{ // types, and the package that makes values of each
		"*" + modulePath + "/internal/recording.Recording": modulePath + "/internal/recording",
		"*" + modulePath + "/internal/profile.Profile":     modulePath + "/internal/profile",
	}
	pkgs, err := packages.Load(&packages.Config{
		Mode:    packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedSyntax | packages.NeedExportFile,
		Context: t.Context(),
	}, "./internal/...")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, pkg := range pkgs {
		for _, err := range pkg.Errors {
			t.Error(err)
		}
		changed := func(e ast.Expr) {
			for {
				switch x := e.(type) {
				case *ast.IndexExpr:
					e = x.X
				case *ast.ParenExpr:
					e = x.X
				case *ast.StarExpr:
					e = x.X
				case *ast.SelectorExpr:
					if of := pkg.TypesInfo.TypeOf(x.X); of != nil {
						made, is := shared[types.Unalias(of).String()]
						switch {
						case is && pkg.PkgPath == made:
							seen++
						case is:
							t.Errorf("%s: changes %s of a %s that others may have", pkg.Fset.Position(x.Pos()), x.Sel.Name, strings.TrimPrefix(of.String(), "*"+modulePath+"/internal/"))
						}
					}
					e = x.X
				default:
					return
				}
			}
		}
		for _, file := range pkg.Syntax {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					for _, l := range n.Lhs {
						changed(l)
					}
				case *ast.IncDecStmt:
					changed(n.X)
				}
				return true
			})
		}
	}
	if seen == 0 {
		t.Error("the packages of recordings and profiles change nothing, so this test finds nothing")
	}
}
