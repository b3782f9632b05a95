package flow_test

import (
	"go/ast"
	"go/types"
	"testing"

	"github.com/hone-perf/hone/internal/advise/facts/code/codetest"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
)

// TestWrites holds the questions about what code writes to a variable, v: whether it is assigned to, or what it leads to is, whether it has one value,
// and whether its address is taken, at all and where it is first named. Each way to write is in the tests of package writes.
func TestWrites(t *testing.T) {
	type answers struct{ assigns, onlyRead, addressed, byAddress bool }
	for _, tt := range []struct {
		typ, code string
		want      answers
	}{
		{"int", "_ = v", answers{onlyRead: true}},
		{"int", "v = 1", answers{assigns: true}},
		{"int", "for v = range 3 { }", answers{assigns: true}},
		{"int", "_ = &v", answers{assigns: true, addressed: true, byAddress: true}},
		{"*int", "*v = 1", answers{assigns: true, onlyRead: true}},
		{"[]int", "v[0]++", answers{assigns: true, onlyRead: true}},
		{"[]int", "clear(v)", answers{assigns: true, onlyRead: true}},
		{"[4]int", "v[0]++", answers{assigns: true}},
		{"[4]int", "_ = v[:]", answers{assigns: true, addressed: true, byAddress: true}},
		{"[]int", "_ = v[:]", answers{onlyRead: true}},
		{"T", "v.inc()", answers{assigns: true, addressed: true, byAddress: true}},
		{"*T", "v.inc()", answers{onlyRead: true}},
		{"E", "v.inc()", answers{onlyRead: true}},
		{"T", "_ = &v.n", answers{assigns: true, addressed: true}},
		{"any", "v.(*T).n = 1", answers{assigns: true, onlyRead: true}},
		{"chan int", "v <- 1; <-v", answers{onlyRead: true}},
	} {
		all := codetest.Funcs(t, "package a\ntype T struct { n int }\nfunc (x *T) inc() { }\ntype E struct { *T }\nfunc f(v "+tt.typ+") {\n"+tt.code+"\n}", nil)
		f := all[len(all)-1]
		v := f.Info().Defs[f.Decl.Type.Params.List[0].Names[0]].(*types.Var)
		got := answers{
			flow.Assigns(f, f.Decl.Body, func(o types.Object) bool { return o == v }), flow.OnlyRead(f, v, nil),
			flow.Addressed(f, v), flow.ByAddress(f, f.Uses(v)[0]),
		}
		if got != tt.want {
			t.Errorf("%s of %s: %+v, want %+v", tt.code, tt.typ, got, tt.want)
		}
	}
	// A field counts, whatever it is a field of; and the statement that declares a variable gives it its value.
	f := codetest.Funcs(t, "package a\ntype T struct { n int }\nfunc g() *T\nfunc f() { x := 1; g().n = x }", nil)[1]
	if !flow.Assigns(f, f.Decl.Body, func(o types.Object) bool { return o.Name() == "n" }) {
		t.Error("g().n = x does not write to n")
	}
	st := f.Decl.Body.List[0].(*ast.AssignStmt)
	if v := f.Info().Defs[st.Lhs[0].(*ast.Ident)].(*types.Var); !flow.OnlyRead(f, v, st) || flow.OnlyRead(f, v, nil) {
		t.Error("x := 1 is not the one value of x")
	}
}
