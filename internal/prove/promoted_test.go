package prove

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/testrun"
)

// Which methods of embedded types are called: those that both versions have, and that may be called by themselves.
func TestPromotedMethods(t *testing.T) {
	const (
		old = `package one

import ("bytes"; "context"; "net/http"; "os"; "strings"; "sync"; "text/tabwriter"; "math/big"; "example.com/one/sub")

type base struct{ n int }
func (b *base) Add(n int) { b.n += n }
func (b base) Sum() int { return b.n }
func (b *base) Gone() error { return os.Remove("x") }
func (b *base) Saves(on bool) { if on { os.WriteFile("x", nil, 0o600) } }
func (b *base) hidden(s string) int { return len(s) }
func (b *base) Other(n int) int { return n }
func (b *base) Takes(n int) int { return n }
func (b *base) Moves() int { return b.n }
func (b *base) Twice() int { return 2 * b.n }

type second struct{ n int }
func (s *second) Twice() int { return s.n }

type Store interface { Get(key string) string; Gone() error }

type Value struct{ base; m sync.Mutex }
func (v *Value) Other(n int) int { return n }
func (v *Value) Moves() int { return v.n }
type Pointer struct{ *base }
func NewPointer() *Pointer { return &Pointer{&base{}} }
type Nil struct{ *base }
type Inside struct{ Nil }
type Deep struct{ Value }
type Both struct{ base; second }
type Locks struct{ sync.Mutex; http.ResponseWriter; context.Context; error }
type Buffers struct{ bytes.Buffer; *strings.Builder }
type Holds struct{ Store }
type Elsewhere struct{ strings.Replacer }
type Many struct{ *big.Int }
type Stays struct{ sub.Files }
type Widens struct{ tabwriter.Writer }
type List[T any] struct{ items[T] }
type items[T any] struct{ all []T }
func (i *items[T]) Append(v T) int { i.all = append(i.all, v); return len(i.all) }
type Alias = Value
`
		want = "Both.Add Both.Moves Both.Other Both.Saves Both.Sum Both.hidden " +
			"Deep.Add Deep.Moves Deep.Other Deep.Saves Deep.Sum Deep.Twice Deep.hidden " +
			"Elsewhere.Replace Holds.Get List.Append " +
			"Pointer.Add Pointer.Moves Pointer.Other Pointer.Saves Pointer.Sum Pointer.Twice Pointer.hidden " +
			"Stays.Len Value.Add Value.Moves Value.Saves Value.Sum Value.Twice Value.hidden Widens.Flush Widens.Write"
	)
	now := strings.NewReplacer("Takes(n int) int { return n", "Takes(s string) int { return len(s)", "func (v *Value) Moves() int { return v.n }\n", "").Replace(old)
	dir := t.TempDir()
	for v, text := range map[string]string{"old": old, "new": now} {
		write(t, filepath.Join(dir, v, "go.mod"), []byte("module example.com/one\n\ngo 1.26\n"))
		write(t, filepath.Join(dir, v, "one.go"), []byte(text))
		write(t, filepath.Join(dir, v, "sub", "sub.go"), []byte("package sub\n\nimport \"os\"\n\ntype Files struct{ n int }\n\nfunc (f *Files) Len() int { return f.n }\nfunc (f *Files) Drop() { f.drop() }\nfunc (f *Files) drop() { os.RemoveAll(\"x\") }\n"))
	}
	s := surfaceOf(t, dir)
	s.refuses = true
	s.addPromoted()
	var got []string
	for _, e := range s.entries {
		if e.outer == "" {
			continue
		}
		got = append(got, e.outer)
		if !slices.Contains(s.methods[s.baseKey(e.params[0])], e) {
			t.Errorf("%s is not called on its receiver", e.outer)
		}
		if refuses := strings.HasSuffix(e.outer, ".Saves"); e.refuses != refuses {
			t.Errorf("%s: some of its calls are ended: %v", e.outer, e.refuses)
		}
	}
	slices.Sort(got)
	if text := strings.Join(got, " "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	work := t.TempDir()
	if _, left, err := s.build(t.Context(), s.new, work, layoutHere); err != nil || len(left) > 0 {
		t.Errorf("left out are %v, %v", left, err)
	}
}

// A method of an embedded type is called where a type that embeds it needs that, and where it needs the type itself; and as tests call it.
func TestEmbeddedTypesDiffer(t *testing.T) {
	testrun.Live(t, "builds and calls a pair of versions")
	cases := []struct{ name, old, was, is, shown string }{
		{"what is added through an embedded type", `package one
import "strings"
type Group struct{ routes *[]string }
func (g *Group) Add(path string) { *g.routes = append(*g.routes, path) }
type Mux struct { Group; list []string }
func NewMux() *Mux { m := &Mux{}; m.routes = &m.list; return m }
func (m *Mux) Find(prefix string) (n int) { for _, r := range m.list { if strings.HasPrefix(r, prefix) { n++ } }; return n }
`, "n++", "n += 2", ".Add("},
		{"an embedded type that does nothing by itself", `package one
type node struct{ up map[string]int }
func (n *node) Level(key string) int { if n.up == nil { return 0 }; return n.up["top"] + len(key) }
type Tree struct { *node; name string }
func NewTree(name string) *Tree { return &Tree{&node{map[string]int{"top": 7}}, name} }
`, "+ len(key)", "- len(key)", "NewTree("},
		{"the parameters of a route", `package one
import ("net/http"; "strings")
type Routes struct { list *[]*entry }
type entry struct { method string; parts []string; last map[string]string }
func (r Routes) Post(path string, h http.HandlerFunc) { if !strings.HasPrefix(path, "/") { panic(path) }; *r.list = append(*r.list, &entry{method: "POST", parts: strings.Split(path, "/")}) }
type Router struct { Routes; all []*entry }
func NewRouter() *Router { r := &Router{}; r.list = &r.all; return r }
func (r *Router) Params(q *http.Request) map[string]string {
	parts := strings.Split(q.URL.Path, "/")
next:
	for _, e := range r.all {
		if q.Method != e.method || len(parts) != len(e.parts) { continue }
		for i, p := range e.parts { if !strings.HasPrefix(p, ":") && p != parts[i] { continue next } }
		out := e.params()
		for i, p := range e.parts { if strings.HasPrefix(p, ":") { out[p] = parts[i] } }
		return out
	}
	return nil
}
func (e *entry) params() map[string]string { return make(map[string]string) }
`, "return make(map[string]string) }", "if e.last == nil { e.last = make(map[string]string) }; return e.last }", ".Post("},
		{"what a test calls", `package one
type part struct{ words []string }
func (p *part) Say(s string) { p.words = append(p.words, s) }
type Talk struct{ part }
func Open() *Talk { return &Talk{} }
func (t *Talk) Last(n int) string { if len(t.words) == 3 && t.words[0] == "knock" && t.words[2] == "who's there?" { return t.words[1] }; return "" }
-- tests --
package one
import "testing"
func TestLast(t *testing.T) { v := Open(); v.Say("knock"); v.Say("knock"); v.Say("who's there?"); if v.Last(2) == "" { t.Error() } }
`, "return t.words[1] }", "return t.words[2] }", ".Say("},
		{"what only the package can call, and all its callers changed with", `package one
type scale struct{}
func (scale) times(n int16) int { return int(n) }
type Meter struct{ scale }
func (m *Meter) Twice(n int16) int { return m.times(n) * 2 }
`, "int(n) }", "2 * int(n) }", ""},
	}
	var old, now []string
	tests := ""
	for _, tt := range cases {
		text, rest, _ := strings.Cut(tt.old, "-- tests --\n")
		old, now = append(old, text), append(now, strings.Replace(strings.Replace(text, tt.was, tt.is, 1), "m.times(n) * 2", "m.times(n)", 1))
		tests += rest
	}
	end := "-- tests --\n" + tests
	_, grave := alarmsOf(t, strings.Join(old, nextFile)+end, strings.Join(now, nextFile)+end, Options{Executions: 6000})
	for _, tt := range cases[:len(cases)-1] {
		if n := len(slices.DeleteFunc(slices.Clone(grave), func(d report.Difference) bool { return !strings.Contains(d.Call, tt.shown) })); n != 1 {
			t.Errorf("%s: %d alarms; want 1", tt.name, n)
		}
	}
	for _, d := range grave {
		if strings.HasSuffix(d.Function, ").Level") && len(d.Also) > 0 {
			t.Errorf("%s is one method, and also in %q", d.Function, d.Also)
		}
	}
	if want := len(cases) - 1; len(grave) != want {
		t.Errorf("%d alarms; want %d: %+v", len(grave), want, grave)
	}
}
