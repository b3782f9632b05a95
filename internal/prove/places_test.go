package prove

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/testrun"
)

// Where code and data lie, on which lines, in which frames and goroutines, and what only the package can name, is no difference; what
// stands beside it is one.
func TestPlacesAreNoDifference(t *testing.T) {
	testrun.Nightly(t, "builds and calls two versions of a package")
	p := proveIn(t, unpack(t, placesOldNew), "old", "new", Options{Executions: 300, Time: time.Hour, NoTests: true, Strict: true})
	found := make(map[string]bool)
	for _, d := range p.Differences {
		found[d.Function] = true
		if !strings.HasPrefix(d.Function, "Real") {
			t.Errorf("%s %s: %s: %s → %s", d.Layer, d.Call, d.What, d.Old, d.New)
		}
	}
	for name, f := range tried(p) {
		// A number that goes by where code lies looks like any other. It is a doubt: see TestPlacesAlone.
		byPlace := (name == "Line" || name == "Digest") && f.Partly > 0
		if f.Executions == 0 && !byPlace && f.Changed && strings.ToUpper(name[:1]) == name[:1] {
			t.Errorf("%s was not compared in full, and in %d calls in part: %s", name, f.Partly, f.Why)
		}
		if strings.HasPrefix(name, "Real") && !found[name] {
			t.Errorf("no difference of %s was found", name)
		}
	}
}

// A result that is another one wherever the code lies is no difference and not compared, which is a doubt. What types hold that only one version has
// is no difference either, also where differences of texts count, and calls with it are compared.
func TestPlacesAlone(t *testing.T) {
	testrun.Live(t, "builds and calls two versions of a package")
	const (
		old = `package one

import (
	"io"
	"runtime"
	"strings"
)

func Line() int                 { _, _, line, _ := runtime.Caller(0); return line }
func Reader(s string) io.Reader { return io.NopCloser(strings.NewReader(s)) }
`
		now = `package one

import (
	"io"
	"runtime"
	"strings"
)

type readCloser struct{ io.Reader }

func (readCloser) Close() error { return nil }

func Reader(s string) io.Reader { return readCloser{strings.NewReader(s)} }

func Line() int {
	_, _, line, _ := runtime.Caller(0)
	return line
}
`
	)
	p, _ := alarmsOf(t, old, now, Options{Executions: 300, Strict: true})
	for _, d := range p.Differences {
		t.Errorf("%s %s: %s: %s → %s", d.Layer, d.Call, d.What, d.Old, d.New)
	}
	if f := tried(p)["Reader"]; f.Executions < 300 || f.Partly > 0 || f.Reached != f.Blocks {
		t.Errorf("Reader was not compared in each call: %+v", f)
	}
	if f := tried(p)["Line"]; f.Executions > 0 || f.Partly == 0 {
		t.Errorf("Line was compared, or not called: %+v", f)
	}
	if all := textsOf(p.Doubts); !strings.Contains(all, "not compared, since they vary from call to call of the old version: result of Line") {
		t.Errorf("doubts: %s", all)
	}
	if all := fmt.Sprint(p.Notes); strings.Contains(all, "Reader") {
		t.Errorf("notes: %s", all)
	}
}

// The type behind an interface that has methods is worth a note, unless the package shows that type.
func TestTypeBehindInterface(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and calls two versions of a package")
	}
	const (
		old = `package one

import (
	"io"
	"strings"
)

type Node interface{ Name() string }
type Leaf string
type Tree struct{ Text string }
type hidden string

func (l Leaf) Name() string   { return string(l) }
func (t *Tree) Name() string  { return t.Text }
func (h hidden) Name() string { return string(h) }

func Open(s string) io.Reader { return strings.NewReader(s) }
func Parse(s string) Node     { return Leaf(s) }
func Value(n int8) any        { return int(n) }
func Make(s string) Node      { return hidden(s) }
`
		now = `package one

import (
	"io"
	"strings"
)

type Node interface{ Name() string }
type Leaf string
type Tree struct{ Text string }
type secret struct{ text string }

func (l Leaf) Name() string    { return string(l) }
func (t *Tree) Name() string   { return t.Text }
func (s *secret) Name() string { return s.text }

type reader struct{ in *strings.Reader }

func (r reader) Read(p []byte) (int, error) { return r.in.Read(p) }

func Open(s string) io.Reader { return reader{strings.NewReader(s)} }
func Parse(s string) Node     { return &Tree{s} }
func Value(n int8) any        { return int64(n) }
func Make(s string) Node      { return &secret{s} }
`
	)
	p, _ := alarmsOf(t, old, now, Options{Executions: 300})
	got := make(map[string]string)
	for _, d := range p.Differences {
		if had := got[d.Function]; had == "" || d.Grave {
			got[d.Function] = map[bool]string{true: "alarm", false: "note"}[d.Grave]
		}
	}
	for name, want := range map[string]string{"Open": "note", "Parse": "alarm", "Value": "alarm", "Make": ""} {
		if got[name] != want {
			t.Errorf("of %s there is %q; want %q: %+v", name, got[name], want, p.Differences)
		}
	}
}

