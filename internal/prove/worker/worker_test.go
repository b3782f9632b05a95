package worker

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func FuzzDecode(f *testing.F) {
	p := Program{After: true, Steps: []Step{
		{Func: 1, Args: []Value{{Kind: String, Text: "a"}, {Kind: List, Elems: []Value{{Kind: Int, Int: -3}}}}},
		{Func: 300, Args: []Value{{Kind: Struct, Names: []string{"A"}, Elems: []Value{{Kind: Ref, Int: 256}}}}},
	}}
	f.Add(p.Append(nil))
	f.Add([]byte{1, 1, 0, 255, 255, 255, 255, 15})
	f.Fuzz(func(t *testing.T, b []byte) {
		var p, q Program
		if _, err := p.Decode(b); err != nil {
			return
		}
		rest, err := q.Decode(p.Append(nil))
		if err != nil || len(rest) > 0 || !reflect.DeepEqual(p, q) {
			t.Errorf("%+v became %+v, %v", p, q, err)
		}
	})
}

func FuzzDecodeSeen(f *testing.F) {
	s := Seen{Status: Late, Took: time.Second, Hashes: []Hash{{Step: 1, Layer: LayerError, Sum: 7, All: 8, Order: 1 << 60}}, Cover: []Count{{1, 9}}, Lines: []Line{{1, LayerPanic, "outcome", "panics"}}}
	f.Add(s.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := DecodeSeen(b)
		if err != nil {
			return
		}
		again, err := DecodeSeen(s.append(nil))
		if err != nil || !reflect.DeepEqual(s, again) {
			t.Errorf("%+v became %+v, %v", s, again, err)
		}
	})
}

// silent is what nothing was printed to.
var silent = printed{func() string { return "" }, func() string { return "" }}

// seenOf runs calls of functions and returns what was seen, in full.
func seenOf(t *testing.T, funcs []any, p *Program) []Line {
	t.Helper()
	table := &Table{Funcs: funcs, Names: make([]string, len(funcs))}
	for i := range table.Names {
		table.Names[i] = "f"
	}
	var lines []Line
	if status := table.run(p, true, silent, func(r *rendering) { lines = append(lines, r.lines...) }); status != Done {
		t.Fatalf("status %d", status)
	}
	return lines
}

// Whether a list that only the package can see is nil is as much its own affair as what is in it.
func TestHiddenListsAreInside(t *testing.T) {
	type ring struct {
		list []int
		set  map[string]int
	}
	for _, l := range seenOf(t, []any{func() *ring { return &ring{list: []int{}, set: map[string]int{}} }}, &Program{Steps: []Step{{}}}) {
		if strings.Contains(l.Path, ".") && l.Layer != LayerInside && l.Layer != LayerWhole {
			t.Errorf("%c %s: %s", l.Layer, l.Path, l.Text)
		}
	}
}

func textOf(lines []Line, path string) string {
	for _, l := range lines {
		if l.Path == path && l.Layer != LayerWhole {
			return string(rune(l.Layer)) + " " + l.Text
		}
	}
	return ""
}

func TestSeen(t *testing.T) {
	kept := []byte("kept")
	tests := []struct {
		name string
		f    any
		args []Value
		path string
		want string
	}{
		{"a panic", func() { panic("no") }, nil, "outcome", "A panics"},
		{"a result", func(n int8) int { return int(n) * 2 }, []Value{{Kind: Int, Int: 21}}, "result", "C 42"},
		{"no error", func(s string) (int, error) { return len(s), nil }, []Value{{Kind: String, Text: "é"}}, "result", "C 2"},
		{"nil", func() []int { return nil }, nil, "result", "E nil"},
		{"written", func(w interface{ Write([]byte) (int, error) }) { w.Write([]byte("x")) }, []Value{{Kind: Writer}}, "argument 1 was written", `C "x"`},
		{"changed", func(b []byte) { b[0] = 'z' }, []Value{{Kind: String, Text: "abc"}}, "argument 1", `D "zbc"`},
		{"an iterator", func() func(func(int) bool) { return func(yield func(int) bool) { _ = yield(7) && yield(8) } }, nil, "result yields[1].0", "C 8"},
		{"the argument", func(b []byte) []byte { return b }, []Value{{Kind: String, Text: "abc"}}, "a change of the arguments shows in the results", "D true"},
		{"a copy", func(b []byte) []byte { return slices.Clone(b) }, []Value{{Kind: String, Text: "abc"}}, "a change of the arguments shows in the results", "D false"},
		{"kept memory", func() []byte { return kept }, nil, "a change of the results shows in the next call", "D true"},
	}
	for _, tt := range tests {
		lines := seenOf(t, []any{tt.f}, &Program{After: true, Steps: []Step{{Args: tt.args}}})
		if got := textOf(lines, tt.path); got != tt.want {
			t.Errorf("%s: %s is %q; want %q in %v", tt.name, tt.path, got, tt.want, lines)
		}
	}
}

