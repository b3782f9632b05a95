package escape

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// testdata/esc.* is what Go 1.26.8 says about testdata/esc.go.txt: its log, and what it prints with -m and -m=2.

func open(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func readLog(t testing.TB) *Log {
	t.Helper()
	l, err := parseLog(bytes.NewReader(open(t, "esc.json")))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestStory(t *testing.T) {
	log := readLog(t)
	tests := []struct {
		line  int
		kind  Kind
		cause Cause
		want  string // the start of the story
		last  string // step
	}{
		{12, Heap, Returned, "&point{...} is on the heap: it has to outlive the function", "it is returned (esc.go:12)"},
		{15, Heap, Converted, "&point{...} is on the heap: it is passed as an interface, and fmt.Fprintln may keep it", "it is passed to fmt.Fprintln (esc.go:16)"},
		{21, Heap, Converted, "a copy of n is on the heap: an interface holds a pointer, so the value needs memory; fmt.Fprintf may keep the pointer", "it is passed to fmt.Fprintf (esc.go:21)"},
		{25, Moved, Stored, "the variable p is on the heap: it is stored in kept, which outlives", "it is stored: kept = &p (esc.go:26)"},
		{29, Moved, Captured, "the variable n is on the heap: the function literal may be called after", "n is captured by a function literal (esc.go:30)"},
		{34, Heap, Passed, "make([]byte, 64) is on the heap: w.Write may keep it", "it is passed to w.Write (esc.go:35)"},
		{39, Heap, TooLarge, "make([]byte, 1048576) is on the heap: it is larger than", ""},
		{53, Heap, Sent, "&point{...} is on the heap: whoever receives it may keep it", "it is sent on a channel: c <- (&point{...}) (esc.go:53)"},
		{55, Heap, Stored, "&point{} is on the heap: it is stored in m[\"a\"], which outlives", "it is stored: m[\"a\"] = &point{} (esc.go:55)"},
		{58, Heap, Started, "the function literal is on the heap: a goroutine, or a call deferred", ""},
	}
	for _, tt := range tests {
		at := log.At("esc/esc.go", tt.line)
		i := slices.IndexFunc(at, func(r Remark) bool { return r.OnHeap() })
		if i < 0 {
			t.Errorf("line %d: nothing is on the heap", tt.line)
			continue
		}
		s := at[i].Story()
		if at[i].Kind != tt.kind || s.Cause != tt.cause || !strings.HasPrefix(s.String(), tt.want) || !strings.HasSuffix(s.String(), tt.last+".") && tt.last != "" {
			t.Errorf("line %d: %s, %s: %s\nwant %s, %s: %s … %s", tt.line, at[i].Kind, s.Cause, &s, tt.kind, tt.cause, tt.want, tt.last)
		}
	}
	for _, line := range []int{44, 62} { // make([]byte, n), and a newPoint whose result stays
		if at := log.At("esc.go", line); slices.ContainsFunc(at, func(r Remark) bool { return r.OnHeap() }) {
			t.Errorf("line %d: %v is on the heap", line, at)
		}
	}
}

// TestNamesOfOtherPackages holds that names of inlined code are those of its source.
func TestNamesOfOtherPackages(t *testing.T) {
	builder := []Place{{"/go/src/strings/builder.go", 89, 2}}
	r := Remark{Kind: Heap, Place: Place{"/src/app/a.go", 7, 2}, Through: builder, What: "append(strings.b.buf, strings.p...)", Makes: Value, Flow: []Flow{{
		To: "{heap}", From: "{temp}", How: []Note{{"strings.b.buf = append(strings.b.buf, strings.p...)", "assign", Place{"/src/app/a.go", 7, 2}, builder}},
	}}}
	const want = "append(b.buf, p...) (written at builder.go:89, inlined here) is on the heap: it is stored in b.buf, which outlives the function."
	if got := r.Told(); !strings.HasPrefix(got, want) || strings.Contains(got, "strings.b") {
		t.Errorf("got %s", got)
	}
	for expr, want := range map[string]string{
		"strings.Join(strings.parts, x)": "strings.Join(parts, x)", "mystrings.b + a.strings.b": "mystrings.b + a.strings.b", "strings._x": "_x", "": "", "strings.": "strings.",
	} {
		if got := local(expr, builder); got != want {
			t.Errorf("%s is written %s, want %s", expr, got, want)
		}
	}
	if got := local("strings.b", nil); got != "strings.b" {
		t.Errorf("what is not inlined is written %s", got)
	}
}

// TestForms holds that the log and both texts say the same about what is on the heap, each with what it has.
func TestForms(t *testing.T) {
	of := func(l *Log) (out []string) {
		for _, r := range l.Remarks {
			if r.OnHeap() {
				out = append(out, r.String()+" "+r.At())
			}
		}
		return out
	}
	log := readLog(t)
	want := of(log)
	if len(want) != 12 {
		t.Errorf("the log has %d allocations: %q", len(want), want)
	}
	for _, name := range []string{"esc.m.txt", "esc.m2.txt"} {
		text, err := ReadText(bytes.NewReader(open(t, name)), "/src/esc")
		if err != nil {
			t.Fatal(err)
		}
		if got := of(text); !slices.Equal(got, want) {
			t.Errorf("%s has\n%q\nthe log has\n%q", name, got, want)
		}
		both := Merge(log, text)
		if got := both.At("esc.go", 15); !slices.ContainsFunc(got, func(r Remark) bool { return r.Kind == Inlined && r.What == "newPoint" }) {
			t.Errorf("%s: no call is inlined on line 15: %v", name, got)
		}
	}
	m2, err := ReadText(bytes.NewReader(open(t, "esc.m2.txt")), "/src/esc")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range m2.Remarks {
		if r.Line == 14 && (r.What != "use" || r.Cost != 95 || r.Budget != 80) {
			t.Errorf("line 14 of -m=2: %+v", r)
		}
		if r.OnHeap() && len(r.Flow) == 0 {
			t.Errorf("line %d of -m=2: %s has no explanation", r.Line, r.What)
		}
	}
}

// TestFind holds that what is known at a call comes before what is known about a body by itself.
func TestFind(t *testing.T) {
	log := readLog(t)
	body, call, other := Place{File: "esc.go", Line: 12}, Place{File: "esc.go", Line: 15}, Place{File: "esc.go", Line: 62}
	tests := []struct {
		frames []Place
		line   int
		cause  Cause
	}{
		{[]Place{body, call}, 15, Converted}, // inlined: what becomes of it there
		{[]Place{body}, 12, Returned},
		{[]Place{body, other}, 12, Returned}, // nothing is on the heap at that call
	}
	for _, tt := range tests {
		found := log.find(tt.frames...)
		i := slices.IndexFunc(found, func(r Remark) bool { return r.OnHeap() })
		if i < 0 {
			t.Errorf("find(%v) = %v", tt.frames, found)
			continue
		}
		if s := found[i].Story(); found[i].Line != tt.line || s.Cause != tt.cause {
			t.Errorf("find(%v) = line %d, %s; want line %d, %s", tt.frames, found[i].Line, s.Cause, tt.line, tt.cause)
		}
	}
	if in := log.InlinedFrom("esc.go", 12); len(in) != 1 || in[0].Line != 15 {
		t.Errorf("InlinedFrom line 12 = %v", in)
	}
}

func TestOldArrow(t *testing.T) {
	const text = "x.go:3:2: p escapes to heap in f:\nx.go:3:2:   flow: {heap} = &p:\nx.go:3:2:     from &p (address-of) at x.go:4:9\nx.go:3:2:     from kept = &p (assign) at x.go:4:7\nx.go:3:2: moved to heap: p\n"
	log, err := ReadText(strings.NewReader(text), "")
	if err != nil || len(log.Remarks) != 1 {
		t.Fatalf("%v, %v", log, err)
	}
	if f := log.Remarks[0].Flow; len(f) != 1 || f[0].To != "{heap}" || f[0].From != "p" || f[0].Derefs != -1 || len(f[0].How) != 2 {
		t.Errorf("the way is %+v", f)
	}
}

func TestMistakes(t *testing.T) {
	for _, in := range []string{"{}", "[", `{"version":7,"file":"x.go"}`, "{\"version\":0,\"file\":\"x.go\"}\nno"} {
		if l, err := parseLog(strings.NewReader(in)); err == nil {
			t.Errorf("parseLog(%q) = %v", in, l)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadDir(dir); err == nil || !strings.Contains(err.Error(), "x.json: line 1: ") {
		t.Errorf("ReadDir: %v", err)
	}
}

func TestSameFile(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"/src/esc/esc.go", "esc.go", true}, {"./esc.go", "/src/esc.go", true}, {"desc.go", "/src/esc.go", false}, {"", "x.go", false},
		{`C:\src\esc.go`, "src/esc.go", true}, {"a/x.go", "b/x.go", false},
	} {
		if got := SameFile(tt.a, tt.b); got != tt.want {
			t.Errorf("SameFile(%q, %q) = %v", tt.a, tt.b, got)
		}
	}
}

// FuzzRead holds that whatever is read is bounded, and can be told.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"esc.json", "esc.m.txt", "esc.m2.txt"} {
		f.Add(string(open(f, name)))
	}
	f.Fuzz(func(t *testing.T, in string) {
		tell := func(l *Log) {
			for i := range l.Remarks {
				r := &l.Remarks[i]
				s := r.Story()
				if r.OnHeap() != (s.What != "") {
					t.Errorf("%+v has the story %q", r, s.String())
				}
				if len(r.What) > maxText+len("…") || len(r.Flow) > maxSteps+1 {
					t.Errorf("%d bytes, %d steps", len(r.What), len(r.Flow))
				}
				_ = r.String()
				if len(l.find(r.Written(), r.Place)) == 0 && len(r.Through) == 1 && r.File != "" && r.Written().File != "" {
					t.Errorf("%+v is not found", r)
				}
			}
		}
		if l, err := parseLog(strings.NewReader(in)); err == nil {
			tell(l)
		}
		text, err := ReadText(strings.NewReader(in), "/src")
		if err != nil {
			t.Fatal(err)
		}
		tell(text)
		tell(Merge(text, text))
	})
}

