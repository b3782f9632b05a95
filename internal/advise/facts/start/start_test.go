package start

import (
	"testing"

	"github.com/hone-perf/hone/internal/advise/facts/code/codetest"
)

// TestMayPrecede asks whether function F, or method F, may run before a variable that it would name has its value.
func TestMayPrecede(t *testing.T) {
	const begin = "package a\n\nimport (\n\t\"fmt\"\n\t\"net/http\"\n\t\"slices\"\n\t\"strconv\"\n\t\"sync/atomic\"\n)\n\n" +
		"var _, _, _, _ = fmt.Sprint, http.Handle, slices.Contains[[]int], strconv.Itoa\n\nvar _ atomic.Int64\n\n"
	for src, want := range map[string]bool{
		"var v = F()\nfunc F() int { return 1 }":                                                                                                                 false,
		"var v = g()\nfunc g() int { return F() }\nfunc F() int { return 1 }":                                                                                    false,
		"var v = func() int { return F() }()\nfunc F() int { return 1 }":                                                                                         false,
		"func init() { fmt.Println(T{}) }\ntype T struct{}\nfunc (T) F() { }":                                                                                    false,
		"var v = T{}\ntype T struct{}\nfunc (T) F() { }":                                                                                                         false,
		"var v = g(T{})\nfunc g(x T) T { x.F(); return x }\ntype T struct{}\nfunc (T) F() { }":                                                                   false,
		"var v = fmt.Sprint(1)\ntype T struct{}\nfunc (T) F() { }":                                                                                               false,
		"var v = fmt.Sprint(T{})\ntype T struct{}\nfunc (T) F() { }":                                                                                             true,
		"var v = fmt.Sprint(&T{})\ntype T struct{}\nfunc (*T) F() { }":                                                                                           true,
		"var v = fmt.Sprint([]T{})\ntype T struct{}\nfunc (*T) F() { }":                                                                                          true,
		"var v = fmt.Sprint([]any{T{}})\ntype T struct{}\nfunc (*T) F() { }":                                                                                     true,
		"var v = fmt.Sprint(struct{ x map[T]int }{})\ntype T struct{}\nfunc (T) F() { }":                                                                         true,
		"var v = fmt.Sprint(T{})\ntype T struct{}\nfunc (T) String() string { return F() }\nfunc F() string { return `` }":                                       true,
		"var v = fmt.Sprint(T{})\ntype T struct{ U }\ntype U struct{}\nfunc (U) F() { }":                                                                         true,
		"var v = fmt.Sprint(U{})\ntype T struct{}\ntype U struct{}\nfunc (T) F() { }":                                                                            false,
		"var v = show(T{})\nfunc show(x any) string { return fmt.Sprint(x) }\ntype T struct{}\nfunc (T) F() { }":                                                 true,
		"var v = slices.IndexFunc([]int{1}, func(int) bool { return fmt.Sprint(T{}) == `` })\ntype T struct{}\nfunc (T) F() { }":                                 true,
		"var v = call(T{})\nfunc call(x i) int { return x.F() }\ntype i interface{ F() int }\ntype T struct{}\nfunc (T) F() int { return 1 }":                    true,
		"var v = call(T{})\nfunc call[X i](x X) int { return x.F() }\ntype i interface{ F() int }\ntype T struct{}\nfunc (T) F() int { return 1 }":               true,
		"var v = call(i.F, T{})\nfunc call(g func(i) int, x i) int { return g(x) }\ntype i interface{ F() int }\ntype T struct{}\nfunc (T) F() int { return 1 }": true,
		// Who is called through a variable may be of another package.
		"var v = call(T.F, T{})\nfunc call(g func(T) int, x T) int { return g(x) }\ntype T struct{}\nfunc (T) F() int { return 1 }":                                                                                         true,
		"var v = &http.Server{Handler: T{}}\ntype T struct{}\nfunc (T) ServeHTTP(http.ResponseWriter, *http.Request) { F() }\nfunc F() { }":                                                                                 true,
		"var v = serve()\nfunc serve() int { http.DefaultServeMux.Handle(``, T{}); return 1 }\ntype T struct{}\nfunc (T) ServeHTTP(http.ResponseWriter, *http.Request) { F() }\nfunc F() { }":                               true,
		"var v = serve()\nfunc serve() int { http.DefaultClient.Transport = T{}; return 1 }\ntype T struct{}\nfunc (T) RoundTrip(*http.Request) (*http.Response, error) { return nil, F() }\nfunc F() error { return nil }": true,
		// One that is called of an interface may call others so.
		"var v = fmt.Sprint(T{})\ntype T struct{}\nfunc (T) String() string { return i(U{}).F() }\ntype i interface{ F() string }\ntype U struct{}\nfunc (U) F() string { return `` }": true,
	} {
		all := codetest.Funcs(t, begin+src+"\n", nil)
		for _, f := range all {
			if f.Decl.Name.Name != "F" {
				continue
			}
			if got := MayPrecede(f); got != want {
				t.Errorf("%v, want %v in\n%s", got, want, src)
			}
		}
	}
}

// TestStartOfTests holds that a test has variables of the package as well.
func TestStartOfTests(t *testing.T) {
	const src = "package a\n\ntype T struct{}\n\nfunc (T) String() string { return F() }\n\nfunc F() string { return `` }\n\nfunc G() { }\n"
	for test, want := range map[string]bool{
		"package a\nvar v = fmt.Sprint(T{})\n":      true,
		"package a\nvar v = newT().text()\n":        true,
		"package a\nvar v = errors.New(`x`)\n":      false,
		"package a\nvar v = 1\n":                    false,
		"package a_test\nvar v = fmt.Sprint(a.T{})": false, // which comes when the package is ready
	} {
		for _, f := range codetest.Funcs(t, src, map[string]string{"a_test.go": test}) {
			want := want && f.Decl.Name.Name != "G"
			if got := MayPrecede(f); got != want {
				t.Errorf("%s: %v, want %v with\n%s", f.Decl.Name.Name, got, want, test)
			}
		}
	}
}
