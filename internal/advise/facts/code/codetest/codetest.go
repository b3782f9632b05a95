// Package codetest makes functions for tests of what the packages below facts know.
package codetest

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/hone-perf/hone/internal/advise/facts/code"
)

// shared returns what all tests of a package have in common, so that each import is checked once.
var shared = sync.OnceValues(func() (*token.FileSet, types.Importer) {
	set := token.NewFileSet()
	return set, importer.ForCompiler(set, "source", nil)
})

// Funcs returns the functions and methods of a package of one file, whose types are checked. It lies in a folder with other files, by name, that are
// not loaded.
func Funcs(t *testing.T, src string, others map[string]string) (all []*code.Func) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.go")
	for name, text := range others {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	set, imports := shared()
	file, err := parser.ParseFile(set, path, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	conf := types.Config{Importer: imports}
	pkg, err := conf.Check("example.com/a", set, []*ast.File{file}, info)
	if err != nil {
		t.Fatalf("%v in\n%s", err, src)
	}
	f := &code.File{Path: path, Text: []byte(src), AST: file, Tok: set.File(file.FileStart)}
	p := &code.Package{Package: &packages.Package{Name: pkg.Name(), Types: pkg, TypesInfo: info}, Files: map[string]*code.File{path: f}}
	for _, d := range file.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			all = append(all, &code.Func{Pkg: p, File: f, Decl: fn})
		}
	}
	return all
}
