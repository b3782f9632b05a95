package lists_test

import (
	"go/ast"
	"go/types"
	"slices"
	"testing"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/code/codetest"
	"github.com/hone-perf/hone/internal/advise/facts/lists"
)

// TestNilUnseen holds that a slice without elements may be another one than nil only where nobody can tell.
func TestNilUnseen(t *testing.T) {
	const begin = "package a\nimport (\"errors\"; \"fmt\"; \"slices\"; \"strings\")\nvar _, _, _, _ = fmt.Sprint, errors.New, slices.Contains[[]int], strings.Join\nvar all [][]int\n" +
		"type T struct { list []int; Seen []int }\nfunc (t *T) read() int { return len(t.list) + len(t.Seen) }\ntype I interface { m() []int }\n"
	for src, want := range map[string]bool{
		"func f() int { var s []int; s = append(s, 1); for range s {}; return len(s) + s[0] }":                                                                                true,
		"func f() bool { var s []int; s = append(s, 1); return s == nil }":                                                                                                    false,
		"func f() bool { var s []int; s = append(s, 1); return slices.Contains(s, 1) }":                                                                                       true,
		"func f() bool { var s []int; s = append(s, 1); return slices.Equal(s, nil) }":                                                                                        false,
		"func f() []int { var s, o []int; s = append(s, 1); o = append(o, s...); return nil }":                                                                                true,
		"func f() { var s []int; s = append(s, 1); all = append(all, s) }":                                                                                                    false,
		"func f() any { var s []int; if len(all) > 0 { s = append(s, 1) }; return s }; func g() { println(f()) }":                                                             false,
		"func f(t *T) { var s []int; s = append(s, 1); t.list = s }":                                                                                                          true,
		"func f(t *T) { var s []int; s = append(s, 1); t.Seen = s }":                                                                                                          false,
		"func f() *T { var s []int; s = append(s, 1); return &T{list: s} }":                                                                                                   true,
		"func f() func() []int { var s []int; return func() []int { s = append(s, 1); return s } }":                                                                           false,
		"func F() []int { var s []int; if len(all) > 0 { s = append(s, 1) }; return s }":                                                                                      false,
		"func f() []int { var s []int; if len(all) > 0 { s = append(s, 1) }; return s }":                                                                                      true,
		"func f() []int { var s []int; if len(all) > 0 { s = append(s, 1) }; return s }; func g() { f() }":                                                                    true,
		"func f() []int { var s []int; return s }; func g() int { x := f(); return len(x) }":                                                                                  true,
		"func f() []int { var s []int; return s }; func g() bool { x := f(); return x == nil }":                                                                               false,
		"func f() []int { var s []int; return s }; func g() bool { return f() == nil }":                                                                                       false,
		"func f() []int { var s []int; return s }; func g() { for range f() {} }":                                                                                             true,
		"func f() []int { var s []int; return s }; var g = f":                                                                                                                 false,
		"func f() []int { var s []int; return s }; func g(t *T) { t.list = f() }":                                                                                             true,
		"func f() []int { var s []int; return s }; func g(t *T) { t.Seen = f() }":                                                                                             false,
		"func f() ([]int, error) { var s []int; return s, nil }; func g() int { x, _ := f(); return len(x) }":                                                                 true,
		"func f() ([]int, error) { var s []int; return s, nil }; func G() []int { x, _ := f(); return x }":                                                                    false,
		"func F() []int { var s []int; s = append(s, 1); return s }":                                                                                                          true,
		"func F(n int) []int { var s []int; s = append(s, 1); for range n { return s }; return s }":                                                                           true,
		"func F(n int) []int { var s []int; if n > 0 { s = append(s, 1); return s }; return s }":                                                                              false,
		"func (t *T) m() []int { var s []int; return s }":                                                                                                                     false, // of the interface
		"func (t *T) o() []int { var s []int; return s }; func g(x any) bool { return x.(interface{ o() []int }).o() == nil }":                                                false,
		"type G[E any] struct { kept []E }; func (g *G[E]) none() bool { return g.kept == nil }; func f() *G[int] { var s []int; s = append(s, 1); return &G[int]{kept: s} }": false,
		"func f() *T { var s []int; s = append(s, 1); return &T{list: s} }; func g(t *T) { fmt.Printf(\"%#v\", t) }":                                                          false,
		"func (t *T) n() []int { var s []int; return s }":                                                                                                                     true,
		"func (t *T) n() []int { var s []int; return s }; func g(t *T) bool { return t.n() == nil }":                                                                          false,
	} {
		for _, f := range codetest.Funcs(t, begin+src, nil) {
			if s := local(f, "s"); s != nil && lists.NilUnseen(f, s) != want {
				t.Errorf("%s: %v", src, !want)
			}
		}
	}
}

