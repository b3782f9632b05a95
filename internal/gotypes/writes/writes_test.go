package writes

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

const declared = `package p

import "unsafe"

type counter struct{ n int }

func (c *counter) inc()    { c.n++ }
func (c counter) get() int { return c.n }

type (
	byValue   struct{ counter }
	byPointer struct{ *counter }
	pair      struct {
		a, b int
		list []int
		c    counter
	}
	list []int
	box[T any] struct{ v T }
)

func (b *box[T]) set(v T) { b.v = v }

func (l list) Len() int { return len(l) }

var (
	n, m  int
	array [4]int
	parts []int
	names map[string]int
	one   pair
	ptr   *pair
	c     counter
	pc    *counter
	bv    byValue
	bp    byPointer
	bx    box[int]
	ch    chan int
	any1  any
	ifc   interface{ Len() int }
	text  string
	rows  [][2]int
	_     unsafe.Pointer
)

func f(...any) int { return 0 }

func code() {
	`

// TestIn holds which variables statements write to, and how.
func TestIn(t *testing.T) {
	tests := []struct{ code, want string }{
		{"n = 1", "n Assign"},
		{"n, m = m, n", "n Assign, m Assign"},
		{"x := n; _ = x", "x Define"},
		{"x, _ := n, m; x, y := 1, 2; f(x, y)", "x Define, x Assign, y Define"},
		{"_ = n", ""},
		{"n += m", "n Op"},
		{"n &^= m", "n Op"},
		{"n++", "n IncDec"},
		{"one.a--", "one IncDec"},
		{"(*ptr).list[n] = m", "ptr Assign"},
		{"((n)) = 1", "n Assign"},
		{"array[n] = 1", "array Assign"},
		{"parts[1:][n] = 1", "parts Assign"},
		{"array[1:][n] = 1", "array Assign, array Slice"},
		{"rows[0][1]++", "rows IncDec"},
		{"names[text] = 1", "names Assign"},
		{"any1.(*pair).a = 1", "any1 Assign"},
		{"(*pair)(ptr).a = 1", "ptr Assign"},
		{"(&one).a = 1", "one Assign, one Address"},
		{"func() *pair { return ptr }().a = 1", ""},
		{"for n = range parts { }", "n Range"},
		{"for n, array[0] = range parts { }", "n Range, array Range"},
		{"for i, x := range parts { f(i, x) }", "i Define, x Define"},
		{"for range parts { }", ""},
		{"for range ch { }", "ch Receive"},
		{"for n = range ch { }", "n Range, ch Receive"},
		{"for i := 0; i < n; i++ { }", "i Define, i IncDec"},
		{"ch <- n", "ch Send"},
		{"n = <-ch", "n Assign, ch Receive"},
		{"select { case n = <-ch: case ch <- m: }", "n Assign, ch Receive, ch Send"},
		{"copy(parts, array[1:])", "parts Builtin, array Slice"},
		{"copy(array[:], parts)", "array Builtin, array Slice"},
		{"clear(names)", "names Builtin"},
		{"delete(names, text)", "names Builtin"},
		{"parts = append(parts, n)", "parts Assign"},
		{"f(append(parts, n))", ""},
		{"copy := func(a, b []int) { }; copy(parts, parts)", "copy Define"},
		{"f(&n, &one.list[m], &array)", "n Address, one Address, array Address"},
		{"f(&pair{a: n})", ""},
		{"f(unsafe.Pointer(&n))", "n Address"},
		{"f(array[:], array, parts[:], text[1:])", "array Slice"},
		{"c.inc()", "c Method"},
		{"(c).inc()", "c Method"},
		{"f(c.inc, c.get, (*counter).inc)", "c Method"},
		{"defer one.c.inc()", "one Method"},
		{"c.get()", ""},
		{"pc.inc()", ""},
		{"pc.get()", ""},
		{"ptr.c.inc()", "ptr Method"},
		{"bv.inc()", "bv Method"},
		{"bp.inc()", ""},
		{"bp.n++", "bp IncDec"},
		{"bx.set(1)", "bx Method"},
		{"ifc.Len()", ""},
		{"list(parts).Len()", ""},
		{"func() { n = 1; go c.inc() }()", "n Assign, c Method"},
		{"n := n; n++", "n Define, n IncDec"},
		{"if n := f(); n > m { n = m }", "n Define, n Assign"},
		{"switch x := any1.(type) { case *pair: x.a = 1 }", "x Define, x Assign"},
		{"f(n, one, ptr.list, names[text], <-ch)", "ch Receive"},
	}
	names := []string{"Define", "Assign", "Op", "IncDec", "Range", "Builtin", "Send", "Receive", "Address", "Method", "Slice"}
	for _, tt := range tests {
		info, body := parse(t, tt.code)
		var got []string
		for w := range In(info, body) {
			if w.Root == nil {
				continue
			}
			got = append(got, w.Root.Name+" "+names[w.How])
			if w.How != Define && (info.Uses[w.Root] == nil || w.Type == nil) {
				t.Errorf("%s: %s has object %v, type %v", tt.code, w.Root.Name, info.Uses[w.Root], w.Type)
			}
		}
		if s := strings.Join(got, ", "); s != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.code, s, tt.want)
		}
	}
}

