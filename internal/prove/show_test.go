package prove

import (
	"context"
	"fmt"
	"go/types"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/tools/go/packages"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/prove/worker"
	"github.com/hone-perf/hone/internal/testrun"
)

// surfaceOf loads both versions of the package in dir.
func surfaceOf(t *testing.T, dir string) *surface {
	t.Helper()
	ctx := context.Background()
	c, err := Open(ctx, dir, []string{"old", "new"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	pairs, _, err := pairUp(ctx, c, []string{"."})
	if err != nil {
		t.Fatal(err)
	}
	danger, err := findDanger(ctx, pairs[0].old, pairs[0].new)
	if err != nil {
		t.Fatal(err)
	}
	return newSurface(pairs[0], danger)
}

// Calls that are shown compile in a test of the package, whatever they take: made-up calls of the cases, and of a function for each kind of
// value; in new Go and in old.
func TestShownCallsCompile(t *testing.T) {
	testrun.Live(t, "compiles the calls of each kind of value")
	for _, language := range []string{"1.26", "1.22"} {
		if language != "1.26" && !testrun.InNightly() {
			testrun.Left(t, t.Name()+", Go "+language, "compiles the calls of each kind of value once more")
			continue
		}
		dir := writeKinds(t, language)
		if n := compileMadeUp(t, dir); n < 700 {
			t.Errorf("only %d programs were made", n)
		}
	}
	if !testrun.InNightly() {
		testrun.Left(t, t.Name()+", cases", "compiles the calls of two hundred cases")
		return
	}
	dir := t.TempDir()
	for _, kind := range []string{"different", "same"} {
		a, err := txtar.ParseFile(filepath.Join("testdata", kind+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			write(t, filepath.Join(dir, f.Name), f.Data)
		}
	}
	for _, v := range []string{"old", "new"} {
		write(t, filepath.Join(dir, v, "go.mod"), []byte("module example.com/cases\n\ngo 1.26\n"))
	}
	if n := compileMadeUp(t, dir); n < 1500 {
		t.Errorf("only %d programs were made", n)
	}
}

// writeKinds writes a package with a function for each kind of value.
func writeKinds(t *testing.T, language string) string {
	t.Helper()
	dir := t.TempDir()
	for _, v := range []string{"old", "new"} {
		write(t, filepath.Join(dir, v, "go.mod"), []byte("module example.com/cases\n\ngo "+language+"\n"))
		write(t, filepath.Join(dir, v, "sub", "sub.go"), []byte("package sub\n\ntype Point struct{ X, Y int }\n"))
		write(t, filepath.Join(dir, v, "kinds.go"), []byte(kindsOfValues+"\n// "+v+"\n"))
	}
	return dir
}

// compileMadeUp makes programs about every function of a package, compiles what is shown of them, and returns how many there were.
func compileMadeUp(t *testing.T, dir string) int {
	t.Helper()
	s := surfaceOf(t, dir)
	g := newGen(s, 1)
	imports := make(map[string]bool)
	var body strings.Builder
	n := 0
	for _, e := range s.entries {
		if e.key == "" || e.expr == "" {
			continue
		}
		target := &target{entry: e, key: e.key}
		for range 25 {
			add(&body, imports, s.show(g.program(target), 100), n)
			n++
		}
	}
	compileShown(t, filepath.Join(dir, "new"), imports, body.String())
	return n
}

// add writes a function with the statements of a call. Each has imports of its own; equal paths have equal names here.
func add(body *strings.Builder, imports map[string]bool, s shown, n int) {
	for _, path := range s.imports {
		imports[path] = true
	}
	fmt.Fprintf(body, "func shown%d() {\n%s\n}\n\n", n, s.call)
}

func compileShown(t *testing.T, dir string, imports map[string]bool, body string) {
	t.Helper()
	var head strings.Builder
	head.WriteString("package cases\n\nimport (\n")
	for path := range imports {
		head.WriteString(path + "\n")
	}
	head.WriteString(")\n\n")
	file := filepath.Join(dir, "shown_test.go")
	write(t, file, []byte(head.String()+body))
	// To check types is what compiling them takes that can fail.
	found, err := packages.Load(&packages.Config{Dir: dir, Tests: true, Mode: packages.LoadSyntax | packages.NeedForTest}, ".")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(head.String()+body, "\n")
	for _, p := range found {
		for i, err := range p.Errors {
			var at int
			if _, rest, ok := strings.Cut(err.Error(), "shown_test.go:"); ok {
				fmt.Sscanf(rest, "%d:", &at)
			}
			if i < 12 {
				t.Errorf("%.300s\n\t%.1000s", err, lines[max(at-1, 0)])
			}
		}
	}
}

// kindsOfValues has a function for each kind of value, with names that others might have.
const kindsOfValues = `package cases

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"example.com/cases/sub"
)

type small uint8
type ratio float32
type label string
type flags []label
type bits []small
type grid [3][2]int
type pair[T any] struct{ A, B T }
type tree struct {
	Left, Right *tree
	value       int
	Names       map[label][]*int
	sub.Point
}
type visitor func(n *tree, depth int) (bool, error)
type keeper interface{ keep(n int) }
type box struct{ n int }

func (b *box) keep(n int)           { b.n = n }
func (b box) get() int              { return b.n }
func (s small) double() small       { return 2 * s }
func (l label) upper() label        { return label(strings.ToUpper(string(l))) }
func (f flags) first() (l label)    { for _, l = range f { break }; return l }
func (p *pair[T]) swap()            { p.A, p.B = p.B, p.A }
func (v visitor) visit() error      { _, err := v(nil, 0); return err }

// Names that the calls must not use for their own.
func x1() int                       { return 1 }
func v1() (int, string)             { return 1, "" }

var errors, math = 1, 2

func kindNumbers(a int8, b uint64, c uintptr, d int64, e small, f rune, g byte) int { return int(a) + errors + math }
func kindFloats(a float32, b float64, c ratio, d complex64, e complex128) bool { return float64(a) < b }
func kindTexts(a string, b []byte, c label, d bits, e [4]byte) int             { return len(a) + len(b) }
func kindPointers(a *int, b **string, c *[]int, d *grid, e *tree, f *label, g *bool, h *map[string]int) bool { return a == nil }
func kindMaps(a map[float64]int, b map[any]string, c map[label]*tree, d map[[2]bool]struct{}) int { return len(a) }
func kindLists(a []any, b [][]int, c flags, d []pair[int], e []*tree, f [2]*int) int { return len(a) }
func kindFuncs(a func(), b func(string) bool, c func(a, b int) int, d func(*tree) (label, error), e visitor, f func(a, b tree) bool) bool {
	return a == nil
}
func kindManyResults(a func(x, y string, n uint8) (int8, string, float64, error, uint, label), b func(...int) []int) bool { return b == nil }
func kindChans(a chan int, b <-chan *tree, c chan<- string) bool               { return a == nil }
func kindReaders(a io.Reader, b io.ReadCloser, c *bytes.Buffer, d *bufio.Reader, e io.RuneScanner, f io.ReadWriter, g *strings.Reader, h *bytes.Reader) bool {
	return a == nil
}
func kindWriters(a io.Writer, b io.WriteCloser, c *bufio.Writer, d io.StringWriter, e *strings.Builder) bool { return a == nil }
func kindContext(ctx context.Context, err error, at time.Time, d time.Duration) error { return err }
func kindWeb(h http.Handler, f http.HandlerFunc, g func(http.ResponseWriter, *http.Request), r *http.Request) http.Handler { return h }
func kindServe(w http.ResponseWriter, r *http.Request)                         {}
func kindKeeper(k keeper, s fmt.Stringer, a any, anonymous struct{ A, b int }) bool { return k == nil }
func kindVariadic(format string, args ...any) int                              { return len(args) }
func kindSpread(first *tree, more ...*tree) int                                { return len(more) }
func kindGeneric[K comparable, V any](m map[K]V, f func(K) V) []K              { return nil }
func kindElsewhere(p sub.Point, q *sub.Point, l []sub.Point) int               { return p.X }
func newKeeper(n int) (keeper, error)                                          { return &box{n}, nil }
func newVisitor() visitor                                                      { return nil }
func newLabel(s string) *label                                                 { l := label(s); return &l }

type Setup struct {
	Name  string
	Limit uint8
	On    bool
	Each  func(int) int
	Any   interface{}
	List  []sub.Point
	Wait  time.Duration
	Next  *Setup
}

func NewSetup() *Setup             { return new(Setup) }
func (s *Setup) Start(n int) int   { return n }

type Plain struct{ Rate float32 }

func MakePlain() Plain                { return Plain{} }
func (p *Plain) Use(r float32) float32 { return r }
`

// Values at the edges of their types are shown as what they are.
func TestShownValues(t *testing.T) {
	dir := writeKinds(t, "1.26")
	s := surfaceOf(t, dir)
	entry := func(name string) *entry {
		for _, e := range s.entries {
			if e.name == name {
				return e
			}
		}
		t.Fatalf("there is no %s", name)
		return nil
	}
	num := func(n int64) worker.Value { return worker.Value{Kind: worker.Int, Int: n} }
	text := func(s string) worker.Value { return worker.Value{Kind: worker.String, Text: s} }
	fn := func(n int64) worker.Value { return worker.Value{Kind: worker.Func, Int: n} }
	of := func(name string, v worker.Value) worker.Value {
		return worker.Value{Kind: worker.Iface, Text: name, Elems: []worker.Value{v}}
	}
	list := func(elems ...worker.Value) worker.Value { return worker.Value{Kind: worker.List, Elems: elems} }
	imports := make(map[string]bool)
	var body strings.Builder
	for i, tt := range []struct {
		name string
		args []worker.Value
		want string
	}{
		{"kindNumbers", []worker.Value{num(-128), num(-1), num(0), num(math.MinInt64), num(255), num('é'), num('a')}, "kindNumbers(-128, 18446744073709551615, 0, -9223372036854775808, 255, 'é', 97)"},
		{"kindFloats", []worker.Value{floatValue(math.NaN()), floatValue(math.Inf(-1)), floatValue(math.MaxFloat64), floatValue(2), floatValue(math.Copysign(0, -1))},
			"kindFloats(float32(math_.NaN()), math_.Inf(-1), ratio(math_.Inf(1)), complex(2, 1), complex128(complex(math_.Copysign(0, -1), math_.Copysign(0, -1))))"},
		{"kindTexts", []worker.Value{text("a; b\n" + strings.Repeat("x", 300)), {Kind: worker.String, Text: "\xff", Int: 3}, text("é"), text("a"), list(num(1))},
			`kindTexts("a; b\n" + strings.Repeat("x", 300), append(make([]byte, 0, 4), "\xff"...), "é", bits("a"), [4]byte{1})`},
		{"kindTexts", []worker.Value{text(""), text(""), text(""), text(""), list(num(1), num(2), num(3), num(4), num(5))}, `kindTexts("", []byte(""), "", bits(""), [4]byte{1, 2, 3, 4})`},
		{"kindVariadic", []worker.Value{text(""), list(of("int64", num(5)), of("float64", floatValue(5)), of("cases", text("")), of("small", num(1)), of("*int", worker.Value{}), worker.Value{}, of("int", num(7)))},
			`kindVariadic("", int64(5), float64(5), nil, small(1), (*int)(nil), nil, 7)`},
		{"small.double", []worker.Value{num(3)}, "small(3).double()"},
		{"(*box).keep", []worker.Value{{}, num(3)}, "(*box)(nil).keep(3)"},
		{"kindFuncs", []worker.Value{fn(0), fn(1), fn(0), fn(0), fn(0), fn(0)},
			`kindFuncs(func() {}, func(a1 string) bool { return true }, func(a1 int, a2 int) int { return cmp.Compare(a1, a2) }, func(a1 *tree) (label, error) { return "", nil }, func(a1 *tree, a2 int) (bool, error) { return false, nil }, func(a1 tree, a2 tree) bool { return fmt.Sprintf("%+v", a1) < fmt.Sprintf("%+v", a2) })`},
	} {
		e := entry(tt.name)
		got := s.show(&worker.Program{Steps: []worker.Step{{Func: e.id, Args: tt.args}}}, 0)
		if got.call != tt.want {
			t.Errorf("%s is shown as\n%s\nwant\n%s", tt.name, got.call, tt.want)
		}
		add(&body, imports, got, i)
	}
	// Generated benchmarks, and calls for goroutines, are written by another printer.
	long := list(num(1), num(2), num(3), num(4), num(5))
	if got, want := newCoder(s).value(&long, types.NewArray(types.Typ[types.Uint8], 4)), "[4]uint8{(uint8)(1), (uint8)(2), (uint8)(3), (uint8)(4)}"; got != want {
		t.Errorf("an array that was made too long is written as %s, want %s", got, want)
	}
	// A result that is in a field which only the old version has is not written, and has to be used all the same.
	gone := worker.Value{Kind: worker.Struct, Names: []string{"gone"}, Elems: []worker.Value{{Kind: worker.Ref}}}
	unused := s.show(&worker.Program{Steps: []worker.Step{
		{Func: entry("newLabel").id, Args: []worker.Value{text("a")}},
		{Func: entry("(*box).keep").id, Args: []worker.Value{{Kind: worker.Ptr, Elems: []worker.Value{gone}}, num(1)}},
	}}, 1)
	add(&body, imports, unused, 1000)
	compileShown(t, filepath.Join(dir, "new"), imports, body.String())
}

// A function that is handed in answers in a test of the package as it does in the workers.
func TestShownFunctionsAnswerAlike(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and calls two versions of a package")
	}
	const code = `package cases

type level int8

func Ask(f func(s string, n level) (bool, string, int, uint8, float64, level, error), s string, n level) (bool, string, int, uint8, float64, level, bool) {
	a, b, c, d, e, g, err := f(s, n)
	return a, b, c, d, e, g, err %s nil
}
`
	dir := t.TempDir()
	for v, sign := range map[string]string{"old": "==", "new": "!="} {
		write(t, filepath.Join(dir, v, "go.mod"), []byte("module example.com/cases\n\ngo 1.26\n"))
		write(t, filepath.Join(dir, v, "ask.go"), []byte(fmt.Sprintf(code, sign)))
	}
	s := surfaceOf(t, dir)
	ctx := context.Background()
	files, err := s.buildBoth(ctx, func(side int) string { return workDir(dir, 0, side) })
	if err != nil {
		t.Fatal(err)
	}
	f := newSearch(s, Options{Executions: 1, Time: time.Hour}, files)
	imports := map[string]bool{`"fmt"`: true, `"testing"`: true}
	var body, want strings.Builder
	body.WriteString("func TestShown(*testing.T) {\n")
	for salt := range int64(8) {
		for _, text := range []string{"", "a", "a; b"} {
			p := &worker.Program{Steps: []worker.Step{{Args: []worker.Value{{Kind: worker.Func, Int: salt}, {Kind: worker.String, Text: text}, {Kind: worker.Int, Int: salt - 3}}}}}
			seen, err := f.replay(ctx, []*worker.Program{p}, 1, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range seen[1].Lines {
				if strings.HasPrefix(l.Path, "result ") {
					want.WriteString(strings.Trim(l.Text, `"`) + " ")
				}
			}
			want.WriteByte('\n')
			got := s.show(p, 0)
			for _, path := range got.imports {
				imports[path] = true
			}
			call := strings.Split(got.call, "\n")
			last := len(call) - 1
			call[last] = "for _, x := range results(" + call[last] + ") { fmt.Print(x, \" \") }\nfmt.Println()"
			body.WriteString("{\n" + strings.Join(call, "\n") + "\n}\n")
		}
	}
	body.WriteString("}\n\nfunc results(list ...any) []any { return list }\n")
	var head strings.Builder
	for path := range imports {
		head.WriteString("import " + path + "\n")
	}
	write(t, filepath.Join(dir, "new", "shown_test.go"), []byte("package cases\n\n"+head.String()+body.String()))
	out, err := (gocmd.Command{Dir: filepath.Join(dir, "new")}).Run(ctx, "test", "-v", "-vet=off", ".")
	if err != nil {
		t.Fatal(err)
	}
	_, printed, _ := strings.Cut(string(out), "=== RUN   TestShown\n")
	printed, _, _ = strings.Cut(printed, "---")
	if printed != want.String() {
		t.Errorf("the functions that are shown answer\n%s\nwant\n%s", printed, want.String())
	}
}
