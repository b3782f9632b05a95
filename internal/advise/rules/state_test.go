package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/report"
)

// A written variable is state that functions read: V is its name, and a text comes of reading it.
type written struct {
	name  string
	decls string
	read  string
	quiet bool // nothing writes to it
}

// ways are all ways in which a variable of a package, or what it leads to, may be written to, and some in which it is not.
var ways = []written{
	{"never, a map", `var V = map[string]string{"a": "x"}`, `V["a"]`, true},
	{"never, a struct", `var V = struct{ a string }{"x"}`, `V.a`, true},
	{"never, a pointer", `var V = &VType{"x"}` + "\ntype VType struct{ a string }\nfunc (t *VType) get() string { return t.a }", `V.a + "y"`, true},
	{"never, a slice", `var V = strings.Fields("x y")` + "\nfunc VLen() int { return len(V) + len(V[1:]) }", `V[0]`, true},
	{"never, a text", `var V = "x"`, `V`, true},
	{"never, made by a function", `var V = VMake()` + "\nfunc VMake() []string { var l []string; l = append(l, \"x\"); return l }", `V[0]`, true},

	{"assigned", `var V = "x"` + "\nfunc VSet(s string) { V = s }", `V`, false},
	{"assigned with others", `var V = "x"` + "\nfunc VSet(s string) (ok bool) { V, ok = s, true; return ok }", `V`, false},
	{"assigned in a literal", `var V = "x"` + "\nvar VSet = func(s string) { V = s }", `V`, false},
	{"assigned in init", `var V = "x"` + "\nfunc init() { V = \"y\" }", `V`, false},
	{"filled in init", `var V = map[string]string{}` + "\nfunc init() { V[\"a\"] = \"y\" }", `V["a"]`, false},
	{"filled for another variable", `var V = map[string]string{}` + "\nvar _ = VSet()\nfunc VSet() bool { V[\"a\"] = \"y\"; return true }", `V["a"]`, false},
	{"added to", `var V = "x"` + "\nfunc VSet(s string) { V += s }", `V`, false},
	{"counted", `var V = 1` + "\nfunc VSet() { V++ }", `strconv.Itoa(V)`, false},
	{"ranged over with", `var V = 1` + "\nfunc VSet(l []int) { for V = range l {} }", `strconv.Itoa(V)`, false},
	{"ranged over with, as a value", `var V = "x"` + "\nfunc VSet(l []string) { for _, V = range l {} }", `V`, false},
	{"its address is taken", `var V = "x"` + "\nfunc VAt() *string { return &V }", `V`, false},
	{"received into", `var V = "x"` + "\nfunc VSet(c chan string) { select { case V = <-c: default: } }", `V`, false},

	{"an entry", `var V = map[string]string{}` + "\nfunc VSet(s string) { V[\"a\"] = s }", `V["a"]`, false},
	{"an entry with others", `var V = map[string]string{}` + "\nfunc VSet(s string) (ok bool) { V[\"a\"], ok = s, true; return ok }", `V["a"]`, false},
	{"an entry that is ranged over with", `var V = map[string]string{}` + "\nfunc VSet(l []string) { for _, V[\"a\"] = range l {} }", `V["a"]`, false},
	{"an entry that is counted", `var V = map[string]int{}` + "\nfunc VSet() { V[\"a\"]++ }", `strconv.Itoa(V["a"])`, false},
	{"an entry of an entry", `var V = map[string]map[string]string{"a": {}}` + "\nfunc VSet(s string) { V[\"a\"][\"b\"] = s }", `V["a"]["b"]`, false},
	{"an entry, through a variable", `var V = map[string]string{}` + "\nfunc VSet(s string) { m := V; m[\"a\"] = s }", `V["a"]`, false},
	{"an entry, through a parameter", `var V = map[string]string{}` + "\nfunc VSet(s string) { VIn(V, s) }\nfunc VIn(m map[string]string, s string) { m[\"a\"] = s }", `V["a"]`, false},
	{"an entry, by another package", `var V = map[string]string{}` + "\nfunc VSet(m map[string]string) { maps.Copy(V, m) }", `V["a"]`, false},
	{"an entry, by a method", `type VMap map[string]string` + "\nvar V = VMap{}\nfunc (m VMap) set(s string) { m[\"a\"] = s }\nfunc VSet(s string) { V.set(s) }", `V["a"]`, false},
	{"an entry, by a method value", `type VMap map[string]string` + "\nvar V = VMap{}\nfunc (m VMap) set(s string) { m[\"a\"] = s }\nfunc VSetter() func(string) { return V.set }", `V["a"]`, false},
	{"deleted from", `var V = map[string]string{"a": "x"}` + "\nfunc VSet() { delete(V, \"a\") }", `V["a"]`, false},
	{"cleared", `var V = map[string]string{"a": "x"}` + "\nfunc VSet() { clear(V) }", `V["a"]`, false},
	{"returned", `var V = map[string]string{"a": "x"}` + "\nfunc VAll() map[string]string { return V }", `V["a"]`, false},
	{"kept", `var V = map[string]string{"a": "x"}` + "\nvar VKept map[string]string\nfunc VKeep() { VKept = V }", `V["a"]`, false},
	{"kept in a struct", `var V = map[string]string{"a": "x"}` + "\ntype VType struct{ m map[string]string }\nfunc VKeep() *VType { return &VType{V} }", `V["a"]`, false},
	{"kept as an interface", `var V = map[string]string{"a": "x"}` + "\nfunc VKeep() any { return V }", `V["a"]`, false},
	{"kept by a literal", `var V = map[string]string{"a": "x"}` + "\nfunc VKeep() func(string) { m := V; return func(s string) { m[\"a\"] = s } }", `V["a"]`, false},
	{"sent", `var V = map[string]string{"a": "x"}` + "\nfunc VSend(c chan map[string]string) { c <- V }", `V["a"]`, false},
	{"shared with another variable", `var V = VOther` + "\nvar VOther = []string{\"x\"}", `V[0]`, false},
	{"its value is kept by others", `var VFrom = map[string]string{"a": "x"}` + "\nvar V = VFrom\nfunc VSet(s string) { VFrom[\"a\"] = s }", `V["a"]`, false},
	{"its value is that of a function", `var VFrom = map[string]string{"a": "x"}` + "\nfunc VGet() map[string]string { return VFrom }\nvar V = VGet()\nfunc VSet(s string) { VFrom[\"a\"] = s }", `V["a"]`, false},

	{"a field", `var V struct{ a string }` + "\nfunc VSet(s string) { V.a = s }", `V.a`, false},
	{"a field of a field", `var V struct{ in struct{ a string } }` + "\nfunc VSet(s string) { V.in.a = s }", `V.in.a`, false},
	{"the address of a field", `var V struct{ a string }` + "\nfunc VAt() *string { return &V.a }", `V.a`, false},
	{"a field through a pointer", `type VType struct{ a string }` + "\nvar V = &VType{}\nfunc VSet(s string) { V.a = s }", `V.a`, false},
	{"a field through its address", `type VType struct{ a string }` + "\nvar VIn VType\nvar V = &VIn\nfunc VSet(s string) { VIn.a = s }", `V.a`, false},
	{"all through a pointer", `type VType struct{ a string }` + "\nvar V = &VType{}\nfunc VSet(t VType) { *V = t }", `V.a`, false},
	{"a method with a pointer", `type VType struct{ a string }` + "\nvar V VType\nfunc (t *VType) set(s string) { t.a = s }\nfunc VSet(s string) { V.set(s) }", `V.a`, false},
	{"a method of a pointer", `type VType struct{ a string }` + "\nvar V = &VType{}\nfunc (t *VType) set(s string) { t.a = s }\nfunc VSet(s string) { V.set(s) }", `V.a`, false},
	{"a pointer that is handed out", `type VType struct{ a string }` + "\nvar V = &VType{}\nfunc VGet() *VType { return V }", `V.a`, false},

	{"an element", `var V = []string{"x"}` + "\nfunc VSet(s string) { V[0] = s }", `V[0]`, false},
	{"an element of an array", `var V = [2]string{"x"}` + "\nfunc VSet(s string) { V[0] = s }", `V[0]`, false},
	{"an element of a part", `var V = []string{"x"}` + "\nfunc VSet(s string) { V[:1][0] = s }", `V[0]`, false},
	{"a part that is handed out", `var V = [2]string{"x"}` + "\nfunc VGet() []string { return V[:] }", `V[0]`, false},
	{"the address of an element", `var V = []string{"x"}` + "\nfunc VAt() *string { return &V[0] }", `V[0]`, false},
	{"appended to", `var V = []string{"x"}` + "\nfunc VSet(s string) { V = append(V, s) }", `V[0]`, false},
	{"appended to a part", `var V = []string{"x"}` + "\nfunc VSet(s string) []string { return append(V[:0], s) }", `V[0]`, false},
	{"copied to", `var V = []string{"x"}` + "\nfunc VSet(l []string) { copy(V, l) }", `V[0]`, false},
	{"sorted", `var V = []string{"x", "a"}` + "\nfunc VSet() { slices.Sort(V) }", `V[0]`, false},
	{"a field of an element", `var V = []struct{ a string }{{"x"}}` + "\nfunc VSet(s string) { V[0].a = s }", `V[0].a`, false},
	{"ranged over pointers", `type VType struct{ a string }` + "\nvar V = []*VType{{\"x\"}}\nfunc VSet(s string) { for _, t := range V { t.a = s } }", `V[0].a`, false},
	{"linked", "//go:linkname V\n" + `var V = "x"`, `V`, false},
}

