package rules

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/patch"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/render/words"
)

// TestTextShapes holds that texts that are put together in loops of all shapes are patched so that the program prints the same, with nothing left
// of what the patch makes needless: the patched program is in testdata/shapes/want.txt. It is as gofmt has it, and go vet says nothing.
func TestTextShapes(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	src := filepath.Join(root, "shapes", "main.go")
	text, err := os.ReadFile("testdata/shapes/main.go")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, text []byte) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(root, "go.mod"), []byte("module example.com/shapes\n\ngo 1.26\n"))
	write(src, text)
	run := func(args ...string) string {
		cmd := exec.Command("go", args...)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
		return string(out)
	}
	want := run("run", "./shapes")
	p := newProfile()
	wants := p.read(t, src, "main")
	a, err := advise.Run(t.Context(), All, []*recording.Recording{{Ref: "made.pprof", Profile: p.profile(t)}}, advise.Options{Dir: root, Least: 1e-9, Debug: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	now := text
	var left bytes.Buffer
	for _, f := range a.Findings {
		if f.Rule != "concat-loop" {
			continue
		}
		found = append(found, f.Where.String())
		if len(f.Fixes) == 0 {
			fmt.Fprintf(&left, "%s: %s\n", f.Where.Function, words.Missing(f.Missing))
			continue
		}
		edits, err := patch.Moved(src, text, now, f.Fixes[0].Edits)
		if err == nil {
			now, err = patch.Apply(now, edits)
		}
		if err != nil {
			t.Errorf("%s: %v", f.Where, err)
		}
	}
	slices.Sort(found)
	slices.Sort(wants)
	if found = slices.Compact(found); !slices.Equal(found, wants) {
		t.Errorf("found at %v; want %v", found, wants)
	}
	golden(t, "testdata/shapes/want.txt", left.String()+"\n"+string(now))
	if formatted, err := patch.Format(text, now); err != nil || !bytes.Equal(formatted, now) {
		t.Errorf("it is not as gofmt has it: %v", err)
	}
	write(src, now)
	run("vet", "./shapes")
	if got := run("run", "./shapes"); got != want {
		t.Errorf("with the patches it prints\n%s\nand without\n%s", got, want)
	}
}

// TestUsualSize holds that room is made for what profiles tell of texts, and for nothing where they tell nothing.
func TestUsualSize(t *testing.T) {
	const spread = 100 // as of a hundredth of the objects that each sample stands for
	for _, tt := range []struct {
		name  string
		made  map[int64]int64 // objects by size
		steps func(int64) float64
		share float64
		want  int64
	}{
		{"nothing", nil, byGrowing, halfOfGrowing, 0},
		{"all alike", map[int64]int64{16: 9000, 32: 1000, 64: 1000}, byGrowing, halfOfGrowing, 64},
		{"a few are long", map[int64]int64{32: 1000, 64: 990, 128: 100, 256: 90}, byGrowing, halfOfGrowing, 64},
		{"most are long", map[int64]int64{32: 1000, 64: 990, 128: 700, 256: 650}, byGrowing, halfOfGrowing, 256},
		{"in smaller steps", map[int64]int64{512: 1000, 1024: 2000, 2048: 2000}, byGrowing, halfOfGrowing, 2048},
		{"too long", map[int64]int64{4096: 3000, 8192: 3000}, byGrowing, halfOfGrowing, 0},
		{"too few samples", map[int64]int64{64: 150}, byGrowing, halfOfGrowing, 0},
		{"very small", map[int64]int64{8: 5000, 16: 9000}, byGrowing, halfOfGrowing, 0},
		{"by adding", map[int64]int64{32: 1600, 64: 3200, 128: 3100, 256: 300}, byAdding, halfOfAdding, 128},
		{"by adding, half of the last step", map[int64]int64{32: 1600, 64: 3200, 128: 3200, 256: 0}, byAdding, halfOfAdding, 128},
	} {
		l := &cost.Line{}
		for size, n := range tt.made {
			c := &cost.Chain{Traits: cost.Traits{Size: size}}
			c.Cost[cost.ObjectsMade], c.Cost[cost.ObjectsMadeSpread] = n, n*spread
			l.Chains = append(l.Chains, c)
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, "p.go", "package p", 0)
		if err != nil {
			t.Fatal(err)
		}
		p := &advise.Pass{Function: &advise.Function{Func: &code.Func{File: &code.File{Tok: set.File(f.Pos())}}, Lines: map[int]*cost.Line{1: l}}, Costs: &cost.Costs{}}
		if got := usualSize(p, []ast.Node{f.Name}, func(*cost.Chain) bool { return true }, tt.steps, tt.share); got != tt.want {
			t.Errorf("%s: %d bytes, want %d", tt.name, got, tt.want)
		}
	}
}

// TestUsualLength holds that slices begin with the room that saves the most arrays for no more memory, if any does.
func TestUsualLength(t *testing.T) {
	for _, tt := range []struct {
		name   string
		size   int64
		arrays map[int64]float64 // by their number of elements
		want   int64
	}{
		{"nothing", 8, nil, 0},
		{"all alike", 8, map[int64]float64{1: 1000, 2: 1000, 4: 1000}, 4},
		{"samples of small ones are missing", 8, map[int64]float64{4: 1000, 8: 1000}, 8},
		{"half are short", 8, map[int64]float64{1: 1000, 2: 500, 4: 500, 8: 500}, 8},
		{"most are short", 8, map[int64]float64{1: 1000, 2: 900, 4: 100, 8: 100}, 0},
		{"long", 8, map[int64]float64{1: 100, 2: 100, 4: 100, 8: 100, 16: 100, 32: 100, 64: 100}, 16},
		{"bytes begin with eight", 1, map[int64]float64{8: 1000, 16: 1000}, 16},
		{"large elements", 512, map[int64]float64{1: 1000, 2: 1000, 4: 1000}, 0},
		{"larger than room", 4096, map[int64]float64{1: 1000, 2: 1000, 4: 1000}, 0},
	} {
		if got := usualLengthOf(tt.size, tt.arrays); got.room != tt.want {
			t.Errorf("%s: room for %d elements, want %d", tt.name, got.room, tt.want)
		}
	}
}
