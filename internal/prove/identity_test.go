package prove

import (
	"go/types"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hone-perf/hone/internal/report"
)

// unpack writes the files of an archive into a new folder.
func unpack(t *testing.T, archive string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		write(t, filepath.Join(dir, f.Name), f.Data)
	}
	return dir
}

// tried returns what is told about each function, by its name.
func tried(p *report.Proof) map[string]report.Tried {
	out := make(map[string]report.Tried)
	for _, f := range p.Functions {
		out[f.Name] = f
	}
	return out
}

// What only the spelling of a type differs in is compared, and what has another type is not.
func TestSameTypesAreCompared(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and calls two versions of a package")
	}
	dir := unpack(t, sameTypes)
	p := proveIn(t, dir, "old", "new", Options{Executions: 50, Time: time.Hour, NoTests: true})
	got := tried(p)
	for name, f := range got {
		switch other := strings.HasPrefix(name, "Other"); {
		case other && f.Why != "the types of its parameters or results changed" && !strings.HasPrefix(f.Why, "type Kind changed"):
			t.Errorf("%s was compared: %+v", name, f)
		case !other && f.Executions == 0:
			t.Errorf("%s was not compared: %q", name, f.Why)
		}
	}
	for _, name := range []string{
		"ResultName", "ParamName", "Any", "FuncParam", "NamedFunc", "Alias", "Generic", "(*List).Add", "Fields", "Lower", "Sub", "Interface", "Handler",
		"OtherResult", "OtherFunc", "OtherConstraint", "OtherKind",
	} {
		if _, ok := got[name]; !ok {
			t.Errorf("nothing is told about %s", name)
		}
	}
	for _, d := range p.Differences {
		t.Errorf("%+v", d)
	}
}

const sameTypes = `
-- go.mod --
module example.com/types

go 1.26
-- old/sub/sub.go --
package sub

type Point struct{ X, Y int }
-- new/sub/sub.go --
package sub

type Point struct{ X, Y int }
-- old/types.go --
package types

import (
	"net/http"

	"example.com/types/old/sub"
)

type Func func(s string) error

type Kind int

type Visitor interface {
	Visit(name string) (n int)
	Leave()
}

type List[T interface{}] struct{ items []T }

func (l *List[T]) Add(item T) int { l.items = append(l.items, item); return len(l.items) }

type Entry struct {
	Key  string
	Data interface{}
	Each func(n int) bool
}

func ResultName(s string) error                       { return nil }
func ParamName(s string, n int) int                   { return len(s) + n }
func Any(v interface{}, list ...interface{}) bool     { return v == nil && len(list) == 0 }
func FuncParam(f func(s string) bool) bool            { return f("a") }
func NamedFunc(f Func) error                          { return f("a") }
func Alias(m map[string]string, b []byte) int         { return len(m) + len(b) }
func Generic[T interface{}](list []T) int             { return len(list) }
func Fields(e Entry) string                           { return e.Key }
func Lower(p struct{ A, B int }) int                  { return p.A + p.B }
func Sub(p sub.Point) int                             { return p.X + p.Y }
func Interface(v Visitor) bool                        { return v == nil }
func Handler(w http.ResponseWriter, r *http.Request)  { w.WriteHeader(204) }
func OtherResult(s string) error                      { return nil }
func OtherFunc(f func(s string) bool) bool            { return f("a") }
func OtherConstraint[T ~int](n T) int                 { return int(n) }
func OtherKind(c chan Kind)                           {}
-- new/types.go --
package types

import (
	"net/http"

	"example.com/types/new/sub"
)

type Func func(name string) (err error)

type Kind string

type Visitor interface {
	Leave()
	Visit(string) int
}

type List[E any] struct{ items []E }

func (list *List[E]) Add(e E) (n int) { list.items = append(list.items, e); n = len(list.items); return n }

type Entry struct {
	Key  string
	Data any
	Each func(int) bool
}

type Strings = map[string]string

func ResultName(s string) (err error)                    { return err }
func ParamName(text string, more int) int                { return more + len(text) }
func Any(value any, rest ...any) bool                    { return len(rest) == 0 && value == nil }
func FuncParam(less func(string) (ok bool)) bool         { ok := less("a"); return ok }
func NamedFunc(f Func) (err error)                       { err = f("a"); return err }
func Alias(m Strings, b []uint8) int                     { return len(b) + len(m) }
func Generic[E any](list []E) (n int)                    { n = len(list); return n }
func Fields(e Entry) (s string)                          { s = e.Key; return s }
func Lower(pair struct{ A, B int }) int                  { return pair.B + pair.A }
func Sub(q sub.Point) int                                { return q.Y + q.X }
func Interface(v Visitor) (none bool)                    { none = v == nil; return none }
func Handler(w http.ResponseWriter, req *http.Request)   { w.WriteHeader(http.StatusNoContent) }
func OtherResult(s string) (int, error)                  { return 0, nil }
func OtherFunc(f func(s string) int) bool                { return f("a") > 0 }
func OtherConstraint[T ~int | ~int8](n T) int            { return int(n) }
func OtherKind(c chan Kind)                              { _ = c }
`

// TestTypesHaveOneName checks that a type with two spellings, such as []any, is only once among those that an interface may hold: names are compared.
func TestTypesHaveOneName(t *testing.T) {
	for language, want := range map[string]string{"1.17": "interface{}", "1.18": "any"} {
		dir := t.TempDir()
		code := "package one\n\nfunc Kept(v interface{}) interface{} { return v }\n"
		for side, body := range map[string]string{"old": code, "new": strings.Replace(code, "return v", "w := v; return w", 1)} {
			write(t, filepath.Join(dir, side, "go.mod"), []byte("module example.com/one\n\ngo "+language+"\n"))
			write(t, filepath.Join(dir, side, "one.go"), []byte(body))
			write(t, filepath.Join(dir, side, "one_test.go"), []byte(`package one

import "testing"

func TestKept(t *testing.T) {
	for _, v := range []interface{}{[]interface{}{1}, map[string]interface{}{"a": 1}, []`+want+`{2}, map[string][]`+want+`{"b": nil}, map[string][]interface{}{}} {
		Kept(v)
	}
}
`))
		}
		s := surfaceOf(t, dir)
		for name, a := range s.types {
			for other, b := range s.types {
				if name < other && types.Identical(a, b) {
					t.Errorf("go %s: %s and %s are one type", language, name, other)
				}
			}
		}
		for _, name := range []string{"[]" + want, "map[string]" + want} {
			if s.types[name] == nil {
				t.Errorf("go %s: there is no %s", language, name)
			}
		}
	}
}
