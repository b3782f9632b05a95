package prove

import (
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/prove/worker"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/testrun"
)

// With more time where that is needed, a function whose calls are slow is called often enough.
func TestMoreTimeForCalls(t *testing.T) {
	testrun.Live(t, "builds and calls a pair of versions")
	const old = "package one\n\nimport \"time\"\n\nfunc Wait(n int) int { time.Sleep(2 * time.Millisecond); return n + 1 }\n"
	dir := t.TempDir()
	for v, text := range map[string]string{"old": old, "new": strings.Replace(old, "n + 1", "1 + n", 1)} {
		write(t, dir+"/"+v+"/go.mod", []byte("module example.com/one\n\ngo 1.26\n"))
		write(t, dir+"/"+v+"/one.go", []byte(text))
	}
	p := proveIn(t, dir, "old", "new", Options{NoTests: true, Time: 600 * time.Millisecond, More: 5 * time.Minute})
	if p.Verdict != report.Proven {
		t.Errorf("it is %s: %q", p.Verdict, p.Reasons)
	}
}

// A difference that was left open is looked into once more.
func TestOpenCallIsKept(t *testing.T) {
	f := &search{gen: &gen{surface: &surface{entries: []*entry{{name: "Parse"}}}}}
	p, q := &worker.Program{Steps: []worker.Step{{}}}, &worker.Program{Steps: []worker.Step{{}}}
	f.leaveOpen(p)
	f.leaveOpen(q)
	if len(f.open) != 1 || f.openCalls["Parse"] != p {
		t.Errorf("open are %q, %v", f.open, f.openCalls)
	}
}

// Sets of pointers to equal structs are compared whatever their order is, and graphs that take long to build leave time for others.
func TestGraphsAreProven(t *testing.T) {
	testrun.Live(t, "builds and calls a pair of versions")
	const old = `package graph

type Block struct {
	Name string
	Next []*Block
}

type Graph struct{ blocks []*Block }

// New makes a graph of so many rings, of a hundred blocks each.
func New(rings int) *Graph {
	g := new(Graph)
	for range rings {
		var last *Block
		for range 100 {
			b := new(Block)
			if g.blocks = append(g.blocks, b); last != nil {
				last.Next = append(last.Next, b)
			}
			last = b
		}
		last.Next = append(last.Next, g.blocks[len(g.blocks)-100])
	}
	return g
}

func (g *Graph) Add(name string) { g.blocks = append(g.blocks, &Block{Name: name}) }

// Ends returns the blocks that lead nowhere, and whether another one is before each.
func Ends(g *Graph) map[*Block]bool {
	out := make(map[*Block]bool)
	for _, b := range g.blocks {
		if len(b.Next) == 0 {
			out[b] = len(out) > 0
		}
	}
	return out
}
`
	dir := t.TempDir()
	for v, text := range map[string]string{"old": old, "new": strings.Replace(old, "out := make(map[*Block]bool)", "out := make(map[*Block]bool, len(g.blocks)/4)", 1)} {
		write(t, dir+"/"+v+"/go.mod", []byte("module example.com/graph\n\ngo 1.26\n"))
		write(t, dir+"/"+v+"/graph.go", []byte(text))
	}
	p := proveIn(t, dir, "old", "new", Options{NoTests: true, Time: time.Second, More: 5 * time.Minute})
	if p.Verdict != report.Proven {
		t.Errorf("it is %s: %q", p.Verdict, p.Reasons)
	}
}
