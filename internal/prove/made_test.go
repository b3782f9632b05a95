package prove

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/report"
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
func NewRouter() *Router { return &Router{} }
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
		{"a setting of what a function made, and characters of the code", `package one
type Parser struct { Comments bool; depth int }
func NewParser() *Parser { return &Parser{depth: 1} }
func (p *Parser) Parse(line string) (words []string) {
	quoted, any, word := false, false, ""
	for _, c := range line {
		switch {
		case c == '\'': quoted, any = !quoted, true
		case c == '#' && p.Comments && !quoted && !any: return words
		case c == ' ' && !quoted: if any { words = append(words, word) }; any, word = false, ""
		default: any, word = true, word + string(c)
		}
	}
	if any { words = append(words, word) }
	return words
}
`, "!quoted && !any", `!quoted && word == ""`, ".Comments = true", false},
		{"a text of as many characters of an alphabet as it takes", `package one
import "errors"
const (alphabet = "0123456789abcdefghijklmnopqrstuv"; size = 20)
func Parse(s string) (n byte, err error) {
	if len(s) != size { return 0, errors.New("length") }
	for i := range s { v := value(s[i]); if v < 0 { return 0, errors.New("character") }; n = n<<5 ^ byte(v) }
	return n, nil
}
func value(c byte) int { for i := range alphabet { if alphabet[i] == c { return i } }; return -1 }
`, "	return n, nil", `	if n&1 == 1 { return 0, errors.New("last") }; return n, nil`, "Parse(", false},
		{"a type from elsewhere that the code asks for", `package one
import ("encoding/json"; "fmt")
func Text(v any) string { if n, ok := v.(json.Number); ok { return n.String() }; return fmt.Sprint(v) }
`, "return n.String()", `return n.String() + "n"`, "json.Number(", false},
		{"a function that runs a program where it is told to", `package one
import "os/exec"
type Shell struct { Run bool }
func New(run bool) *Shell { return &Shell{run} }
func (s *Shell) Words(line string) int {
	n := 0
	for _, c := range line { if c == '$' && s.Run { exec.Command("false").Run() }; if c != ' ' { n++ } }
	return n
}
`, "c != ' '", "c > ' '", ".Words(", false},
		{"settings that only the package makes by a function", `package one
type Settings struct { Quote, Strict bool }
func newSettings() *Settings { return &Settings{} }
func (s *Settings) dup() *Settings { c := *s; return &c }
func Text(n int, s *Settings) int { if s == nil { s = newSettings() }; s = s.dup(); if s.Quote { n++ }; if s.Strict { n *= 2 }; return n }
`, "if s.Strict {", "if s.Strict && !s.Quote {", "Strict", false},
		{"a panic that is gone", `package one
import "strings"
func First(s string) string { return strings.Fields(s)[0] }
`, "return strings", `if strings.TrimSpace(s) == "" { return "" }; return strings`, `First("")`, false},
		{"a panic for a nil that a version asks for", `package one
type V struct{ n int }
func New(n int) *V { return &V{n} }
func (v *V) Less(o *V) bool { return v.n < o.n }
`, "return v.n", "if o == nil { return false }; return v.n", ".Less(nil)", false},
		{"a panic for a nil that nobody asks for", `package one
type V struct{ n int }
func New(n int) *V { return &V{n} }
func Sum(list []int, v *V) int { n := v.n; if len(list) == 0 { return 0 }; for _, x := range list { n += x }; return n }
`, "n := v.n; if len(list) == 0 { return 0 };", "if len(list) == 0 { return 0 }; n := v.n;", "Sum(", true},
		{"a panic for want of memory", `package one
func Make(n int) int { return len(make([]int, n)) }
`, "return len", "if n < 0 || n > 1<<40 { return n }; return len", "Make(", true},
		{"a header that is there twice, among others that have to be there", `package one
import ("net/http"; "strings")
func Serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodOptions || r.Header.Get("Origin") == "" || r.Header.Get("Access-Control-Request-Method") != "PUT" { return }
	w.Header().Set("Allow", strings.ToLower(r.Header.Get("Access-Control-Request-Headers")))
}
`, `strings.ToLower(r.Header.Get("Access-Control-Request-Headers"))`, `strings.ToLower(strings.Join(r.Header.Values("Access-Control-Request-Headers"), ","))`, "Serve(", false},
		{"a host with a port", `package one
import "net/http"
type Hosts struct{ name string }
func New(name string) *Hosts { return &Hosts{name} }
func (h *Hosts) Match(r *http.Request) bool { return r.Host == h.name }
`, "return r.Host == h.name", `return r.Host == h.name || h.name != "" && r.Host == h.name + ":80"`, ".Match(", false},
		{"an option in a tag", `package one
import ("fmt"; "reflect"; "strings")
func Text(v any) (out string) {
	rv := reflect.Indirect(reflect.ValueOf(v))
	if rv.Kind() != reflect.Struct { return "" }
	for i := range rv.NumField() {
		name, option, _ := strings.Cut(rv.Type().Field(i).Tag.Get("query"), ",")
		if name == "" || option == "omitzero" && rv.Field(i).IsZero() { continue }
		if option == "brackets" && rv.Field(i).Kind() == reflect.Slice && rv.Field(i).Len() == 0 { out += name + "[]"; continue }
		out += name + "=" + fmt.Sprint(rv.Field(i).Interface()) + "&"
	}
	return out
}
`, `out += name + "[]"; continue`, "continue", "brackets", false},
		{"what a test makes, sets and calls", `package one
import "strconv"
type Path struct{ parts []string; Strict bool }
func Open(s string) (*Path, error) { if len(s) < 4 || s[:4] != "p://" { return nil, strconv.ErrSyntax }; return &Path{parts: []string{s[4:]}}, nil }
func (p *Path) Find(doc string) int { if p.Strict && p.parts[0] == "key" && doc == "<key>v</key>" { return 1 }; return 0 }
-- tests --
package one
import "testing"
func TestFind(t *testing.T) {
	for _, tt := range []struct{ path, doc string; want int }{{"p://a", "<a>", 0}, {"p://key", "<key>v</key>", 1}} {
		p, err := Open(tt.path)
		if err != nil { t.Fatal(err) }
		p.Strict = true
		if got := p.Find(tt.doc); got < 0 { t.Error(got) }
	}
}
`, "return 1 }", "return 2 }", "Open(", false},
		{"a struct that a test passes", `package one
import "reflect"
func Keys(v any) int { t := reflect.TypeOf(v); if t == nil || t.Kind() != reflect.Struct || t.NumField() != 2 || t.Field(1).Name != "Zip" { return 0 }; return int(reflect.ValueOf(v).Field(1).Int()) }
-- tests --
package one
import "testing"
func TestKeys(t *testing.T) {
	type place struct { City string; Zip int }
	if Keys(place{"a", 3}) < 0 { t.Error() }
}
`, ".Int())", ".Int()) + 1", "Zip", false},
		{"a receiver that is nil by mistake", `package one
type Counter struct{ n int }
func (c *Counter) Name(s string) string { return s + "!" }
`, `return s + "!"`, `c.n++; return s + "!"`, "(*Counter)(nil).Name(", true},
	}
	if some := 3; !testrun.InNightly() {
		testrun.Left(t, t.Name(), fmt.Sprintf("builds and calls %d other pairs of versions", len(tests)-some))
		// These are files of one package: to build and call that takes little longer than one of them does.
		var old, now []string
		for _, tt := range tests[:some] {
			old, now = append(old, tt.old), append(now, strings.Replace(tt.old, tt.was, tt.is, 1))
		}
		_, grave := alarmsOf(t, strings.Join(old, nextFile), strings.Join(now, nextFile), Options{Executions: 6000})
		for _, tt := range tests[:some] {
			if n := len(slices.DeleteFunc(slices.Clone(grave), func(d report.Difference) bool { return !strings.Contains(d.Call, tt.shown) })); n != 1 {
				t.Errorf("%s: %d alarms; want 1", tt.name, n)
			}
		}
		if len(grave) != some {
			t.Errorf("%d alarms; want %d: %+v", len(grave), some, grave)
		}
		return
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			now := strings.Replace(tt.old, tt.was, tt.is, 1)
			p, grave := alarmsOf(t, tt.old, now, Options{Executions: 6000})
			switch {
			case tt.note && (len(grave) > 0 || len(p.Differences) == 0 || !strings.Contains(p.Differences[0].Call, tt.shown)):
				t.Errorf("%+v", p.Differences)
			case tt.note:
			case len(grave) != 1:
				t.Errorf("%d alarms; want 1", len(grave))
				for _, d := range grave {
					t.Logf("%s %s: %s: %s → %s, cause %s", d.Layer, d.Function, d.Call, d.Old, d.New, d.Cause)
				}
			case !strings.Contains(grave[0].Call, tt.shown):
				t.Errorf("shown by %s", grave[0].Call)
			}
		})
	}
}

