package prove

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/testrun"
)

// What calls made up in a package do not reach is called from another package of the module, which knows how to: a difference is shown
// with its cause, and without one the change counts as reached.
func TestCallersInOtherPackages(t *testing.T) {
	testrun.Nightly(t, "builds and calls three versions of two packages")
	const inner = `package inner

// A Visitor gets the terms of a sum; nothing in this package is one.
type Visitor interface{ Visit(sign byte, n int) error }

func Terms(s string, v Visitor) error {
	sign, n := byte('+'), 0
	v.Visit('0', 0)
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			n = n*10 + int(c-'0')
		case c == '+' || c == '-':
			if err := v.Visit(sign, n); err != nil {
				return err
			}
			sign, n = c, 0
		}
	}
	return v.Visit(sign, n)
}
`
	const calc = `package calc

import "example.com/two/inner"

type sum struct{ n int }

func (s *sum) Visit(sign byte, n int) error {
	if sign == '-' {
		n = -n
	}
	s.n += n
	return nil
}

// Calc computes a sum, such as 1+2-3.
func Calc(s string) int {
	var v sum
	inner.Terms(s, &v)
	return v.n
}
`
	dir := t.TempDir()
	for v, text := range map[string]string{
		"old":   inner,
		"same":  strings.Replace(inner, "c == '+' || c == '-'", "c == '-' || c == '+'", 1),
		"wrong": strings.Replace(inner, "sign, n = c, 0", "sign, n = c, n&64", 1),
	} {
		write(t, filepath.Join(dir, v, "go.mod"), []byte("module example.com/two\n\ngo 1.26\n"))
		write(t, filepath.Join(dir, v, "inner", "inner.go"), []byte(text))
		write(t, filepath.Join(dir, v, "calc", "calc.go"), []byte(calc))
		write(t, filepath.Join(dir, v, "calc", "calc_test.go"), []byte("package calc\n\nimport \"testing\"\n\nfunc TestCalc(t *testing.T) {\n\tif Calc(\"1 - 2\") != -1 {\n\t\tt.Fatal()\n\t}\n}\n"))
	}
	p := proveIn(t, dir, "old", "wrong", Options{Executions: 3000, NoTests: true, Time: time.Hour})
	var shown []string
	for _, d := range p.Differences {
		if d.Grave {
			shown = append(shown, d.Call+", cause "+d.Cause)
		}
	}
	if len(shown) != 1 || !strings.Contains(shown[0], `Calc("`) || !strings.HasSuffix(shown[0], "cause inner.Terms") {
		t.Errorf("differences: %q; functions %+v", shown, p.Functions)
	}
	p = proveIn(t, dir, "old", "same", Options{Executions: 3000, NoTests: true, Time: time.Hour})
	if p.Verdict != report.Proven {
		t.Errorf("%s: %q", p.Verdict, p.Reasons)
	}
	last := p.Functions[len(p.Functions)-1]
	if last.Name != "calc.Calc" || last.Changed || last.Executions < 1000 {
		t.Errorf("the last function is %+v", last)
	}
}

// Of dozens of packages that import one, those are loaded that name what the change affects, and a few at most.
func TestCallersThatNameIt(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a/a.go":      "package a\n\n// Range is not named here.\nvar text = \"Range\"\n",
		"b/b.go":      "package b\n\nfunc f(c *p.Ctx) { c.Range(1) }\n",
		"b/b_test.go": "package b\n\nvar _, _ = Range, Range\n",
		"c/c.go":      "package c\n\nfunc f(c *p.Ctx) { c.Range(1); c.Range(2) }\n",
		"d/d_test.go": "package d\n\nvar _ = Range\n",
		"e/e.go":      "package e\n\nvar _ = Old\n",
		"f/f.go":      "package f\n\nvar _ = Range\n",
		"g/g.go":      "package g\n\nvar _ = Range\n",
	} {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), []byte(text))
	}
	p := &pair{
		old: &side{decls: map[string]*decl{"Ctx.Old": {text: "1"}, "Same": {text: "1"}}, renamed: map[string]string{"Ctx.Old": "Ctx.Range"}},
		new: &side{version: Version{Dir: dir}, decls: map[string]*decl{"Ctx.Range": {text: "2"}, "Same": {text: "1"}}},
	}
	for in, want := range map[string]string{"a b c d e": "c b e", "a d": "", "b c e f g": "c b e f"} {
		if got := strings.Join(p.naming(strings.Fields(in)), " "); got != want {
			t.Errorf("of %s: got %s, want %s", in, got, want)
		}
	}
}