func BenchmarkReadLog(b *testing.B) {
	in := open(b, "esc.json")
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseLog(bytes.NewReader(in)); err != nil {
			b.Fatal(err)
		}
	}
}

// The compiler says of a literal that is put into an interface that it escapes, but allocates nothing for it.
func TestLiteralsAreNotOnTheHeap(t *testing.T) {
	for what, want := range map[string]bool{`"a + b"`: false, "12": false, "x": true, `"a" + s`: true, "string(b)": true, "": true, "false": false, "true": false, "truth": true} {
		if got := (&Remark{Kind: Heap, What: what}).OnHeap(); got != want {
			t.Errorf("%q is on the heap: %v", what, got)
		}
	}
}

// The compiler also says it of values that need no memory of their own in an interface, which their types tell.
func TestInterfacesWithoutMemory(t *testing.T) {
	const text = `package p

type pair struct{ a, b int8 }

const large = 70000

func f[E ~uint8 | ~int8, A any](b byte, ok bool, n, m int, s string, e struct{}, z [0]int, p pair, t E, a A) {
	use(b)
	use(ok)
	use(e)
	use(z)
	use(large)
	use(large + 1)
	use(n == m)
	use(int8(n))
	use(any(b))
	use(p.a)
	use(t)
	use(n)
	use(n + m)
	use(s)
	use(p)
	use(a)
	use(uint16(n))
}

func use(any) {}
`
	onHeap := []string{"n", "n + m", "s", "p", "a", "uint16(n)"}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	if _, err := new(types.Config).Check("p", set, []*ast.File{file}, info); err != nil {
		t.Fatal(err)
	}
	log := &Log{}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || types.ExprString(call.Fun) != "use" {
			return true
		}
		arg := call.Args[0]
		at, what := set.Position(compiledAt(arg)), types.ExprString(arg)
		log.Remarks = append(log.Remarks, Remark{Kind: Heap, Place: Place{"p.go", at.Line, at.Column}, What: what,
			Flow: []Flow{{To: "{heap}", From: "{storage for " + what + "}", How: []Note{{Expr: what, Why: "spill"}}}}})
		return true
	})
	if len(log.Remarks) != 17 {
		t.Fatalf("%d remarks, want 17", len(log.Remarks))
	}
	log.Learn(set, []*ast.File{file}, info)
	for _, r := range log.Remarks {
		if got, want := r.OnHeap(), slices.Contains(onHeap, r.What); got != want {
			t.Errorf("%s is on the heap: %t, want %t (it makes %q)", r.What, got, want, r.Makes)
		}
	}
}