// Rules that keep what a function returns ask whether the variables that it reads ever change: for every way to write to one, and every such
// rule, there is a function that reads it. The costs are on the lines that the rules look at.
func TestStateThatChanges(t *testing.T) {
	for rule, of := range map[string]string{
		"constant-call": "func VOf(k string) string { return strings.ToUpper(k + READ) }\n\n" +
			"func VUse(s string) string {\n\treturn s + VOf(\"k\") // cost: main.VOf strings.ToUpper\n}\n",
		"recomputed-value": "type VHost struct{ host string }\n\nfunc VOf(h string) string { return strings.ToUpper(h + READ) }\n\n" +
			"func (r *VHost) is(h string) bool {\n\treturn VOf(r.host) == h // cost: main.VOf strings.ToUpper\n}\n\nfunc VUse(s string) string { return fmt.Sprint((&VHost{host: s}).is(s)) }\n",
		"fields-per-call": "func VOf(t reflect.Type) []string {\n\tout := []string{READ}\n\tfor i := range t.NumField() {\n\t\tout = append(out, t.Field(i).Name) // cost: reflect.(*rtype).Field\n\t}\n\treturn out\n}\n\n" +
			"func VUse(s string) string { return VOf(reflect.TypeOf(struct{ a int }{}))[0] }\n",
	} {
		t.Run(rule, func(t *testing.T) {
			var b strings.Builder
			b.WriteString("package main\n\nimport (\n\t\"fmt\"\n\t\"maps\"\n\t\"reflect\"\n\t\"slices\"\n\t\"strconv\"\n\t\"strings\"\n\t_ \"unsafe\"\n)\n\nvar _, _, _, _, _, _ = fmt.Sprint, maps.Keys[map[int]int], reflect.TypeOf, slices.Sort[[]int], strconv.Itoa, strings.ToUpper\n\n")
			main := "func main() {\n\tfor range 2 {\n"
			for i, w := range ways {
				v := fmt.Sprintf("v%02d", i)
				text := w.decls + "\n\n" + strings.ReplaceAll(of, "READ", w.read) + "\n"
				b.WriteString(strings.ReplaceAll(text, "V", v))
				main += "\t\tprintln(" + v + "Use(\"s\"))\n"
			}
			b.WriteString(main + "\t}\n}\n")
			src := b.String()
			found := adviseAll(t, src)
			for i, w := range ways {
				from := lineOf(src, fmt.Sprintf("func v%02dOf(", i))
				to := from + strings.Count(of, "\n")
				told := slices.ContainsFunc(found, func(f report.Finding) bool {
					return f.Rule == rule && f.Where.Line >= from && f.Where.Line <= to
				})
				if told != w.quiet {
					t.Errorf("%s: told: %v; want %v", w.name, told, w.quiet)
				}
			}
		})
	}
}

