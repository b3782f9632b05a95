package duel

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/stat"
)

// Benchmarks of which all code and data is the same are told from those that reach a change, however they do.
func TestSameCode(t *testing.T) {
	const code = `package m

import (
	"bytes"
	"strings"
)

type T struct{ a, b int }

type maker interface{ make() int }

type one struct{}

func (one) make() int { return 1 }

var table = [4]int{1, 2, 3, 4}

var chosen func(int) int = step

//go:noinline
func step(n int) int { return n + 1 }

//go:noinline
func changed(s string) string { return bytes.NewBufferString(s).String() }

func inlined() int { return 7 }

//go:noinline
func same(s string) bool { return strings.Contains(s, "x") && len([]string{s, "y", "z"}) > 2 }
`
	const tests = `package m

import "testing"

var sink any

func BenchmarkSame(b *testing.B) { for b.Loop() { sink = same("xyz") } }
func BenchmarkSub(b *testing.B) { b.Run("a", func(b *testing.B) { for b.Loop() { sink = same("xyz") } }) }
func BenchmarkCalls(b *testing.B) { for b.Loop() { sink = changed("xyz") } }
func BenchmarkInlined(b *testing.B) { for b.Loop() { sink = inlined() } }
func BenchmarkTable(b *testing.B) { for i := range b.N { sink = table[i%4] } }
func BenchmarkValue(b *testing.B) { for i := range b.N { sink = chosen(i) } }
func BenchmarkInterface(b *testing.B) { var m maker = one{}; for b.Loop() { sink = m.make() } }
func BenchmarkSize(b *testing.B) { for b.Loop() { sink = new(T) } }
`
	dirs := [2]string{t.TempDir(), t.TempDir()}
	write := func(dir, name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(name), 0o755)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range dirs {
		write(dir, "go.mod", "module example.com/m\n\ngo 1.24\n")
		write(dir, "m.go", code)
		write(dir, "m_test.go", tests)
		write(dir, "testdata/in.txt", "in")
		write(dir, "README.md", dir)
	}
	write(dirs[1], "m.go", strings.NewReplacer(
		// Imports may come and go. The compiler numbers data by where it is, so that of same is another one.
		"\t\"bytes\"\n", "", "return bytes.NewBufferString(s).String()", `if p := []string{s, "a", "b"}; len(p) > 9 { return p[0] }; return s + "!"`,
		"a, b int", "a, b, c int", "return 1", "return 2", "3, 4}", "3, 5}", "n + 1", "n + 2", "return 7", "return 8").Replace(code))

	list := func() (*[2]*listing, error) {
		t.Helper()
		var opt Options
		sides := [2]*Side{&opt.Old, &opt.New}
		for i, s := range sides {
			s.Name, s.Dir = sideNames[i], dirs[i]
		}
		d := &duel{opt: opt, out: &recording.Duel{}}
		builders, err := d.builders(context.Background(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		how := &built{builders: builders}
		for i, s := range sides {
			pkgs, err := s.packages(context.Background(), []string{"."}, nil, regexp.MustCompile("."))
			if err != nil || len(pkgs) != 1 {
				t.Fatal(pkgs, err)
			}
			how.pkgs[i] = pkgs[0]
		}
		return how.list(context.Background())
	}
	lists, err := list()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"Same": true, "Sub": true, "Calls": false, "Inlined": false, "Table": false, "Value": false, "Interface": false, "Size": false, "None": false} {
		if reached, got := reachSame(lists, "Benchmark"+name); got != want || want && !reached["example.com/m.same"] {
			t.Errorf("%s: %v, %v", name, got, reached)
		}
	}

	r := &row{built: &built{listings: lists}}
	r.reached, _ = reachSame(lists, "BenchmarkSame")
	for name, want := range map[string]bool{"same": true, "inlined": false, "changed": false, "step": false, "BenchmarkSub": true, "none": true} {
		if got := r.sameIn(false, named(t, "runtime.mallocgc runtime/malloc.go"), named(t, "example.com/m."+name+" example.com/m/m.go")); got != want {
			t.Errorf("a profile with %s: %v", name, got)
		}
	}

	write(dirs[1], "testdata/in.txt", "IN")
	if _, err := list(); err == nil {
		t.Error("files that benchmarks may read are taken for the same")
	}
	write(dirs[1], "testdata/in.txt", "in")
	write(dirs[1], "m.go", strings.Replace(code, "n + 1", "n + 2", 1)+"\nfunc init() { table[0]++ }\n")
	if lists, err = list(); err != nil {
		t.Fatal(err)
	}
	if _, same := reachSame(lists, "BenchmarkSame"); same {
		t.Error("what runs before all benchmarks changed")
	}
	for name, want := range map[string]bool{"Same": true, "Calls": true, "Value": false} {
		if _, got := reachOwn(lists, "Benchmark"+name); got != want {
			t.Errorf("%s, but for what runs before it: %v", name, got)
		}
	}
	r.built.listings = lists
	r.reached, _ = reachOwn(lists, "BenchmarkSame")
	for _, tt := range []struct {
		stack string // from the leaf
		want  bool
	}{
		{"example.com/m.same example.com/m.BenchmarkSame", true},
		{"example.com/m.step example.com/m.BenchmarkSame", false},
		{"example.com/m.step example.com/m.init.0 runtime.doInit1", true},
	} {
		b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
		var stack []uint32
		for i, name := range strings.Fields(tt.stack) {
			b.Functions = append(b.Functions, profile.Function{Name: name})
			b.Locations = append(b.Locations, profile.Location{Mapping: profile.NoMapping, Lines: []profile.Line{{Function: uint32(i)}}})
			stack = append(stack, uint32(i))
		}
		b.Renumber()
		b.Add(stack, 0, []int64{1})
		p, err := b.Profile()
		if err != nil {
			t.Fatal(err)
		}
		if got := r.sameIn(true, p); got != tt.want {
			t.Errorf("a profile with %s, but for what runs before benchmarks: %v", tt.stack, got)
		}
	}
}

// Without profiles that explain changes, hone still looks whether there is another code to explain them.
func TestSameCodeWithoutWhy(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs benchmarks")
	}
	var sides [2]Side
	for i, more := range []string{"", "func BenchmarkNew(b *testing.B) {}\n"} {
		dir := t.TempDir()
		for name, text := range map[string]string{
			"go.mod": "module example.com/m\n\ngo 1.24\n",
			"m.go":   "package m\n\nvar n int\n\n//go:noinline\nfunc work() { n++ }\n",
			"m_test.go": "package m\n\nimport \"testing\"\n\nfunc BenchmarkWork(b *testing.B) {\n\tfor b.Loop() {\n\t\twork()\n\t}\n}\n" +
				more,
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		sides[i].Name, sides[i].Dir = sideNames[i], dir
	}
	// So few pairs tell nothing, whatever they show.
	plan := stat.Plan{Within: 0.99, Looks: []int{fewestPairs}}
	d, err := Run(context.Background(), Options{Old: sides[0], New: sides[1], Bench: "Work$", Budget: time.Nanosecond, Plan: plan, Noise: &Noise{Spread: 0.02, Of: 7}, NoWhy: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Benchmarks) != 1 || !d.Benchmarks[0].SameCode || len(d.Why) > 0 {
		t.Errorf("%+v", d)
	}
}
