package code_test

import (
	"go/ast"
	"testing"

	"github.com/hone-perf/hone/internal/advise/facts/code/codetest"
)

// TestHasToo holds whether what a method, a, is called on has the method b of the same type: one that embeds the type may have its own.
func TestHasToo(t *testing.T) {
	const types = "package a\ntype T struct { }\nfunc (T) a() { }\nfunc (*T) b() { }\ntype E struct { T }\ntype O struct { *T }\nfunc (O) b() { }\ntype F struct { T; b func() }\n"
	for typ, want := range map[string]bool{"T": true, "*T": true, "E": true, "*E": true, "O": false, "*O": false, "F": false} {
		all := codetest.Funcs(t, types+"func f(v "+typ+") { v.a() }", nil)
		f := all[len(all)-1]
		call := f.Decl.Body.List[0].(*ast.ExprStmt).X.(*ast.CallExpr)
		if got := f.HasToo(call, "b"); got != want {
			t.Errorf("%s: %v, want %v", typ, got, want)
		}
	}
}
