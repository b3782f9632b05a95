package flow_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
)

// TestWrites holds that each way to write to a variable is known, and what it is that is written to: the variable itself, or what it leads to.
func TestWrites(t *testing.T) {
	for _, tt := range []struct{ code, want string }{
		{"n = 1", "n"},
		{"n += 1", "n"},
		{"n++", "n"},
		{"(n)--", "n"},
		{"n, list[0] = 1, 2", "n list→"},
		{"for n = range 3 {}", "n"},
		{"for list[0] = range 3 {}", "list→"},
		{"for _, n = range list {}", "n"},
		{"q = &n", "q n&"},
		{"list[0]++", "list→"},
		{"room[0]++", "room"},
		{"s := room[:]; _ = s", "s room&"},
		{"s := list[1:]; _ = s", "s"},
		{"list[1:][0] = 2", "list→"},
		{"copy(list, list)", "list→"},
		{"copy(room[:], list)", "room→ room&"},
		{"clear(list)", "list→"},
		{"delete(m, 1)", "m→"},
		{"m[1] = 2", "m→"},
		{"v.n = 1", "v.n"},
		{"p.n = 1", "p.n→"},
		{"v.p.n++", "v.n.p→"},
		{"*q = 1", "q→"},
		{"v.inc()", "v&"},
		{"f := v.inc; f()", "f v&"},
		{"p.inc()", ""},
		{"v.get()", ""},
		{"v.t.inc()", "v.t&"},
		{"func() { n++ }()", "n"},
		{"outside = 1", "outside"},
		{"s := n; _ = s", "s"},
		{"_ = n + list[0] + m[1] + v.n + room[1]", ""},
	} {
		f := load(t, "package a\ntype t struct { n int }\nfunc (x *t) inc() { }\ntype T struct { n int; p *t; t t }\nfunc (x *T) inc() { }\nfunc (x T) get() { }\nvar outside int\n"+
			"func f(n int, list []int, m map[int]int, room [4]int, v T, p *T, q *int) {\n"+tt.code+"\n}")
		var got []string
		flow.Writes(f, f.Decl.Body, func(w flow.Write) bool {
			if w.Root == nil { // of a blank
				return true
			}
			name := w.Root.Name()
			for _, field := range w.Fields {
				name += "." + field.Name()
			}
			if !w.Inside {
				name += "→"
			}
			if w.Address {
				name += "&"
			}
			got = append(got, name)
			return true
		})
		want := strings.Fields(tt.want)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s writes to %v, want %v", tt.code, got, want)
		}
	}
}

// load checks the types of a package of one file, and returns its last function.
func load(t *testing.T, src string) *code.Func {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "a.go", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	pkg, err := (&types.Config{Importer: importer.Default()}).Check("example.com/a", set, []*ast.File{file}, info)
	if err != nil {
		t.Fatalf("%v in\n%s", err, src)
	}
	decl, _ := file.Decls[len(file.Decls)-1].(*ast.FuncDecl)
	f := &code.File{Path: "a.go", Text: []byte(src), AST: file, Tok: set.File(file.FileStart)}
	return &code.Func{Pkg: &code.Package{Package: &packages.Package{Name: "a", Types: pkg, TypesInfo: info}, Files: map[string]*code.File{"a.go": f}}, File: f, Decl: decl}
}
