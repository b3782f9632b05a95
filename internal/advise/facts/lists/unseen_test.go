package lists_test

import (
	"go/ast"
	"go/types"
	"testing"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/code/codetest"
	"github.com/hone-perf/hone/internal/advise/facts/lists"
)

// TestNilUnseen holds that a slice without elements may be another one than nil only where nobody can tell.
func TestNilUnseen(t *testing.T) {
	const begin = "package a\nimport (\"errors\"; \"slices\"; \"strings\")\nvar _, _, _ = errors.New, slices.Contains[[]int], strings.Join\nvar all [][]int\n" +
		"type T struct { list []int; Seen []int }\nfunc (t *T) read() int { return len(t.list) + len(t.Seen) }\ntype I interface { m() []int }\n"
	for src, want := range map[string]bool{
		"func f() int { var s []int; s = append(s, 1); for range s {}; return len(s) + s[0] }":                    true,
		"func f() bool { var s []int; s = append(s, 1); return s == nil }":                                        false,
		"func f() bool { var s []int; s = append(s, 1); return slices.Contains(s, 1) }":                           true,
		"func f() bool { var s []int; s = append(s, 1); return slices.Equal(s, nil) }":                            false,
		"func f() []int { var s, o []int; s = append(s, 1); o = append(o, s...); return nil }":                    true,
		"func f() { var s []int; s = append(s, 1); all = append(all, s) }":                                        false,
		"func f() any { var s []int; if len(all) > 0 { s = append(s, 1) }; return s }; func g() { println(f()) }": false,
		"func f(t *T) { var s []int; s = append(s, 1); t.list = s }":                                              true,
		"func f(t *T) { var s []int; s = append(s, 1); t.Seen = s }":                                              false,
		"func f() *T { var s []int; s = append(s, 1); return &T{list: s} }":                                       true,
		"func f() func() []int { var s []int; return func() []int { s = append(s, 1); return s } }":               false,
		"func F() []int { var s []int; if len(all) > 0 { s = append(s, 1) }; return s }":                          false,
		"func f() []int { var s []int; if len(all) > 0 { s = append(s, 1) }; return s }":                          true,
		"func f() []int { var s []int; if len(all) > 0 { s = append(s, 1) }; return s }; func g() { f() }":        true,
		"func f() []int { var s []int; return s }; func g() int { x := f(); return len(x) }":                      true,
		"func f() []int { var s []int; return s }; func g() bool { x := f(); return x == nil }":                   false,
		"func f() []int { var s []int; return s }; func g() bool { return f() == nil }":                           false,
		"func f() []int { var s []int; return s }; func g() { for range f() {} }":                                 true,
		"func f() []int { var s []int; return s }; var g = f":                                                     false,
		"func f() []int { var s []int; return s }; func g(t *T) { t.list = f() }":                                 true,
		"func f() []int { var s []int; return s }; func g(t *T) { t.Seen = f() }":                                 false,
		"func f() ([]int, error) { var s []int; return s, nil }; func g() int { x, _ := f(); return len(x) }":     true,
		"func f() ([]int, error) { var s []int; return s, nil }; func G() []int { x, _ := f(); return x }":        false,
		"func F() []int { var s []int; s = append(s, 1); return s }":                                              true,
		"func F(n int) []int { var s []int; s = append(s, 1); for range n { return s }; return s }":               true,
		"func F(n int) []int { var s []int; if n > 0 { s = append(s, 1); return s }; return s }":                  false,
		"func (t *T) m() []int { var s []int; return s }":                                                         false, // of the interface
		"func (t *T) n() []int { var s []int; return s }":                                                         true,
		"func (t *T) n() []int { var s []int; return s }; func g(t *T) bool { return t.n() == nil }":              false,
	} {
		for _, f := range codetest.Funcs(t, begin+src, nil) {
			if s := local(f, "s"); s != nil && lists.NilUnseen(f, s) != want {
				t.Errorf("%s: %v", src, !want)
			}
		}
	}
}

// local returns a variable of a function by its name, or nil.
func local(f *code.Func, name string) (v *types.Var) {
	ast.Inspect(f.Decl, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == name && v == nil {
			v, _ = f.Info().Defs[id].(*types.Var)
		}
		return true
	})
	return v
}