// TestNilUnseenByTests holds that tests of the package count, which are not loaded.
func TestNilUnseenByTests(t *testing.T) {
	const src = "package a\ntype T struct { nodes []int }\nfunc listed() []int { var s []int; return s }\nfunc kept() *T { var s []int; return &T{nodes: s} }\n"
	for test, want := range map[string][]string{
		"package a":                             {"listed", "kept"},
		"package a\nvar none = listed() == nil": {"kept"},
		"package a\nfunc see(t *T) { if !reflect.DeepEqual(t, &T{}) { panic(t) } }": {"listed"},
	} {
		var got []string
		for _, f := range codetest.Funcs(t, src, map[string]string{"a_test.go": test}) {
			if lists.NilUnseen(f, local(f, "s")) {
				got = append(got, f.Decl.Name.Name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: nobody sees it of %v, want %v", test, got, want)
		}
	}
}

// TestRoomUnseen holds that a slice may begin with more room only where nobody can tell.
func TestRoomUnseen(t *testing.T) {
	const begin = "package a\nimport (\"slices\"; \"strconv\")\nvar _, _ = slices.Sort[[]int], strconv.Itoa\nvar all [][]int\n" +
		"func sum(l []int) int { for range l { return l[0] }; return sum(l[1:]) }\nfunc keep(l []int) { all = append(all, l) }\nfunc more(l []int) []int { l = append(l, 1); return l }\n"
	for src, want := range map[string]bool{
		"func f() []int { var s []int; s = append(s, 1); return s }":                                                    true,
		"func f() int { var s []int; s = append(s, 1); return cap(s) }":                                                 false,
		"func f() int { var s []int; s = append(s, 1); return len(s[:1]) + s[0] }":                                      true,
		"func f() ([]int, []int) { var s []int; s = append(s, 1); return append(s, 2), append(s, 3) }":                  false,
		"func f() []int { var s []int; s = append(s, 1); return append(s, 2) }":                                         true,
		"func f() []int { var s []int; s = append(s[:0], 1); return s }":                                                true,
		"func f() int { var s []int; s = append(s, 1); t := s; t = append(t, 2); return len(t) }":                       true,
		"func f() int { var s []int; s = append(s, 1); t := s; s = append(s, 2); return len(t) }":                       false,
		"func f() { var s []int; s = append(s, 1); keep(s) }":                                                           true,
		"func f() { var s []int; keep(s); s = append(s, 1) }":                                                           false,
		"func f() { var s []int; for range 3 { s = append(s, 1); keep(s) } }":                                           false,
		"func f() { for range 3 { var s []int; s = append(s, 1); keep(s) } }":                                           true,
		"func f() { var s []int; for range 3 { s = append(s, 1); keep(s); s = nil } }":                                  true,
		"func f() { var s []int; for range 3 { s = append(s, 1); all, s = append(all, s), nil } }":                      true,
		"func f() { var s []int; s = append(s, 1); more(s); more(s) }":                                                  false,
		"func f() { var s []int; for range 3 { s = more(s); s = append(s, 1) } }":                                       true,
		"func f() { var s []int; slices.Sort(s); s = append(s, 1); slices.Sort(s) }":                                    true,
		"func f() int { var s []int; s = append(s, 1); return sum(s) + sum(s) }":                                        false, // as deep as it looks
		"func f() { var s []int; s = append(s, 1); all = append(all, slices.Insert(s, 0, 1), slices.Insert(s, 0, 2)) }": false,
		"func f() { var s []int; s = append(s, 1); all = append(all, slices.Clone(s), slices.Clone(s)) }":               true,
		"func f() { var s []byte; s = strconv.AppendInt(s, 1, 10); s = strconv.AppendInt(s, 2, 10); _ = string(s) }":    true,
		"func f(g func([]int)) { var s []int; s = append(s, 1); g(s); g(s) }":                                           false,
		"func f() { var s []int; for _, x := range s { all = append(all, append(s, x)) } }":                             false,
	} {
		for _, f := range codetest.Funcs(t, begin+src, nil) {
			if s := local(f, "s"); s != nil && lists.RoomUnseen(f, s) != want {
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
