package gosrc

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/testrun"
)

// named prints the frames of its callers from functions of every kind that the compiler has names for.
var named = map[string]string{
	"go.mod": "module example.com/Up/named.v2\n\ngo 1.23\n",
	"main.go": `package main

import (
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"

	"example.com/Up/named.v2/pkg.v3"
)

func where() int {
	var pcs [50]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		fmt.Printf("%s\t%s\t%d\n", f.Function, f.File, f.Line)
		if !more {
			return 0
		}
	}
}

var global = func() int { return where() }
var table = map[string]func() int{"a": func() int { return where() }}
var value = where()
var once = sync.OnceValue(func() int { return where() })

type V struct{ n int }

func (V) M()   { where() }
func (*V) P()  { func() { where() }() }

type E struct{ *V }

type G[A, B any] struct{ a A }

func (g *G[A, B]) M() { func() { where() }() }

func init() { where() }
func init() { func() { where() }() }

func numbers() iter.Seq[int] { return func(yield func(int) bool) { yield(where()) } }

func gen[T any](t T) { defer func() { where() }() }

//go:noinline
func call(f func()) { f() }

func main() {
	global()
	table["a"]()
	once()
	v := &V{}
	v.M()
	v.P()
	call(v.M)
	call(v.P)
	call(E{v}.P)
	(&G[int, *V]{}).M()
	call((&G[[]int, map[string]V]{}).M)
	gen(1)
	gen(pkg.T{})
	for range numbers() {
		where()
		for range numbers() {
			where()
		}
	}
	slices.SortFunc([]int{2, 1}, func(a, b int) int { where(); return a - b })
	call(pkg.Wrap(func() { where() }))
	call((&pkg.T{}).Wrap(func() { where() }))
	done := make(chan bool)
	go func() { defer close(done); where() }()
	<-done
	func() {
		func() { defer call(func() { where() }) }()
	}()
}
`,
	"pkg.v3/pkg.go": `package pkg

type T struct{}

func Wrap(f func()) func() { return func() { f() } }

func (t *T) Wrap(f func()) func() { return func() { f() } }
`,
}

// TestCompiler has all frames of a real program found, without doubts about them.
func TestCompiler(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program three times")
	}
	out, err := exec.Command("go", "env", "GOROOT", "GOMODCACHE", "GOVERSION").Output()
	if err != nil {
		testrun.Missing(t, "go env: %v", err)
	}
	env := strings.Fields(string(out))
	root := lay(t, named)
	for _, flag := range []string{"-trimpath", "-trimpath=false", "-gcflags=-l"} {
		t.Run(flag, func(t *testing.T) {
			cmd := exec.Command("go", "run", flag, ".")
			cmd.Dir = root
			cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("go run: %v\n%s", err, &stderr)
			}
			f := New(Options{Dir: root, GOROOT: env[0], GOMODCACHE: env[1], SDK: root, GoVersion: env[2], MainModule: "example.com/Up/named.v2"})
			seen := map[Frame]bool{}
			for text := range strings.Lines(string(out)) {
				part := strings.Split(strings.TrimSpace(text), "\t")
				line, err := strconv.Atoi(part[2])
				if err != nil {
					t.Fatal(err)
				}
				fr := Frame{part[0], part[1], line}
				if seen[fr] || strings.HasPrefix(fr.File, "<") {
					continue
				}
				seen[fr] = true
				got, err := f.Find(t.Context(), fr)
				if err != nil || len(got.Notes) > 0 {
					t.Errorf("%+v: found %s (%s), notes %q, %v", fr, got.Path, got.How, got.Notes, err)
					continue
				}
				rel, err := filepath.Rel(root, got.Path)
				if mine := strings.Contains(fr.File, "named.v2") || strings.HasPrefix(fr.File, filepath.ToSlash(root)); mine != (err == nil && filepath.IsLocal(rel)) {
					t.Errorf("%+v: found %s (%s)", fr, got.Path, got.How)
				}
			}
			if len(seen) < 50 {
				t.Errorf("only %d frames:\n%s", len(seen), out)
			}
		})
	}
}

func TestParseSymbol(t *testing.T) {
	tests := []struct{ in, pkg, parts string }{
		{"main.main", "main", "main"},
		{"main.(*T).Method", "main", "T Method"},
		{"main.T.Method", "main", "T Method"},
		{"github.com/a/b.(*T[...]).M.func1", "github.com/a/b", "T M func1"},
		{"a.F[go.shape.struct { x/y.T; z [3]int }].func1.2", "a", "F func1 2"},
		{"gopkg.in/yaml%2ev3.Unmarshal", "gopkg.in/yaml.v3", "Unmarshal"},
		{"main.glob..func1", "main", "glob  func1"},
		{"main.init.0", "main", "init 0"},
		{"main.main-range1", "main", "main"},
		{"main.main-range1-range1", "main", "main"},
		{"main.(*T).M-range2-range1.func1", "main", "T M func1"},
		{"gopkg.in/yaml%252ev3.Wrap.func1", "gopkg.in/yaml.v3", "Wrap func1"},
		{"_.goready.func1", "_", "goready func1"},
		{"main.(*T).M-fm", "main", "T M"},
		{"main.main.func1.(*T[...]).Wrap.2", "main", "main func1 T Wrap 2"},
		{"malloc", "", ""},
		{"", "", ""},
		{".x", "", ""},
		{"a%zz.f", "", ""},
		{"std::vector<int>::push", "", ""},
	}
	for _, test := range tests {
		got := parseSymbol(test.in)
		if got.pkg != test.pkg || strings.Join(got.parts, " ") != test.parts {
			t.Errorf("parseSymbol(%q) = %q, %q, want %q, %q", test.in, got.pkg, got.parts, test.pkg, test.parts)
		}
	}
}

// FuzzFind holds that no name leads out of the folders that were named, and that what is found holds the line.
func FuzzFind(f *testing.F) {
	root := lay(f, files)
	finder := New(options(root))
	for _, fr := range []Frame{
		{"main.run", "example.com/Up/app/main.go", 6},
		{"github.com/Acme/lib.Lib", "github.com/Acme/lib@v1.2.0/lib.go", 6},
		{"sort.Sort", "/usr/local/go/src/sort/sort.go", 4},
		{"main.F[a/b.c]", `C:\x\..\main.go`, 1},
		{"", "example.com/Up/app/../../loose/main.go", 1},
		{"", "github.com/Acme/lib@v1.2.0/../../../../loose/main.go", 1},
	} {
		f.Add(fr.Func, fr.File, fr.Line)
	}
	f.Fuzz(func(t *testing.T, fn, file string, line int) {
		if filename.IsAbs(file) && !strings.HasPrefix(file, "/ci/") {
			return // what is recorded with its full name may be anywhere
		}
		got, err := finder.Find(t.Context(), Frame{fn, file, line})
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		rel, err := filepath.Rel(root, got.Path)
		if err != nil || !filepath.IsLocal(rel) || strings.HasPrefix(rel, "loose") || strings.HasPrefix(rel, "other") || line > len(got.Lines) {
			t.Errorf("%q in %q at %d: found %s with %d lines", fn, file, line, got.Path, len(got.Lines))
		}
	})
}
