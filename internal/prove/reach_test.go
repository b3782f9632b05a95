package prove

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/report"
	"golang.org/x/tools/cover"
)

func TestBegun(t *testing.T) {
	const text = `mode: set
example.com/p/main.go:3.13,5.16 2 1
example.com/p/main.go:5.16,7.3 1 0
example.com/p/main.go:9.2,9.20 1 1
example.com/p/main.go:9.20,9.30 1 0
example.com/p/main.go:12.2,13.3 0 0
example.com/p/x.go:1.1,2.2 1 1
example.com/p/q/x.go:3.1,4.2 1 1
`
	ran, err := cover.ParseProfilesFromReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	got := begun(ran, "example.com/p")
	want := map[place]bool{{"main.go", 3}: true, {"main.go", 5}: false, {"main.go", 9}: false, {"x.go", 1}: true}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// What cannot be called with made-up arguments may be reached by tests, which is said.
func TestReachedByTests(t *testing.T) {
	if testing.Short() {
		t.Skip("runs tests of two versions")
	}
	dir := t.TempDir()
	for v, sum := range map[string]string{"old": "n + n", "new": "2 * n"} {
		write(t, filepath.Join(dir, v, "go.mod"), []byte("module example.com/p\n\ngo 1.26\n"))
		write(t, filepath.Join(dir, v, "p.go"), fmt.Appendf(nil, `package p

import "os"

// Wipe removes a file, so nobody calls it with a name that is made up.
func Wipe(name string, n int) int {
	if n < 0 {
		return 0
	}
	os.Remove(name)
	return %s
}

func Other(name string, n int) int {
	os.Remove(name)
	return %s
}
`, sum, sum))
		write(t, filepath.Join(dir, v, "p_test.go"), []byte(`package p

import (
	"path/filepath"
	"testing"
)

func TestWipe(t *testing.T) {
	if Wipe(filepath.Join(t.TempDir(), "gone"), 1) != 2 {
		t.Error("wrong")
	}
}
`))
	}
	p := proveIn(t, dir, "old", "new", Options{Executions: 10, Time: time.Hour})
	got := make(map[string]report.Tried)
	for _, f := range p.Functions {
		got[f.Name] = f
	}
	if w := got["Wipe"]; w.Reached != 0 || w.Tested == 0 || w.Tested >= w.Blocks {
		t.Errorf("Wipe: calls reach %d of %d blocks, tests %d; want none, and some", w.Reached, w.Blocks, w.Tested)
	}
	if o := got["Other"]; o.Blocks == 0 || o.Reached != 0 || o.Tested != 0 {
		t.Errorf("Other: %+v; want that nothing reaches it", o)
	}
}

// The benchmarks that somebody asks for are looked at first, and the others as long as there is time.
func TestReachedFirst(t *testing.T) {
	if testing.Short() {
		t.Skip("builds tests")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), []byte("module example.com/p\n\ngo 1.26\n"))
	write(t, filepath.Join(dir, "p.go"), []byte("package p\n\nfunc Sum(n int) int {\n\treturn n + n\n}\n"))
	write(t, filepath.Join(dir, "p_test.go"), []byte(`package p

import "testing"

func BenchmarkA(b *testing.B) { Sum(b.N) }
func BenchmarkB(b *testing.B) {}
func BenchmarkC(b *testing.B) { Sum(b.N) }
func BenchmarkD(b *testing.B) { Sum(b.N) }
`))
	tests := []struct {
		first string
		most  int // that are looked for
		limit time.Duration
		want  string
		count count
	}{
		{"^$", 9, 0, "BenchmarkA BenchmarkC BenchmarkD", count{4, 0}},
		{"[BD]$", 1, 0, "BenchmarkD", count{2, 2}},
		{"[BD]$", 1, 1, "BenchmarkB", count{1, 3}}, // whether it reaches it takes too long to find out
	}
	for _, test := range tests {
		v := Version{Name: "p", Dir: dir}
		r := &run{change: &Change{Old: v, New: v}, opt: Options{First: regexp.MustCompile(test.first)}, proof: &report.Proof{}}
		found, n, err := r.reachingIn(t.Context(), probing{
			dir: "./.", file: filepath.Join(t.TempDir(), "p.test"), time: "1x", paths: []string{"example.com/p"}, touched: map[string][]span{"example.com/p/p.go": {{3, 5}}},
			limit: test.limit,
			ends:  func(found []reaching, _ time.Duration) bool { return len(found) >= test.most },
		})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, b := range found {
			names = append(names, b.name)
		}
		if got := strings.Join(names, " "); got != test.want || n != test.count {
			t.Errorf("%q first, at most %d: got %s, %v, want %s, %v", test.first, test.most, got, n, test.want, test.count)
		}
	}
}

// TestPartsReached holds which parts of benchmarks do not reach what changed.
func TestPartsReached(t *testing.T) {
	if testing.Short() {
		t.Skip("builds tests")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), []byte("module example.com/p\n\ngo 1.26\n"))
	write(t, filepath.Join(dir, "p.go"), []byte("package p\n\nfunc Sum(n int) int {\n\treturn n + n\n}\n"))
	write(t, filepath.Join(dir, "p_test.go"), []byte(`package p

import (
	"os"
	"testing"
)

func sum(b *testing.B)  { Sum(b.N) }
func none(b *testing.B) {}

func BenchmarkPlain(b *testing.B) { Sum(b.N) }

func BenchmarkParts(b *testing.B) {
	b.Run("a sum/of=2", sum)
	b.Run("none", none)
	b.Run("none", none)
	b.Run("deep", func(b *testing.B) {
		b.Run("sum", sum)
		b.Run("none", none)
	})
}

func BenchmarkAround(b *testing.B) {
	Sum(1)
	b.Run("none", none)
	b.Run("sum", sum)
}

func BenchmarkAroundAlone(b *testing.B) {
	Sum(1)
	b.Run("none", none)
	b.Run("neither", none)
}

func BenchmarkVaries(b *testing.B) {
	for range os.Getpid() {
		Sum(1) // another number of times in each process
	}
	b.Run("none", none)
	b.Run("sum", sum)
}

var made = 0

func BenchmarkOneAfterTheOther(b *testing.B) {
	b.Run("first", func(b *testing.B) { made = Sum(b.N) })
	b.Run("second", func(b *testing.B) {
		if made == 0 {
			b.Fatal("nothing was made")
		}
	})
}
`))
	v := Version{Name: "p", Dir: dir}
	r := &run{change: &Change{Old: v, New: v}, opt: Options{Time: time.Hour}, proof: &report.Proof{}}
	found, _, err := r.reachingIn(t.Context(), probing{
		dir: "./.", file: filepath.Join(t.TempDir(), "p.test"), time: "1x", apart: true, paths: []string{"example.com/p"}, touched: map[string][]span{"example.com/p/p.go": {{3, 5}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, b := range found {
		got[b.name] = strings.Join(b.away, " ")
	}
	want := map[string]string{
		"BenchmarkPlain": "", "BenchmarkParts": "Parts/none Parts/none#01 Parts/deep/none", "BenchmarkAround": "Around/none", "BenchmarkAroundAlone": "",
		"BenchmarkVaries": "", "BenchmarkOneAfterTheOther": "",
	}
	if !maps.Equal(got, want) {
		t.Errorf("the parts that do not reach it are %q, want %q", got, want)
	}
}
