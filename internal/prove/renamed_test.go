package prove

import (
	"testing"

	"github.com/hone-perf/hone/internal/testrun"
)

// A function that was renamed is compared with what it was, also when its results or parameters have other names, where it is clear which
// one that is.
func TestRenamedFunctionsAreCompared(t *testing.T) {
	testrun.Live(t, "builds and calls two versions of a package")
	const old = `package one

type T struct{ n int }

func (t *T) lookup(k string) int {
	h := t.n
	for _, r := range k {
		h = h*31 + int(r)
	}
	return h
}

func Digits(s []interface{}) (n int) {
	for range s {
		n++
	}
	return n
}

func parse(s string) (n int, ok bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, true
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
`
	const now = `package one

type T struct{ n int }

type list = []any

func (t *T) find(k string) int {
	h := t.n
	for _, r := range k {
		h = h*31 + int(r)
	}
	if len(k) == 1 {
		h++
	}
	return h
}

func Digits(all list) int {
	n := len(all)
	if n == 2 {
		n++
	}
	return n
}

func number(text string) (int, bool) {
	n := 0
	for i := range len(text) {
		if text[i] < '0' || text[i] > ':' {
			return 0, false
		}
		n = n*10 + int(text[i]-'0')
	}
	return n, true
}

func digit(c byte) bool { return c >= '0' && c <= '9' }
func space(c byte) bool { return c >= ' ' && c <= ' ' }
`
	p, grave := alarmsOf(t, old, now, Options{Executions: 600})
	found := make(map[string]bool)
	for _, d := range grave {
		found[d.Function] = true
	}
	for _, want := range []string{"(*T).find", "number", "Digits"} {
		if !found[want] {
			t.Errorf("no difference of %s among %v", want, found)
		}
	}
	for _, f := range p.Functions {
		if (f.Name == "digit" || f.Name == "space") && f.Why == "" {
			t.Errorf("%s is compared with a function that is only a little like it", f.Name)
		}
	}
}