// Patterns of regular expressions are those of their variables only where nothing gives the variables others.
func TestPatternsThatChange(t *testing.T) {
	cases := []written{
		{"never", `var V = regexp.MustCompile(PATTERN)`, "", true},
		{"never, and handed on", `var V = regexp.MustCompile(PATTERN)` + "\nfunc VGet() *regexp.Regexp { return V }", "", true},
		{"assigned", `var V = regexp.MustCompile(PATTERN)` + "\nfunc VSet() { V = regexp.MustCompile(`y+`) }", "", false},
		{"assigned in init", `var V = regexp.MustCompile(PATTERN)` + "\nfunc init() { V = regexp.MustCompile(`y+`) }", "", false},
		{"assigned through its address", `var V = regexp.MustCompile(PATTERN)` + "\nfunc VAt() **regexp.Regexp { return &V }", "", false},
		{"all of it", `var V = regexp.MustCompile(PATTERN)` + "\nfunc VSet(re *regexp.Regexp) { *V = *re }", "", false},
		{"ranged over with", `var V = regexp.MustCompile(PATTERN)` + "\nfunc VSet(l []*regexp.Regexp) { for _, V = range l {} }", "", false},
		{"linked", "//go:linkname V\nvar V = regexp.MustCompile(PATTERN)", "", false},
	}
	for rule, of := range map[string][2]string{
		"plain-regexp":       {"`abc`", "func VUse(s string) bool {\n\treturn V.MatchString(s) // cost: regexp.(*Regexp).MatchString\n}\n"},
		"nothing-to-replace": {"`a+b`", "func VUse(s string) bool {\n\ts = V.ReplaceAllString(s, \"c\") // cost: regexp.(*Regexp).ReplaceAllString\n\treturn s == \"\"\n}\n"},
	} {
		t.Run(rule, func(t *testing.T) {
			text := "package main\n\nimport (\n\t\"regexp\"\n\t_ \"unsafe\"\n)\n\n"
			main := "func main() {\n\tfor range 2 {\n"
			for i, w := range cases {
				v := fmt.Sprintf("v%02d", i)
				text += strings.ReplaceAll(strings.ReplaceAll(w.decls, "PATTERN", of[0])+"\n\n"+of[1]+"\n", "V", v)
				main += "\t\tprintln(" + v + "Use(\"s\"))\n"
			}
			src := text + main + "\t}\n}\n"
			found := adviseAll(t, src)
			for i, w := range cases {
				line := lineOf(src, fmt.Sprintf("func v%02dUse(", i)) + 1
				var told []report.Fix
				for _, f := range found {
					if f.Rule == rule && f.Where.Line == line {
						told = append(told, f.Fixes...)
					}
				}
				if got := len(told) > 0; got != w.quiet {
					t.Errorf("%s: patched: %v; want %v", w.name, got, w.quiet)
				}
			}
		})
	}
}