// A condition that was true in every call leaves something open, where nothing else does.
func TestOneOutcome(t *testing.T) {
	testrun.Live(t, "builds and calls pairs of versions")
	const old = `package one
func Size(list []byte) int { n := len(list); if n >= 0 { n++ }; return n }
func Kind(n uint8) string { switch { case n < 9: return "few"; case n < 255: return "many" }; return "most" }
`
	for was, want := range map[string]string{"n++": "a condition was true in every call: Size (line 2)", `"few"`: ""} {
		is := map[string]string{"n++": "n += 1", `"few"`: `"f"+"ew"`}[was]
		now := strings.Replace(old, was, is, 1)
		p, grave := alarmsOf(t, old, now, Options{Executions: 6000})
		if len(grave) > 0 || textsOf(p.Doubts) != want {
			t.Errorf("%s: %q; want %q; %+v", was, p.Doubts, want, grave)
		}
	}
}

// What programs are linked with, and built for, counts: in flags and in GOFLAGS.
func TestBuildFlagsApply(t *testing.T) {
	testrun.Nightly(t, "builds and calls three pairs of versions; go_flags of TestScript has one")
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

// What is an answer only of how the code is written down is no alarm.
func TestHarmless(t *testing.T) {
	testrun.Nightly(t, "builds and calls pairs of versions")
	for _, tt := range []struct{ name, old, was, is string }{
		{"an option more, in what is logged", `package one
import ("fmt"; "io")
type Options struct { Name string; On bool }
type Server struct { log io.Writer; name string }
func New(w io.Writer, o Options) *Server { s := &Server{w, o.Name}; return s }
func (s *Server) Logf(format string, args ...any) { fmt.Fprintf(s.log, format+"%v", args) }
`, "Name string; On bool", "Name string; On bool; Limit int"},
		{"the version of the package", `package one
func Version() string { return "1.2.0" }
func Double(n int) int { return n * 2 }
`, "1.2.0", "1.3.0"},
	} {
		if _, grave := alarmsOf(t, tt.old, strings.ReplaceAll(tt.old, tt.was, tt.is), Options{Executions: 2000}); len(grave) > 0 {
			t.Errorf("%s: %+v", tt.name, grave)
		}
	}
}

// What tests of the new version set, and the old one does not have, is not held against the change.
func TestAnOptionMore(t *testing.T) {
	testrun.Live(t, "builds and calls a pair of versions")
	const old = `package one
type Options struct { Name string }
type Server struct { o Options }
func New(o Options) *Server { return &Server{o} }
func (s *Server) Text(n int) string { return s.o.Name }
-- tests --
package one
import "testing"
func TestText(t *testing.T) { s := New(Options{Name: "a"}); if s.Text(5) == "" { t.Error() } }
`
	now := strings.NewReplacer("{ Name string", "{ Name string; Loud bool", "return s.o", `if s.o.Loud { return "!" }; return s.o`, `Name: "a"`, `Name: "a", Loud: true`).Replace(old)
	if _, grave := alarmsOf(t, old, now, Options{Executions: 2000}); len(grave) > 0 {
		t.Errorf("%+v", grave)
	}
}

// Calls end in front of what stays: in the function that was asked for, in others of the package, and in goroutines.
func TestCallsAreEnded(t *testing.T) {
	testrun.Live(t, "builds and calls a pair of versions")
	file := filepath.Join(t.TempDir(), "made")
	old := `package one
import ("os"; "sync")
func Save(on bool, n int) int { if on { os.WriteFile("FILE", nil, 0o600) }; return n * 2 }
func Deep(n int) int { if n > 3 { defer func() { recover() }(); keep() }; return n + n }
func Beside(n int) int {
	var wg sync.WaitGroup
	if n > 3 { wg.Add(1); go func() { defer wg.Done(); keep() }() }
	wg.Wait()
	return n * 2
}
func keep() { for range 1 { write("FILE", nil, 0o600) } }
var write = os.WriteFile
func Gone(n int) error { return os.Remove("FILE") }
`
	old = strings.ReplaceAll(old, "FILE", file)
	now := strings.ReplaceAll(old, "return n * 2", "return n + n")
	now = strings.ReplaceAll(now, "return n + n }", "return n * 2 }")
	p, grave := alarmsOf(t, old, strings.ReplaceAll(now, "Gone(n int) error {", "Gone(n int) (err error) {"), Options{Executions: 600})
	if len(grave) > 0 {
		t.Errorf("%+v", grave)
	}
	if _, err := os.Stat(file); err == nil {
		t.Errorf("a call wrote %s", file)
	}
	for _, f := range p.Functions {
		if f.Name == "Gone" && (f.Executions > 0 || !strings.Contains(f.Why, "os.Remove")) || f.Name != "Gone" && f.Name != "keep" && f.Executions == 0 {
			t.Errorf("%s was called %d times: %q", f.Name, f.Executions, f.Why)
		}
	}
}

func textsOf(doubts []report.Doubt) string {
	var texts []string
	for _, d := range doubts {
		texts = append(texts, d.Text)
	}
	return strings.Join(texts, "; ")
}
