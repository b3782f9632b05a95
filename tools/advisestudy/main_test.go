package main

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/rules"
)

// TestCases holds that the lists can be read, and name rules that there are.
func TestCases(t *testing.T) {
	for _, tuned := range []bool{false, true} {
		all, err := readCases("", tuned)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			for _, name := range c.Causes {
				name, _, _ = strings.Cut(name, ": ")
				if !slices.ContainsFunc(rules.All, func(r *advise.Rule) bool { return r.Name == name }) {
					t.Errorf("%s: there is no rule %s", c.Name, name)
				}
			}
		}
	}
	for _, text := range []string{
		`[{"name": "a"}]`,
		`[{"name": "a", "module": "m", "before": "v1", "bench": "."}]`,
		`[{"name": "a", "module": "m", "before": "v1", "after": "v2", "bench": "."}]`,
		`[{"name": "a", "module": "m", "before": "v1", "after": "v2", "what": "x"}]`,
		`[{"name": "a", "module": "m", "before": "v1", "after": "v2", "bench": ".", "what": "x", "nmae": ""}]`,
		`[{"name": "a", "module": "m", "before": "v1", "after": "v2", "dropped": "no gain"}, {"name": "a", "module": "m", "before": "v1", "after": "v2", "dropped": "no gain"}]`,
	} {
		file := filepath.Join(t.TempDir(), "cases.json")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := readCases(file, false); err == nil {
			t.Errorf("no error for %s", text)
		}
	}
}

const trees2 = `
-- before/a.go --
package a

import "regexp"

// Old comment.
func Same(x int) int {
	// in front
	return x + 1
}

func Match(s string) bool {
	if s == "" {
		return false
	}
	re := regexp.MustCompile("x+")

	return re.MatchString(s)
}

type T[K any] struct{}

func (t *T[K]) Sum(xs []int) (n int) {
	for _, x := range xs {
		n += x
	}
	return n
}

func Gone() {}
-- before/a_test.go --
package a

func test() {}
-- before/testdata/b.go --
package b

func data() {}
-- before/wrong.go --
package a

func {
-- after/a.go --
package a

import "regexp"

// Another comment.
func Same(x int) int {

	return x + 1 // behind
}

var re = regexp.MustCompile("x+")

func Match(s string) bool {
	if s == "" {
		return false
	}

	return re.MatchString(s)
}

type T[K any] struct{}
-- after/b.go --
package a

func (t *T[K]) Sum(xs []int) (n int) {
	if len(xs) == 0 {
		return 0
	}
	for _, x := range xs {
		n += x
	}
	return n
}

func New() {}
`

func unpack(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(text)).Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestCauses holds that findings are still titled as the cases expect: a title that was reworded would count as a cause that is not found.
func TestCauses(t *testing.T) {
	var rules []byte
	names, err := filepath.Glob("../../internal/advise/rules/*.go")
	if err != nil || len(names) == 0 {
		t.Fatalf("no rules: %v", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, text...)
	}
	for _, text := range [][]byte{casesFile, tunedFile} {
		for _, m := range regexp.MustCompile(`"([a-z-]+): ([^"]+)"`).FindAllSubmatch(text, -1) {
			if title := string(m[2]); title != "go-runewidth" && !bytes.Contains(rules, []byte(`"`+title)) { // that one is the name of a module
				t.Errorf("no finding of %s begins with %q", m[1], title)
			}
		}
	}
}