// The names that the compiler has for results of inlined calls are not those of the code.
func TestSumOfInlinedResult(t *testing.T) {
	r := Remark{Kind: Heap, What: `~r0 + "x"`, Makes: Sum, Flow: []Flow{{To: "{heap}", From: `{storage for ~r0 + "x"}`, How: []Note{{Expr: `~r0 + "x"`, Why: "spill"}}}}}
	if s := r.Story(); s.What != `the result of an inlined call + "x"` || s.Steps[0].Text != `the result + "x" makes a new string` {
		t.Errorf("%+v", s)
	}
}

// A slice has no value to return or to store in place of its address.
func TestAdviceMatchesEscape(t *testing.T) {
	stored := Note{Expr: "list.all = append(list.all, ...)", Why: "assign"}
	returned := Note{Expr: "return x", Why: "return"}
	for _, tt := range []struct {
		what string
		how  Note
		to   string
		want string // the start of the first advice
	}{
		{"&point{...}", returned, "~r0", "return the value"},
		{"make([]byte, 8)", returned, "~r0", "let the caller pass the memory to fill"},
		{"func literal", returned, "~r0", "make it once"},
		{"&point{...}", stored, "{heap}", "store the value"},
		{"append(all, x)", stored, "{heap}", "reuse the memory"},
	} {
		r := Remark{Kind: Heap, What: tt.what, Makes: Value, Flow: []Flow{{To: "x", From: "{storage for " + tt.what + "}", How: []Note{{Expr: tt.what, Why: "spill"}}}, {To: tt.to, From: "x", How: []Note{tt.how}}}}
		if s := r.Story(); len(s.Break) == 0 || !strings.HasPrefix(s.Break[0], tt.want) {
			t.Errorf("%s, %s: advice %q, want %q first", tt.what, tt.how.Expr, s.Break, tt.want)
		}
	}
}