// TestPath holds what it is that code writes to: the variable itself, a field of it, or what it leads to (→), and whether an address is taken (&).
func TestPath(t *testing.T) {
	const declared = `package p
type t struct{ n int }
func (x *t) inc() { }
type T struct { n int; p *t; t t }
func (x *T) inc() { }
func (x T) get() { }
type E struct { *t }
func make1() *T { return nil }
var outside int
func f(n int, list []int, m map[int]int, room [4]int, v T, p *T, q *int, e E, x any, ch chan int) {
`
	for _, tt := range []struct{ code, want string }{
		{"n = 1", "n"},
		{"n += 1", "n"},
		{"n++", "n"},
		{"(n)--", "n"},
		{"n, list[0] = 1, 2", "n list→"},
		{"for n = range 3 {}", "n"},
		{"for list[0] = range 3 {}", "list→"},
		{"for _, n = range list {}", "n"},
		{"q = &n", "q n&"},
		{"list[0]++", "list→"},
		{"room[0]++", "room"},
		{"s := room[:]; _ = s", "s room&"},
		{"s := list[1:]; _ = s", "s"},
		{"list[1:][0] = 2", "list→"},
		{"copy(list, list)", "list→"},
		{"copy(room[:], list)", "room→ room&"},
		{"clear(list)", "list→"},
		{"delete(m, 1)", "m→"},
		{"m[1] = 2", "m→"},
		{"v.n = 1", "v.n"},
		{"p.n = 1", "p.n→"},
		{"v.p.n++", "v.n.p→"},
		{"*q = 1", "q→"},
		{"v.inc()", "v&"},
		{"f := v.inc; f()", "f v&"},
		{"p.inc()", ""},
		{"v.get()", ""},
		{"v.t.inc()", "v.t&"},
		{"e.inc()", ""},
		{"e.n = 1", "e.n→"},
		{"func() { n++ }()", "n"},
		{"outside = 1", "outside"},
		{"s := n; _ = s", "s"},
		{"_ = n + list[0] + m[1] + v.n + room[1]", ""},
		{"x.(*T).n = 1", "x.n→"},
		{"(*T)(p).t.n = 1", "p.n.t→"},
		{"make1().p.n = 1", "?.n.p→"},
		{"ch <- 1; <-ch", "ch ch"},
	} {
		info, body := check(t, declared+tt.code)
		var got []string
		for w := range In(info, body) {
			name := "?"
			if w.Root != nil {
				name = w.Root.Name
			}
			for _, field := range w.Fields {
				name += "." + field.Name()
			}
			if !w.Inside {
				name += "→"
			}
			if w.How.HandsOut() {
				name += "&"
			}
			got = append(got, name)
			if w.At == nil || w.At.Pos() > w.Expr.Pos() || w.At.End() < w.Expr.End() {
				t.Errorf("%s: %s is not in what writes to it", tt.code, name)
			}
		}
		want := strings.Fields(tt.want)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s writes to %v, want %v", tt.code, got, want)
		}
	}
}

// TestWithoutTypes holds what the syntax says alone.
func TestWithoutTypes(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", "package p\nfunc f() { a = 1; b.c[0]++; x := &d; for e, g = range list { }; delete(h, x); len(i); j.k(); l[:] = m; copy(n[1:], o); f().x = 1 }", parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for w := range In(&types.Info{}, f) {
		if w.Root != nil && w.How != Define {
			got = append(got, w.Root.Name)
		}
	}
	if want := strings.Fields("a b d e g h l n"); !slices.Equal(got, want) {
		t.Errorf("writes to %q, want %q", got, want)
	}
}

// TestStops holds that a caller may leave the loop, and that the kinds have their sides.
func TestStops(t *testing.T) {
	info, body := parse(t, "n = 1; m++; f(&n)")
	for w := range In(info, body) {
		if w.Root.Name != "n" {
			t.Errorf("%s after the end", w.Root.Name)
		}
		break
	}
	var sets, out []string
	for w := range In(info, body) {
		if w.How.Sets() {
			sets = append(sets, w.Root.Name)
		}
		if w.How.HandsOut() {
			out = append(out, w.Root.Name)
		}
	}
	if !slices.Equal(sets, []string{"n", "m"}) || !slices.Equal(out, []string{"n"}) {
		t.Errorf("sets %q, hands out %q", sets, out)
	}
	v := info.Uses[slices.Collect(In(info, body))[1].Root]
	if !To(info, body, v, func(w Write) bool { return w.How == IncDec }) || To(info, body, v, func(w Write) bool { return w.How == Assign }) {
		t.Error("m is not set by m++ alone")
	}
}

// TestType holds that the type of a method's write is that of what the method changes.
func TestType(t *testing.T) {
	info, body := parse(t, "bv.inc(); array[n] = 1; f(&one.c)")
	var got []string
	for w := range In(info, body) {
		got = append(got, types.TypeString(w.Type, func(*types.Package) string { return "" }))
	}
	if want := []string{"counter", "int", "counter"}; !slices.Equal(got, want) {
		t.Errorf("types %q, want %q", got, want)
	}
}

func parse(t *testing.T, code string) (*types.Info, ast.Node) {
	t.Helper()
	return check(t, declared+code)
}

// check returns what is known of a package whose last function has no end yet, and the body of that.
func check(t *testing.T, code string) (*types.Info, ast.Node) {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", code+"\n}\n", parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	conf := types.Config{Importer: importer.Default()}
	if _, err := conf.Check("p", fset, []*ast.File{f}, info); err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	return info, f.Decls[len(f.Decls)-1].(*ast.FuncDecl).Body
}