func TestChanged(t *testing.T) {
	dir := unpack(t, trees2)
	got, err := changed(filepath.Join(dir, "before"), filepath.Join(dir, "after"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []place{
		{File: "a.go", Func: "Match", From: 11, To: 18, Lines: []int{15}},
		{File: "a.go", Func: "T.Sum", From: 22, To: 27, Lines: []int{23}},
		{File: "a.go", Func: "Gone", From: 29, To: 29, Lines: []int{29}},
	}
	if !slices.EqualFunc(got, want, func(a, b place) bool {
		return a.File == b.File && a.Func == b.Func && a.From == b.From && a.To == b.To && slices.Equal(a.Lines, b.Lines)
	}) {
		t.Errorf("changed gives\n%+v, want\n%+v", got, want)
	}
	got, err = changed(filepath.Join(dir, "before"), filepath.Join(dir, "after"), []string{"T.Sum"})
	if err != nil || len(got) != 1 || got[0].Func != "T.Sum" {
		t.Errorf("within T.Sum: %+v, %v", got, err)
	}
	p := want[0]
	for line, is := range map[int][2]bool{10: {false, false}, 11: {true, false}, 12: {true, true}, 18: {true, true}, 19: {false, false}} {
		if p.has("a.go", line) != is[0] || p.close("a.go", line) != is[1] {
			t.Errorf("line %d: in %v, close %v, want %v", line, p.has("a.go", line), p.close("a.go", line), is)
		}
	}
	if p.has("b.go", 15) {
		t.Error("a line of another file is in the place")
	}
}

func TestDiffering(t *testing.T) {
	for _, c := range []struct {
		was, is string
		want    []int
	}{
		{"a b c", "a b c", nil},
		{"a b c", "a x c", []int{1, 2}},
		{"a b c", "a c", []int{1}},
		{"a c", "a b c", []int{1}},
		{"a b", "a b c", []int{1}},
		{"a // b", "a b", nil},
		{"a b c", "", []int{0, 1, 2}},
		{"", "a", nil},
	} {
		split := strings.Fields
		if got := differing(split(c.was), split(c.is)); !slices.Equal(got, c.want) {
			t.Errorf("differing(%q, %q) = %v, want %v", c.was, c.is, got, c.want)
		}
	}
}

func TestShortName(t *testing.T) {
	for in, want := range map[string]string{
		"example.com/a.b/p.F":             "F",
		"p.F.func1":                       "F",
		"p.F.func1.2":                     "F",
		"example.com/p.(*T).m":            "T.m",
		"example.com/p.(*T[...]).m.func2": "T.m",
		"example.com/p.T.m":               "T.m",
		"":                                "",
	} {
		if got := shortName(in); got != want {
			t.Errorf("shortName(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestBenchLine(t *testing.T) {
	for line, want := range map[string]string{
		"BenchmarkX/a-8  \t 100\t 12.5 ns/op\t 3 B/op\t 1 allocs/op": "X/a-8",
		"BenchmarkX":                      "",
		"BenchmarkX some words here":      "",
		"ok  \texample.com/p\t1.2s":       "",
		"BenchmarkX 100 twelve ns/op 1 3": "",
	} {
		name, values := benchLine(line)
		if name != want || name != "" && (values["ns/op"] != 12.5 || values["B/op"] != 3 || values["allocs/op"] != 1) {
			t.Errorf("benchLine(%q) = %q, %v", line, name, values)
		}
	}
}

func TestGain(t *testing.T) {
	for _, c := range []struct {
		g             gain
		better, worse bool
	}{
		{gain{Allocs: [2]float64{3, 2}, Bytes: [2]float64{48, 64}, Time: [2]float64{100, 100}}, true, false},
		{gain{Allocs: [2]float64{3, 3}, Bytes: [2]float64{48, 48}, Time: [2]float64{100, 97}}, false, false},
		{gain{Allocs: [2]float64{3, 3}, Bytes: [2]float64{48, 48}, Time: [2]float64{100, 80}}, true, false},
		{gain{Allocs: [2]float64{3, 5}, Bytes: [2]float64{48, 96}, Time: [2]float64{100, 100}}, false, true},
		{gain{Allocs: [2]float64{3, 5}, Bytes: [2]float64{48, 96}, Time: [2]float64{100, 50}}, true, false},
	} {
		if c.g.better() != c.better || c.g.worse() != c.worse {
			t.Errorf("%v: better %v, worse %v", &c.g, c.g.better(), c.g.worse())
		}
	}
}

func saying(spots ...string) *advice {
	a := new(advice)
	for i, s := range spots {
		f := adviceFinding{Rule: s, Title: s, Where: spot{File: "a.go", Line: 10 * (i + 1), Function: "example.com/p.F"}}
		if strings.HasPrefix(s, "patched") {
			f.Fixes = []adviceFix{{Title: "do it"}}
		}
		a.Findings = append(a.Findings, f)
	}
	return a
}

func TestJudge(t *testing.T) {
	c := caseOf{Causes: []string{"right", "patched-right"}}
	at := []place{{File: "a.go", Func: "F", From: 18, To: 32, Lines: []int{21}}}
	for _, tc := range []struct {
		found []string
		want  verdict
	}{
		{nil, verdict{}},
		{[]string{"right"}, verdict{}}, // at another place
		{[]string{"x", "right"}, verdict{three: true, cause: true}},
		{[]string{"patched-right", "patched"}, verdict{three: true, patch: true}},
		{[]string{"x", "x", "patched-right"}, verdict{three: true, cause: true, patch: true}},
		{[]string{"x", "y", "z", "right"}, verdict{three: true}},
		{[]string{"x", "several of"}, verdict{three: true}},
	} {
		r := &result{Places: at}
		r.judge(c, saying(tc.found...))
		if got := r.verdict(); got != tc.want {
			t.Errorf("%v: %+v, want %+v", tc.found, got, tc.want)
		}
	}
	r := &result{Places: at}
	a := saying("x")
	a.Findings[0].Also = []spot{{File: "a.go", Line: 19}}
	r.judge(c, a)
	if got := r.verdict(); !got.first || !r.Found[0].Close {
		t.Errorf("with another place: %+v", r.Found)
	}
	r.Kept = []kept{r.fixed(&fixed{Where: spot{File: "a.go", Line: 99, Function: "example.com/p.F.func1"}})}
	if !r.proven() {
		t.Errorf("a kept patch at the place does not count: %+v", r.Kept)
	}
	if r.Kept[0].Wrong = "a test fails"; r.proven() {
		t.Error("a wrong patch counts")
	}
}

// TestTables holds that missed goals are said.
func TestTables(t *testing.T) {
	all := []caseOf{{Name: "good", Module: "example.com/m", Before: "v1", After: "v2"}, {Name: "poor", Held: true}, {Name: "none", Dropped: "no gain today"}}
	at := []place{{File: "a.go", Func: "F", From: 8, To: 12}}
	hit := finding{Rule: "r", File: "a.go", Line: 10, Func: "F", Hit: true, Right: true, Fixes: []string{"do it"}}
	good := &result{Case: "good", Places: at, Found: []finding{hit}, Fixed: true, CPU: 1, Kept: []kept{{Rule: "r", File: "a.go", Func: "F", Hit: true, Check: "3 tests"}}}
	poor := &result{Case: "poor", Places: at, Fixed: true, CPU: 11}
	var out strings.Builder
	if missed := caseTable(&out, all, []*result{good}); len(missed) != 0 {
		t.Errorf("missed %q", missed)
	}
	for _, want := range []string{"| example.com/m v1 → v2 |", "kept: 3 tests", "no gain today", "**all (1)** | | 100 %"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	missed := strings.Join(caseTable(io.Discard, all, []*result{good, poor}), "\n")
	for _, want := range []string{"poor: finding took 11.0 s", "hit@1: 50 %", "cause: 50 %"} {
		if !strings.Contains(missed, want) {
			t.Errorf("no %q in %q", want, missed)
		}
	}
	good.Kept[0].Wrong = "TestX fails with it"
	if missed := strings.Join(caseTable(io.Discard, all, []*result{good}), "\n"); !strings.Contains(missed, "kept, though wrong") || !strings.Contains(missed, "proven: 0 %") {
		t.Errorf("missed: %q", missed)
	}
	if missed := tunedTable(io.Discard, []*result{{Case: "p", Found: []finding{hit}}}); len(missed) != 0 {
		t.Errorf("one patch: %q", missed)
	}
	if missed := tunedTable(io.Discard, []*result{{Case: "p", Found: []finding{hit, hit}, Kept: []kept{{Fix: "do it"}}}}); len(missed) != 2 {
		t.Errorf("two patches and a kept one: %q", missed)
	}
	if missed := caseTable(io.Discard, all, nil); len(missed) != 1 {
		t.Errorf("nothing measured: %q", missed)
	}
}

const module = `
-- go.mod --
module example.com/m

go 1.24
-- p/p.go --
package p

func F() int { return 1 }
-- q/q.go --
package q

import "example.com/m/p"

var V = p.F()
-- r/r.go --
package r
-- r/r_test.go --
package r

import (
	"testing"

	"example.com/m/q"
)

func TestV(t *testing.T) {
	if q.V != 1 {
		t.Fatal(q.V)
	}
}

func TestOther(t *testing.T) {}
-- s/s.go --
package s
`

const patchF = `--- a/p/p.go
+++ b/p/p.go
@@ -1,3 +1,3 @@
 package p
 
-func F() int { return 1 }
+func F() int { return 2 }
`

// TestKept holds that a patch that breaks a test of another package is found out.
func TestKept(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and tests packages")
	}
	ctx := context.Background()
	dir := unpack(t, module)
	packages, err := affected(ctx, dir, "p")
	if want := []string{"example.com/m/p", "example.com/m/q", "example.com/m/r"}; err != nil || !slices.Equal(packages, want) {
		t.Errorf("affected: %v, %v, want %v", packages, err, want)
	}
	before, err := test(ctx, dir, "example.com/m/r")
	if want := map[string]bool{"": true, "TestV": true, "TestOther": true}; err != nil || !maps.Equal(before, want) {
		t.Errorf("before: %v, %v, want %v", before, err, want)
	}
	if err := apply(ctx, dir, patchF); err != nil {
		t.Fatal(err)
	}
	after, err := test(ctx, dir, "example.com/m/r")
	if want := map[string]bool{"": false, "TestV": false, "TestOther": true}; err != nil || !maps.Equal(after, want) {
		t.Errorf("after: %v, %v, want %v", after, err, want)
	}
	if name, is := broken(before, after); !is || name != "" {
		t.Errorf("broken is %q, %v", name, is)
	}
	if name, is := broken(map[string]bool{"": false, "TestOther": true}, after); is {
		t.Errorf("%q did not run before, and is said to be broken", name)
	}
	if err := apply(ctx, dir, patchF); err == nil {
		t.Error("a patch applies twice")
	}
	if err := os.WriteFile(filepath.Join(dir, "r", "r.go"), []byte("package r\n\nvar x int = \"\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if after, err = test(ctx, dir, "example.com/m/r"); err != nil || after[""] || len(after) != 1 {
		t.Errorf("a package that does not build: %v, %v", after, err)
	}
}

func TestCommandLine(t *testing.T) {
	for _, args := range [][]string{{"-only", "("}, {"-table"}, {"file"}, {"-nosuch"}} {
		var out, wrong strings.Builder
		if code := run(context.Background(), args, &out, &wrong); code != 2 || wrong.Len() == 0 {
			t.Errorf("%v: exit code %d, %q", args, code, &wrong)
		}
	}
	if code := run(context.Background(), []string{"-table", "nosuch.json"}, io.Discard, io.Discard); code != 1 {
		t.Errorf("a file that is not there: exit code %d", code)
	}
}
