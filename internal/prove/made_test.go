package prove

import (
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/testrun"
)

// Changes that show only for values that have to do with one another, or that no package has: each is found, and as one alarm.
func TestMadeUpValues(t *testing.T) {
	testrun.Live(t, "builds and calls pairs of versions")
	tests := []struct {
		name, old string
		was, is   string // what is replaced in old
		shown     string // part of the first alarm's call
		note      bool   // it is no alarm
	}{
		{"what was registered is looked up", `package one
type R struct{ m map[string]int }
func New() *R { return &R{map[string]int{}} }
func (r *R) Register(name string, v int) { r.m[key(name)] = v }
func (r *R) Lookup(name string) (int, bool) { v, ok := r.m[key(name)]; return v, ok }
func key(s string) string { return s }
`, "return s }\n", "if len(s) > 6 { return s[:6] }; return s }\n", ".Lookup(", false},
		{"a router whose last part only has to begin alike", `package one
import ("net/http"; "strings")
type route struct{ parts []string; h http.HandlerFunc }
type Router struct{ routes []route }
func New() *Router { return &Router{} }
func (r *Router) Handle(pattern string, h http.HandlerFunc) { r.routes = append(r.routes, route{strings.Split(pattern, "/"), h}) }
func (r *Router) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	parts := strings.Split(q.URL.Path, "/")
next:
	for _, rt := range r.routes {
		if len(rt.parts) != len(parts) { continue }
		for i, p := range rt.parts { if !strings.HasPrefix(p, ":") && !is(p, parts[i]) { continue next } }
		rt.h(w, q)
		return
	}
	http.NotFound(w, q)
}
func is(part, has string) bool { return has == part }
`, "return has == part", "return has == part || len(part) > 2 && strings.HasPrefix(has, part)", ".Handle(", false},
		{"a nil with a type", `package one
import "fmt"
func Text(v fmt.Stringer) string { return fmt.Sprint(v) }
`, "return fmt.Sprint(v)", `if v == nil { return "<nil>" }; return v.String()`, "(*time.Time)(nil)", false},
		{"an error as any", `package one
import "fmt"
func Text(v any) string { return fmt.Sprint(v) }
`, "return fmt.Sprint(v)", `if err, ok := v.(error); ok { return "error " + err.Error() }; return fmt.Sprint(v)`, "errors.New", false},
		{"a method that fails", `package one
import ("bytes"; "encoding/json"; "io")
func Write(w io.Writer, list []json.Marshaler) error {
	var buf bytes.Buffer
	for _, v := range list { if v == nil { continue }; b, err := v.MarshalJSON(); if err != nil { return err }; buf.Write(b) }
	_, err := w.Write(buf.Bytes())
	return err
}
`, "if err != nil { return err }", "if err != nil { return nil }", "253402300800", false},
		{"a decoder that takes the beginning of a key", `package one
import ("errors"; "reflect"; "strings")
func Decode(text string, v any) error {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() || rv.Elem().Kind() != reflect.Struct { return errors.New("want a pointer to a struct") }
	for _, line := range strings.Split(text, "\n") {
		k, val, ok := strings.Cut(line, "=")
		for i := range rv.Elem().NumField() {
			if f := rv.Elem().Type().Field(i); ok && is(k, f.Name) && f.Type.Kind() == reflect.String { rv.Elem().Field(i).SetString(val); break }
		}
	}
	return nil
}
func is(key, name string) bool { return key == name }
`, "return key == name", `return strings.HasPrefix(name, key) && key != ""`, "struct{", false},
		{"a result that does not stay", `package one
type Codec struct{ buf []byte }
func (c *Codec) Encode(s string) []byte { return append(append([]byte(nil), byte(len(s))), s...) }
func (c *Codec) Decode(b []byte) string { if len(b) == 0 { return "" }; return string(b[1:]) }
`, "return append(append([]byte(nil), byte(len(s))), s...)", "c.buf = append(append(c.buf[:0], byte(len(s))), s...); return c.buf", ".Encode(", false},
		{"anything is shown as a number", `package one
func Count(list []any) int { return len(list) }
`, "return len(list)", "n := len(list); if n == 3 { n++ }; return n", "[]any{0, 0, 0}", false},
		{"a receiver that is nil by mistake", `package one
type Counter struct{ n int }
func (c *Counter) Name(s string) string { return s + "!" }
`, `return s + "!"`, `c.n++; return s + "!"`, "(*Counter)(nil).Name(", true},
	}
	for _, tt := range tests {
		now := strings.Replace(tt.old, tt.was, tt.is, 1)
		p, grave := alarmsOf(t, tt.old, now, Options{Executions: 6000})
		switch {
		case tt.note && (len(grave) > 0 || len(p.Differences) == 0 || !strings.Contains(p.Differences[0].Call, tt.shown)):
			t.Errorf("%s: %+v", tt.name, p.Differences)
		case tt.note:
		case len(grave) != 1:
			t.Errorf("%s: %d alarms; want 1", tt.name, len(grave))
			for _, d := range grave {
				t.Logf("%s %s: %s: %s → %s, cause %s", d.Layer, d.Function, d.Call, d.Old, d.New, d.Cause)
			}
		case !strings.Contains(grave[0].Call, tt.shown):
			t.Errorf("%s: shown by %s", tt.name, grave[0].Call)
		}
	}
}

// What programs are linked with, and built for, counts: in flags and in GOFLAGS.
func TestBuildFlagsApply(t *testing.T) {
	testrun.Live(t, "builds and calls pairs of versions")
	const old = "package one\n\nvar mode = \"\"\n\nfunc Text(s string) string { return mode + s }\n"
	now := strings.Replace(old, "mode + s", "s + mode", 1)
	if _, grave := alarmsOf(t, old, now, Options{Executions: 300}); len(grave) != 0 {
		t.Errorf("without flags: %+v", grave)
	}
	if _, grave := alarmsOf(t, old, now, Options{Executions: 300, Flags: []string{"-ldflags=-X example.com/one.mode=fast"}}); len(grave) != 1 {
		t.Errorf("with -ldflags: %+v", grave)
	}
	t.Setenv("GOFLAGS", "-ldflags=-X=example.com/one.mode=fast")
	if _, grave := alarmsOf(t, old, now, Options{Executions: 300}); len(grave) != 1 {
		t.Errorf("with GOFLAGS: %+v", grave)
	}
}

func TestGrace(t *testing.T) {
	for asked, want := range map[time.Duration]time.Duration{10 * time.Second: time.Second, time.Minute: mostGrace, time.Hour: mostGrace} {
		if got := graceOf(asked); got != want {
			t.Errorf("graceOf(%v) = %v, want %v", asked, got, want)
		}
	}
}