// The package has another name and another path in the new version, as when two folders of one module are compared.
const placesOldNew = `
-- go.mod --
module example.com/m

go 1.26
-- old/places.go --
package before

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"reflect"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

var table = [4]int{1, 2, 3, 4}

type Shape interface{ Area() int }

type square struct{ Side int }

func (s *square) Area() int { return s.Side * s.Side }

type Stack struct{ pcs []uintptr }

type Trace struct {
	PCs  []uintptr
	Note string
}

type Caller struct {
	File string
	Line int
}

type Held struct{ list []int }

func (h *Held) Len() int { return len(h.list) }

func Printed(v interface{}) string { return fmt.Sprint(v) }

func work(n int) int { return n + 1 }

func Pointer() string                 { return fmt.Sprintf("%p", work) }
func Funcs(n int) string              { return fmt.Sprint(work, &table, n) }
func Static() uintptr                 { return reflect.ValueOf(&table).Pointer() }
func Number() uint64                  { return uint64(reflect.ValueOf(work).Pointer()) }
func Decimal() string                 { return strconv.FormatUint(uint64(reflect.ValueOf(work).Pointer()), 10) }
func Digest() int                     { return int(reflect.ValueOf(work).Pointer() >> 4 % 1021) }
func Heap() string                    { return fmt.Sprint(new(int), &[]*int{new(int)}) }
func TypeText(n int) string           { return fmt.Sprintf("%T %v", &square{n}, Shape(&square{n}) == nil) }
func TypeOf() string                  { return reflect.TypeOf(square{}).String() + " " + reflect.TypeOf(Stack{}).PkgPath() }
func New(n int) Shape                 { return &square{n} }
func Reader(s string) io.Reader       { return io.NopCloser(strings.NewReader(s)) }
func Here() (string, int)             { _, file, line, _ := runtime.Caller(0); return file, line }
func Line() int                       { _, _, line, _ := runtime.Caller(0); return line }
func Where() string                   { _, file, line, _ := runtime.Caller(0); return fmt.Sprint(file, ":", line) }
func Logged(s string) string {
	var b bytes.Buffer
	log.New(&b, "", log.Lshortfile).Print(s)
	return b.String()
}
func Callers() []uintptr              { pcs := make([]uintptr, 32); return pcs[:runtime.Callers(1, pcs)] }
func Struct() Trace                   { return Trace{Callers(), "x"} }
func From() Caller                    { _, file, line, _ := runtime.Caller(0); return Caller{file, line} }
func Each(f func(pc uintptr, file string, line int) string) string {
	pc, file, line, _ := runtime.Caller(0)
	return f(pc, file, line)
}
func Frame(f func(runtime.Frame)) {
	frames := runtime.CallersFrames(Callers())
	for {
		frame, more := frames.Next()
		f(frame)
		if !more || strings.Contains(frame.Function, "Frame") {
			return
		}
	}
}
func Names() string                   { pc, _, _, _ := runtime.Caller(0); return runtime.FuncForPC(pc).Name() }
func Closure() string {
	return func() string { pc, _, _, _ := runtime.Caller(0); return runtime.FuncForPC(pc).Name() }()
}
func Debug() string                   { return string(debug.Stack()) }
func Goroutine() string               { return strings.Fields(string(debug.Stack()))[1] }
func Boom(n int) int                  { panic(fmt.Sprintf("at %p in %T", work, square{})) }
func Wrapped() error                  { return fmt.Errorf("%w of %T at %p", errors.New("no"), square{}, work) }
func RealAddress(n int) string        { return fmt.Sprintf("%p: %d", work, n) }
func RealLine(s string) string        { return Where() + " " + s }
func RealType(n int) Shape            { return &square{n} }
func RealColor(n int) string          { return fmt.Sprintf("0x%06x %d", 0x4a3b20, 412345678) }
func RealFile(s string) string        { return s + "places.go:12" }
-- new/more.go --
package after

import (
	"fmt"
	"runtime"
)

// What was in the other file.

func helper(n int) int { return 1 + n }

var numbers = [4]int{1, 2, 3, 4}

func From() Caller { return from() }

func from() Caller {
	_, file, line, _ := runtime.Caller(0)
	return Caller{file, line}
}

func Where() string {
	_, file, line, _ := runtime.Caller(0)
	return fmt.Sprint(file, ":", line)
}
-- new/places.go --
package after

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"reflect"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

type Shape interface{ Area() int }

type rectangle struct{ Width int }

func (s *rectangle) Area() int { return s.Width * s.Width }

type Stack struct{ pcs []uintptr }

type Trace struct {
	PCs  []uintptr
	Note string
}

type Caller struct {
	File string
	Line int
}

type Held struct {
	first *int
	n     int
}

func (h *Held) Len() int { return h.n }

func Printed(v any) (s string) { s = fmt.Sprint(v); return s }

type readCloser struct{ io.Reader }

func (readCloser) Close() error { return nil }

func Pointer() string       { f := helper; return fmt.Sprintf("%p", f) }
func Funcs(n int) string    { f := helper; return fmt.Sprint(f, &numbers, n) }
func Static() uintptr       { p := &numbers; return reflect.ValueOf(p).Pointer() }
func Number() uint64        { f := helper; return uint64(reflect.ValueOf(f).Pointer()) }
func Decimal() string       { f := helper; return strconv.FormatUint(uint64(reflect.ValueOf(f).Pointer()), 10) }
func Digest() int           { f := helper; return int(reflect.ValueOf(f).Pointer() >> 4 % 1021) }
func Heap() string          { p := new(int); return fmt.Sprint(p, &[]*int{p}) }
func TypeText(n int) string { r := &rectangle{n}; return fmt.Sprintf("%T %v", r, Shape(r) == nil) }
func TypeOf() string {
	return reflect.TypeOf(rectangle{}).String() + " " + reflect.TypeOf(Stack{}).PkgPath()
}
func New(n int) Shape           { r := rectangle{Width: n}; return &r }
func Reader(s string) io.Reader { return readCloser{strings.NewReader(s)} }

func Here() (string, int) {
	_, file, line, _ := runtime.Caller(0)
	return file, line
}

func Line() int {
	_, _, line, _ := runtime.Caller(0)
	return line
}

func Logged(s string) string {
	var b bytes.Buffer
	l := log.New(&b, "", log.Lshortfile)
	l.Print(s)
	return b.String()
}

func Callers() []uintptr { return callers() }

func callers() []uintptr {
	pcs := make([]uintptr, 32)
	return pcs[:runtime.Callers(1, pcs)]
}

func Struct() Trace { t := Trace{Note: "x"}; t.PCs = callers(); return t }

func Each(f func(pc uintptr, file string, line int) string) string {
	pc, file, line, _ := runtime.Caller(0)
	s := f(pc, file, line)
	return s
}

func Frame(f func(runtime.Frame)) {
	frames := runtime.CallersFrames(Callers())
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, "callers") {
			continue
		}
		f(frame)
		if !more || strings.Contains(frame.Function, "Frame") {
			return
		}
	}
}

func Names() string {
	pc, _, _, _ := runtime.Caller(0)
	return runtime.FuncForPC(pc).Name()
}

func name() string { pc, _, _, _ := runtime.Caller(0); return runtime.FuncForPC(pc).Name() }

func Closure() string { return name() }

func Debug() string { return string(stack()) }

func stack() []byte { return debug.Stack() }

func Goroutine() string {
	for range 40 {
		done := make(chan bool)
		go func() { done <- true }()
		<-done
	}
	return strings.Fields(string(stack()))[1]
}

func Boom(n int) int { f := helper; panic(fmt.Sprintf("at %p in %T", f, rectangle{})) }
func Wrapped() error {
	f := helper
	return fmt.Errorf("%w of %T at %p", errors.New("no"), rectangle{}, f)
}
func RealAddress(n int) string { f := helper; return fmt.Sprintf("%p: %d", f, n+1) }
func RealLine(s string) string { return Where() + " " + s + "!" }
func RealType(n int) Shape     { return nil }
func RealColor(n int) string   { return fmt.Sprintf("0x%06x %d", 0x4a3b21, 412345678) }
func RealFile(s string) string { return s + "other.go:12" }
`
