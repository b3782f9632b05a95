package heapgraph

import (
	"math/rand/v2"
	"runtime"
	"testing"
)

// big makes a heap of a map and a slice that both refer to n items with a name each, and a list of n/2 nodes that a third one refers to.
func big(n int) *Heap {
	rnd := rand.New(rand.NewPCG(1, 2))
	g := Graph{Types: []string{"", "map[string]*main.Item", "map.group[string]*main.Item", "main.Item", "[]uint8", "[]*main.Item", "main.Node"}, Steps: []string{"", "value", "[]", ".name", ".next", ".data"}, Sites: [][]Frame{nil}}
	groups := n / 8
	items := 2 + groups
	list := items + 2*n
	total := list + n/2
	order := rnd.Perm(n)
	g.First = append(make([]uint32, 0, total+1), 0)
	object := func(typ, words uint32) {
		g.Words = append(g.Words, words)
		g.Type = append(g.Type, typ)
		g.First = append(g.First, uint32(len(g.To)))
	}
	edge := func(step uint32, to int) {
		g.To = append(g.To, uint32(to))
		g.Step = append(g.Step, step)
	}
	for i := range groups {
		edge(0, 2+i)
	}
	object(1, 6)
	for i := range n {
		edge(2, items+2*i)
	}
	object(5, uint32(n))
	for i := range groups {
		for k := range 8 {
			edge(1, items+2*order[8*i+k])
		}
		object(2, 17)
	}
	for i := range n {
		edge(3, items+2*i+1)
		object(3, 4)
		object(4, 2)
	}
	for i := range n / 2 {
		if i > 0 {
			edge(4, list+i-1)
		}
		edge(5, items+2*i)
		object(6, 2)
	}
	g.Roots = []Root{
		{Object: 0, Name: "main.index", Type: "map[string]*main.Item"}, {Object: 1, Name: "main.owners", Type: "[]*main.Item"},
		{Object: uint32(total - 1), Name: "main.head", Type: "*main.Node"},
	}
	return &Heap{Graph: g}
}

func BenchmarkMerge(b *testing.B) {
	h := big(3_800_000)
	b.Logf("%d objects, %d edges", len(h.Words), len(h.To))
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		if _, _, err := Profile(h); err != nil {
			b.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.Sys-before.HeapReleased)/float64(len(h.Words)), "sys-B/object")
		b.ReportMetric(float64(before.HeapAlloc)/float64(len(h.Words)), "graph-B/object")
		b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(len(h.Words)), "allocated-B/object")
	}
}
