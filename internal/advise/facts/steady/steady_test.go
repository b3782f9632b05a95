package steady_test

import (
	"go/ast"
	"go/types"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/advise/facts/code/codetest"
	"github.com/hone-perf/hone/internal/advise/facts/pool"
	"github.com/hone-perf/hone/internal/advise/facts/steady"
)

// What other packages may set, and what files write to that were not loaded, is not steady.
func TestWrittenFromOutside(t *testing.T) {
	for name, tt := range map[string]struct {
		src    string
		others map[string]string
		want   bool
	}{
		"nobody":                           {"package a\nvar v = 1\nfunc f() int { return v }", nil, true},
		"exported":                         {"package a\nvar V = 1\nfunc f() int { return V }", nil, false},
		"exported, of a program":           {"package main\nvar V = 1\nfunc f() int { return V }", nil, true},
		"a test that reads it":             {"package a\nvar v = 1\nfunc f() int { return v }", map[string]string{"a_test.go": "package a\nfunc g() int { v := v; return v }"}, true},
		"a test that sets it":              {"package a\nvar v = 1\nfunc f() int { return v }", map[string]string{"a_test.go": "package a\nfunc g() { v = 2 }"}, false},
		"a test that sets a part":          {"package a\nvar v = []int{1}\nfunc f() int { return v[0] }", map[string]string{"a_test.go": "package a\nfunc g() { v[0] = 2 }"}, false},
		"a test that deletes from it":      {"package a\nvar v = map[int]int{}\nfunc f() int { return v[0] }", map[string]string{"a_test.go": "package a\nfunc g() { delete(v, 0) }"}, false},
		"a test that takes its address":    {"package a\nvar v = 1\nfunc f() int { return v }", map[string]string{"a_test.go": "package a\nfunc g() *int { return &v }"}, false},
		"a test of another package":        {"package a\nvar v = 1\nfunc f() int { return v }", map[string]string{"a_test.go": "package a_test\nvar v = 1\nfunc g() { v = 2 }"}, true},
		"a file for another system":        {"package a\nvar v = 1\nfunc f() int { return v }", map[string]string{"a_plan9.go": "package a\nfunc g() { v = 2 }"}, false},
		"a program beside it":              {"package a\nvar v = 1\nfunc f() int { return v }", map[string]string{"gen.go": "package main\nvar v = 1\nfunc main() { v = 2 }"}, true},
		"assembly":                         {"package a\nvar v = 1\nfunc f() int { return v }", map[string]string{"a.s": "TEXT ·g(SB), $0\n\tMOVQ $2, ·v(SB)\n\tRET\n"}, false},
		"a name of another package":        {"package a\n\nimport _ \"unsafe\"\n\n//go:linkname v\nvar v = 1\nfunc f() int { return v }", nil, false},
		"a name that another file gives":   {"package a\nvar v = 1\nfunc f() int { return v }", map[string]string{"a_js.go": "package a\n\n//go:linkname v other.v\n"}, false},
		"a regexp that its methods change": {"package a\nimport \"regexp\"\nvar v = regexp.MustCompile(`a+`)\nfunc f() { v.Longest() }", nil, false},
		"a regexp that matches":            {"package a\nimport \"regexp\"\nvar v = regexp.MustCompile(`a+`)\nfunc f() bool { return v.MatchString(`a`) }", nil, true},
		"values of one call":               {"package a\nvar v, w = g()\nfunc f() int { return v }\nfunc g() (int, int) { return 1, 2 }", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := codetest.Funcs(t, tt.src, tt.others)[0]
			v := f.Pkg.Types.Scope().Lookup("v")
			if v == nil {
				v = f.Pkg.Types.Scope().Lookup("V")
			}
			if got := steady.Variable(f, v.(*types.Var)); got != tt.want {
				t.Errorf("steady: %v; want %v", got, tt.want)
			}
		})
	}
}

// A field has the value that its struct was made with unless something writes to it.
func TestField(t *testing.T) {
	const begin = "package a\ntype text string\nfunc (t *text) set(s string) { *t = text(s) }\ntype s struct { n int; t text; a [2]int }\nfunc f(x *s, l []int, m map[int]*s) {\n"
	for body, want := range map[string]bool{
		"_ = &s{n: 1, t: `a`}":    true,
		"y := *x; _ = y.n":        true,
		"x.n = 1":                 false,
		"x.n, x.a = 1, x.a":       false,
		"x.n++":                   false,
		"x.n += 2":                false,
		"for x.n = range l {}":    false,
		"for _, x.n = range l {}": false,
		"_ = &x.n":                false,
		"m[0].n = 2":              false,
		"func() { (*x).n = 1 }()": false,
		"c := make(chan int, 1); select { case x.n = <-c: default: }": false,
	} {
		f := codetest.Funcs(t, begin+body+"\n}\n", nil)[0]
		field := f.Pkg.Types.Scope().Lookup("s").Type().Underlying().(*types.Struct).Field(0)
		if got := steady.Field(f, field); got != want {
			t.Errorf("%s: steady: %v; want %v", body, got, want)
		}
	}
	f := codetest.Funcs(t, begin+"x.t.set(`b`)\nx.a[0] = 1\n}\n", nil)[0]
	st := f.Pkg.Types.Scope().Lookup("s").Type().Underlying().(*types.Struct)
	if steady.Field(f, st.Field(1)) || steady.Field(f, st.Field(2)) || !steady.Field(f, st.Field(0)) {
		t.Error("a method with a pointer sets a field, and an assignment an element of one, but not the third")
	}
}

// A pool makes empty buffers unless something gives it another New.
func TestEmptyPool(t *testing.T) {
	const begin = "package a\nimport (\n\"bytes\"\n\"sync\"\n)\nvar pool = sync.Pool{New: func() any { return new(bytes.Buffer) }}\nfunc f() {\n"
	for body, want := range map[string]bool{
		"b := pool.Get().(*bytes.Buffer); pool.Put(b)":                true,
		"pool.New = func() any { return bytes.NewBufferString(`a`) }": false,
		"p := &pool; p.New = nil":                                     false,
		"pool = sync.Pool{New: func() any { return 1 }}":              false,
	} {
		f := codetest.Funcs(t, begin+strings.ReplaceAll(body, "; ", "\n")+"\n}\n", nil)[0]
		var e ast.Expr
		ast.Inspect(f.Decl, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == "pool" {
				e = id
			}
			return true
		})
		if got := pool.Empty(f, e); got != want {
			t.Errorf("%s: empty: %v; want %v", body, got, want)
		}
	}
}