// Nothing can write to the memory of a value in an interface.
func TestAdviceForStoredCopy(t *testing.T) {
	r := Remark{Kind: Heap, What: "key", Makes: Box, Flow: []Flow{{To: "{heap}", From: "{storage for key}", How: []Note{
		{Expr: "key", Why: "spill"}, {Expr: "append(keys, key)", Why: "call parameter"}}}}}
	if s := r.Story(); s.Cause != Stored || s.What != "a copy of key" || len(s.Break) == 0 || !strings.HasPrefix(s.Break[0], "store it by its own type") {
		t.Errorf("%+v", s)
	}
}

// parseLog reads one file of an optimization log.
func parseLog(r io.Reader) (*Log, error) {
	out := &Log{}
	if err := out.read(r); err != nil {
		return nil, err
	}
	out.sort()
	return out, nil
}

// find returns the remarks about the code at a place of a profile. The frames are those of one address, innermost first: what
// was inlined comes before what it was inlined into. Remarks about just that call come before others, since the body of a
// function by itself can say no more than that it returns the value. There are none when nothing is known.
func (l *Log) find(frames ...Place) []Remark {
	for n := len(frames); n > 0; n-- {
		found := l.Select(func(r *Remark) bool {
			if len(r.Through) != n-1 {
				return false
			}
			for i := range n {
				at := r.Place // outermost
				if i < n-1 {
					at = r.Through[n-2-i]
				}
				if at.Line != frames[i].Line || !SameFile(at.File, frames[i].File) {
					return false
				}
			}
			return true
		})
		if len(found) > 0 {
			return found
		}
	}
	return nil
}
