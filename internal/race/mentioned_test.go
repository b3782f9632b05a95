package race

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestMentioned holds which variables a line writes to, and which it names. What loops around it write to, they do on other lines.
func TestMentioned(t *testing.T) {
	const head = "package p\ntype T struct { n int; m map[int]int }\nfunc f(a, b int, list []int, s *T) { for i := range list { _ = i; for b = range 3 {\n"
	for _, tt := range []struct{ code, written, named string }{
		{"a = b", "a", "a b"},
		{"a, list[b] = b, a", "a list", "a b list"},
		{"s.n++", "n", "n"}, // where the field is named
		{"s.m[a] = b", "m", "m a b"},
		{"*(&a) = b", "", "a b"},
		{"x := a; _ = x", "x", "x a"},
		{"for a = range list { }", "a", "a list"},
		{"for x := range list { _ = x }", "x", "x list"},
		{"delete(s.m, a)", "m", "m a"},
		{"copy(list, list[b:])", "list", "list b"},
		{"_ = a", "", "a"},
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "p.go", head+tt.code+"\n}}}\n", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
		tpkg, err := new(types.Config).Check("p", fset, []*ast.File{f}, info)
		if err != nil {
			t.Fatal(err)
		}
		p := &packages.Package{Fset: fset, Syntax: []*ast.File{f}, Types: tpkg, TypesInfo: info}
		for written, want := range map[bool]string{true: tt.written, false: tt.named} {
			var got []string
			for _, v := range mentioned(p, "p.go", 4, written) {
				got = append(got, v.Name())
			}
			have := make(map[string]bool)
			for _, name := range got {
				have[name] = true
			}
			for _, name := range strings.Fields(want) {
				if !have[name] {
					t.Errorf("%s, written %v: %q, without %s", tt.code, written, got, name)
				}
			}
			if written && len(got) != len(strings.Fields(want)) {
				t.Errorf("%s writes to %q, want %q", tt.code, got, want)
			}
		}
	}
}