// TestCircle holds that what leads back to itself ends.
func TestCircle(t *testing.T) {
	type node struct{ Next *node }
	type list []any
	ring := func() *node { n := &node{}; n.Next = n; return n }
	own := func() list { l := list{nil}; l[0] = l; return l }
	for _, f := range []any{ring, own} {
		if lines := seenOf(t, []any{f}, &Program{Steps: []Step{{}}}); len(lines) == 0 {
			t.Error("nothing was seen")
		}
	}
}

// TestKeysInGraph holds that a set of nodes, each of which leads to the others, is rendered once and not for each.
func TestKeysInGraph(t *testing.T) {
	type node struct{ Next []*node }
	graph := func() map[*node]bool {
		nodes := make([]node, 300)
		set := make(map[*node]bool)
		for i := range nodes {
			nodes[i].Next = []*node{&nodes[(i+1)%len(nodes)], &nodes[(i*7+3)%len(nodes)]}
			set[&nodes[i]] = true
		}
		return set
	}
	size := 0
	for _, l := range seenOf(t, []any{graph}, &Program{Steps: []Step{{Func: 0}}}) {
		size += len(l.Path) + len(l.Text)
	}
	if size < 10_000 || size > 1_000_000 {
		t.Errorf("a set of 300 nodes was rendered as %d bytes", size)
	}
}

// TestMisfit holds that a description that does not fit is refused, not run.
func TestMisfit(t *testing.T) {
	f := func(m map[string]int, p *int, e error) {}
	for _, args := range [][]Value{nil, {{}, {}}, {{Kind: Ref, Int: 1 << 20}, {}, {}}, {{}, {}, {Kind: Iface, Text: "none"}}} {
		table := &Table{Funcs: []any{f}, Names: []string{"f"}}
		p := &Program{Steps: []Step{{Args: args}}}
		if status := table.run(p, true, silent, func(*rendering) {}); status != Invalid {
			t.Errorf("%v: status %d; want Invalid", args, status)
		}
	}
}

// TestFailed holds that a result that comes with an error is not used.
func TestFailed(t *testing.T) {
	open := func(s string) (*strings.Reader, error) {
		if s == "" {
			return nil, io.EOF
		}
		return strings.NewReader(s), nil
	}
	size := func(r *strings.Reader) int { return r.Len() }
	for name, want := range map[string]string{"": "", "abc": "C 3"} {
		p := &Program{Steps: []Step{{Func: 0, Args: []Value{{Kind: String, Text: name}}}, {Func: 1, Args: []Value{{Kind: Ref}}}}}
		lines := slices.DeleteFunc(seenOf(t, []any{open, size}, p), func(l Line) bool { return l.Step != 1 })
		if got := textOf(lines, "result"); got != want {
			t.Errorf("open(%q).Len() is %q; want %q", name, got, want)
		}
	}
}

// TestTooLong holds that a busy machine makes nobody late.
func TestTooLong(t *testing.T) {
	if !hasCPUTime {
		t.Skip("this system does not say how much CPU time a process took")
	}
	tests := []struct {
		name      string
		took, cpu time.Duration
		want      bool
	}{
		{"done in time", 500 * time.Millisecond, 500 * time.Millisecond, false},
		{"endless", 1100 * time.Millisecond, 1050 * time.Millisecond, true},
		{"waiting", 1100 * time.Millisecond, time.Millisecond, true},
		{"one of thirty", 3 * time.Second, 100 * time.Millisecond, false},
		{"for ever", 11 * time.Second, 900 * time.Millisecond, true},
	}
	for _, tt := range tests {
		if got := tooLong(tt.took, tt.cpu, time.Second); got != tt.want {
			t.Errorf("%s: %v by the clock and %v of CPU time are too long: %v; want %v", tt.name, tt.took, tt.cpu, got, tt.want)
		}
	}
}

func TestMasks(t *testing.T) {
	if got := MaskKey("f", "result[12].Name[x y]"); got != "f result[].Name[]" {
		t.Errorf("key is %q", got)
	}
	a, b := withoutDigits("took 1.5ms at 0xc000 on 2026-01-02, Jan"), withoutDigits("took 230µs at 0xc0f8 on 1999-12-31, Dec")
	if a != b || !strings.Contains(a, "took # at #") {
		t.Errorf("%q and %q", a, b)
	}
	r := &rendering{run: &Run{table: &Table{masks: map[string]int{"f result": MaskOrder}}}, fn: "f", full: true}
	for _, text := range []string{`"b a"`, `"a b"`, "nil", "[2 1]"} {
		r.line(LayerResult, "result", text)
	}
	if l := r.lines; l[0].Text != l[1].Text || l[2].Text != "nil" || l[3].Text == "[2 1]" {
		t.Errorf("in order, they are %v", l)
	}
}

func TestFrames(t *testing.T) {
	var buf bytes.Buffer
	if err := WriteFrame(&buf, []byte("abc")); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadFrame(&buf); err != nil || string(b) != "abc" {
		t.Errorf("read %q, %v", b, err)
	}
	if _, err := ReadFrame(strings.NewReader("\xff\xff\xff\xff")); err == nil {
		t.Error("a message of 4 GB was taken")
	}
}

func TestNamesOf(t *testing.T) {
	for range 20 { // maps come in another order each time
		names := namesOf(map[string]reflect.Type{
			"[]interface{}": reflect.TypeFor[[]any](), "[]any": reflect.TypeFor[[]any](), "uint8": reflect.TypeFor[byte](), "byte": reflect.TypeFor[byte](),
			"[]B": reflect.TypeFor[[]int](), "[]A": reflect.TypeFor[[]int](),
		})
		if len(names) != 3 || names[reflect.TypeFor[[]any]()] != "[]any" || names[reflect.TypeFor[byte]()] != "byte" || names[reflect.TypeFor[[]int]()] != "[]A" {
			t.Fatalf("the names are %v", names)
		}
	}
}

// TestKeyText holds how keys of maps are written in paths.
func TestKeyText(t *testing.T) {
	type point struct{ X, Y int }
	for _, tt := range []struct {
		of   any
		want string
	}{
		{map[string]int{"a": 1}, `["a"]`},
		{map[int]int{-1: 1}, `[-1]`},
		{map[any]int{time.Second: 1}, `[time.Duration(1000000000)]`},
		{map[any]int{"a": 1}, `[string("a")]`},
		{map[point]int{{1, 2}: 1}, `[{X: 1, Y: 2}]`},
		{map[any]int{[2]int{1, 2}: 1}, `[array{0: 1, 1: 2}]`},
		{map[struct{}]int{{}: 1}, `[{}]`},
	} {
		r := &rendering{run: &Run{table: new(Table)}, full: true}
		r.mapOf("m", LayerResult, reflect.ValueOf(tt.of), 0)
		if len(r.lines) != 2 || r.lines[1].Path != "m"+tt.want {
			t.Errorf("%#v: the lines are %v, not m length and m%s", tt.of, r.lines, tt.want)
		}
	}
}

// Which of two keys comes first that point to equal structs is chance, and says nothing of the function.
func TestKeysThatLookAlike(t *testing.T) {
	type node struct {
		Name string
		Next *node
	}
	type graph struct {
		First *node
		Marks map[*node]bool
		Lists map[any][]int
		Loops map[*node]*node
	}
	make := func() *graph {
		a, b, c, d := &node{}, &node{}, &node{}, &node{Name: "d"}
		return &graph{
			First: a,
			Marks: map[*node]bool{a: true, b: false, c: true, d: false},
			Lists: map[any][]int{a: {1}, b: {2}, c: nil, d: {3}},
			Loops: map[*node]*node{a: b, b: c, c: a},
		}
	}
	want := ""
	for range 200 {
		got := linesText(seenOf(t, []any{make}, &Program{Steps: []Step{{}}}))
		if want == "" {
			want = got
		}
		if got != want {
			t.Fatalf("once it is\n%s\nand then\n%s", want, got)
		}
	}
	for _, line := range []string{"result.Marks length=4\n", "=the same as number "} {
		if !strings.Contains(want, line) {
			t.Errorf("%q is missing of\n%s", line, want)
		}
	}
}

// A key that leads to maps with such keys is cut off, and not each of those as late as it is.
func TestKeysInKeys(t *testing.T) {
	type node struct {
		Name string
		Next map[*node]bool
	}
	var tree func(depth int) *node
	tree = func(depth int) *node {
		n := &node{Name: fmt.Sprint(depth), Next: make(map[*node]bool)}
		for range min(6, 6*depth) {
			n.Next[tree(depth-1)] = depth%2 == 0
		}
		return n
	}
	want := ""
	for range 5 {
		got := linesText(seenOf(t, []any{func() map[*node]bool { return map[*node]bool{tree(5): true} }}, &Program{Steps: []Step{{}}}))
		if len(got) > 200_000 {
			t.Fatalf("it takes %d bytes", len(got))
		}
		if want == "" {
			want = got
		}
		if got != want {
			t.Fatalf("it is another one each time\n%s\n%s", want, got)
		}
	}
}
