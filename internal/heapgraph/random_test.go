package heapgraph

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// random makes a heap of up to n objects, with holders of all kinds.
func random(rnd *rand.Rand, n int) *Heap {
	g := Graph{
		Types: []string{"", "A", "B", "map[string]A", "map.group[string]A", "[]uint8"},
		Steps: []string{"", ".a", ".next", "[]"},
		Sites: [][]Frame{nil, {{Func: "main.f"}, {Func: "main.main"}}, {{Func: "main.main"}}, {{Func: "main.g"}, {Func: "main.main"}}, {{Func: "main.h"}}},
	}
	n = 1 + rnd.IntN(n)
	per := 1 + rnd.IntN(3)
	g.First = []uint32{0}
	for range n {
		g.Words = append(g.Words, 1+rnd.Uint32N(9))
		g.Type = append(g.Type, rnd.Uint32N(uint32(len(g.Types))))
		for range rnd.IntN(2 * per) {
			g.To = append(g.To, rnd.Uint32N(uint32(n)))
			g.Step = append(g.Step, rnd.Uint32N(uint32(len(g.Steps))))
		}
		g.First = append(g.First, uint32(len(g.To)))
	}
	for range 1 + rnd.IntN(1+rnd.IntN(24)) {
		r := Root{Object: rnd.Uint32N(uint32(n)), Step: rnd.Uint32N(uint32(len(g.Steps)))}
		switch r.Kind = RootKind(rnd.IntN(5)); r.Kind {
		case Variable:
			r.Name, r.Where, r.Count = "v", 1+rnd.Uint32N(4), 2
		default:
			r.Name = fmt.Sprint("main.", rnd.IntN(14))
		}
		g.Roots = append(g.Roots, r)
	}
	for range rnd.IntN(3) {
		g.Made = append(g.Made, Sample{Object: rnd.Uint32N(uint32(n)), Site: 1 + rnd.Uint32N(4)})
	}
	return &Heap{Graph: g}
}

// A plain graph has holders and objects as nodes: objects first.
type plain struct {
	next  [][]int
	roots []int
	tier  []int // of nodes; -1 is not reached
}

func (p *plain) reach(without int) []bool {
	seen := make([]bool, len(p.next))
	var todo []int
	visit := func(n int) {
		if n != without && !seen[n] {
			seen[n] = true
			todo = append(todo, n)
		}
	}
	for _, r := range p.roots {
		visit(r)
	}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, m := range p.next[n] {
			visit(m)
		}
	}
	return seen
}

// plainOf returns the graph of what belongs to a tier: not what an earlier one reaches.
func plainOf(g *Graph, holders []holder, tier int) *plain {
	p := &plain{next: make([][]int, len(g.Words)+len(holders)), tier: make([]int, len(g.Words)+len(holders))}
	for o := range g.Words {
		for _, to := range g.To[g.First[o]:g.First[o+1]] {
			p.next[o] = append(p.next[o], int(to))
		}
	}
	for i, h := range holders {
		n := len(g.Words) + i
		for _, e := range h.below {
			p.next[n] = append(p.next[n], len(g.Words)+int(e.to))
		}
		for _, e := range h.holds {
			p.next[n] = append(p.next[n], int(e.to))
		}
	}
	taken := make([]bool, len(p.next))
	for k := range tier + 1 {
		p.roots = nil
		for i := range holders {
			if holders[i].up < 0 && holders[i].tier() == k {
				p.roots = append(p.roots, len(g.Words)+i)
			}
		}
		if k < tier {
			for n, is := range p.reach(-1) {
				taken[n] = taken[n] || is
			}
		}
	}
	for n := range p.next {
		p.next[n] = slices.DeleteFunc(p.next[n], func(m int) bool { return taken[m] })
	}
	return p
}

// TestRandom compares dominators, retained sizes and sets of holders with what is left when a node is taken out of the graph.
func TestRandom(t *testing.T) {
	for seed := range uint64(2000) {
		h := random(rand.New(rand.NewPCG(seed, 1)), 3+int(seed%18))
		if err := h.Check(); err != nil {
			t.Fatal(err)
		}
		g := &h.Graph
		holders, _ := holdersOf(g)
		tree := dominators(g, holders)
		sets := tree.together()
		rows := merge(g)
		nodeOf := func(n int) uint32 {
			if n < len(g.Words) {
				return tree.number[n]
			}
			return tree.held[n-len(g.Words)]
		}
		var reached own
		got := make(map[int]uint64) // retained by holders
		for i := range rows.list {
			for up := int32(i); up >= 0; up = rows.list[up].up {
				if rows.list[up].holder >= 0 {
					got[int(rows.list[up].holder)] += rows.list[i].bytes
				}
			}
			reached.bytes += rows.list[i].bytes
			reached.objects += rows.list[i].objects
		}
		var want own
		for tier := range tiers {
			p := plainOf(g, holders, tier)
			all := p.reach(-1)
			left := make([][]bool, len(p.next)) // when a node is taken out
			for n := range p.next {
				left[n] = p.reach(n)
			}
			for n, is := range all {
				if !is {
					continue
				}
				if n < len(g.Words) {
					want.bytes += uint64(g.Words[n]) * 8
					want.objects++
				} else {
					retained := uint64(0)
					for o, words := range g.Words {
						if all[o] && !left[n][o] {
							retained += uint64(words) * 8
						}
					}
					if got[n-len(g.Words)] != retained {
						t.Fatalf("seed %d: holder %q retains %d bytes, want %d", seed, holders[n-len(g.Words)].name, got[n-len(g.Words)], retained)
					}
				}
				node := nodeOf(n)
				if node == 0 {
					continue // an object that only one pointer leads to
				}
				var doms []int
				for d := range p.next {
					if d != n && all[d] && !left[d][n] {
						doms = append(doms, d)
					}
				}
				var have []int
				for up := tree.idom[node]; up != 0; up = tree.idom[up] {
					have = append(have, int(tree.node[up]))
				}
				slices.Sort(have)
				if !slices.Equal(doms, have) {
					t.Fatalf("seed %d: node %d is dominated by %v, want %v", seed, n, have, doms)
				}
				if n >= len(g.Words) || tree.idom[node] != 0 {
					continue
				}
				var by []uint32
				for _, r := range p.roots {
					q := *p
					q.roots = []int{r}
					if q.reach(-1)[n] {
						by = append(by, nodeOf(r))
					}
				}
				slices.Sort(by)
				more := len(by) > maxTogether
				if set := sets.list[sets.of[node]]; !slices.Equal(set.nodes, by[:min(len(by), maxTogether)]) || set.more != more {
					t.Fatalf("seed %d: object %d is held by %v, want %v", seed, n, set, by)
				}
			}
		}
		if want != reached || want != rows.reached {
			t.Fatalf("seed %d: reached %v, as rows %v, want %v", seed, rows.reached, reached, want)
		}
		h.Allocated = Sum{Objects: uint64(len(g.Words))}
		for _, w := range g.Words {
			h.Allocated.Bytes += uint64(w) * 8
		}
		p, garbage, err := Profile(h)
		if err != nil {
			t.Fatal(err)
		}
		space, err := p.SampleIndex(Space)
		if err != nil {
			t.Fatal(err)
		}
		sum := garbage.Bytes
		for _, v := range p.Values(space) {
			sum += uint64(v)
		}
		if sum != h.Allocated.Bytes {
			t.Fatalf("seed %d: the profile has %d bytes, want %d", seed, sum, h.Allocated.Bytes)
		}
	}
}

// TestDeep has a list that is as deep as it has nodes, with pointers both ways, and that a second holder has the end of.
func TestDeep(t *testing.T) {
	const n = 300_000
	g := Graph{Types: []string{"", "main.Node"}, Steps: []string{"", ".next", ".prev"}, Sites: [][]Frame{nil}, First: []uint32{0}}
	for i := range uint32(n) {
		g.Words, g.Type = append(g.Words, 3), append(g.Type, 1)
		if i+1 < n {
			g.To, g.Step = append(g.To, i+1), append(g.Step, 1)
		}
		if i > 0 {
			g.To, g.Step = append(g.To, i-1), append(g.Step, 2)
		}
		g.First = append(g.First, uint32(len(g.To)))
	}
	g.Roots = []Root{{Object: 0, Name: "main.first"}}
	for _, want := range []string{"main.first", "main.first + main.last"} {
		p, _, err := Profile(&Heap{Graph: g})
		if err != nil {
			t.Fatal(err)
		}
		if p.NumSamples() != 1 || p.Values(0)[0] != n || p.Depth(0) != 2 {
			t.Errorf("%d samples, the first with %d objects and %d frames", p.NumSamples(), p.Values(0)[0], p.Depth(0))
		}
		stack := p.Stack(0, nil)
		if got := p.Functions[p.Locations[stack[1]].Lines[0].Function].Name; got != want {
			t.Errorf("held by %s, want %s", got, want)
		}
		g.Roots = append(g.Roots, Root{Object: n - 1, Name: "main.last"})
	}
}

// TestIndexedList has a list whose items are in an index, too. To walk back along the list from each item takes the square of them: minutes.
func TestIndexedList(t *testing.T) {
	const n = 1_000_000
	g := Graph{Types: []string{"", "main.Node", "main.Item", "[]*main.Item"}, Steps: []string{"", ".next", ".item", "[]"}, Sites: [][]Frame{nil}, First: []uint32{0}}
	edge := func(step uint32, to uint32) { g.To, g.Step = append(g.To, to), append(g.Step, step) }
	object := func(typ uint32, words uint32) {
		g.Words, g.Type, g.First = append(g.Words, words), append(g.Type, typ), append(g.First, uint32(len(g.To)))
	}
	for i := range uint32(n) { // nodes
		if i+1 < n {
			edge(1, i+1)
		}
		edge(2, n+i)
		object(1, 2)
	}
	for i := range uint32(n) { // items, each with another way out, so that it is a node of the tree
		edge(2, n+i)
		object(2, 1)
	}
	for i := range uint32(n) {
		edge(3, n+i)
	}
	object(3, n)
	g.Roots = []Root{{Object: 0, Name: "main.first"}, {Object: 2 * n, Name: "main.index"}}
	holds(t, g, map[string]uint64{"main.first": 2 * n * 8, "main.index": n * 8, "main.first + main.index": n * 8})
}

// TestZigzag has a chain that leads to and fro between the numbers that a search gives to its nodes.
func TestZigzag(t *testing.T) {
	const n = 1000
	g := Graph{Types: []string{"", "main.Node"}, Steps: []string{"", ".next"}, Sites: [][]Frame{nil}, First: []uint32{0}}
	for i := range uint32(n) {
		if i+1 < n {
			g.To, g.Step = append(g.To, i+1), append(g.Step, 1)
		}
		g.Words, g.Type, g.First = append(g.Words, 1), append(g.Type, 1), append(g.First, uint32(len(g.To)))
	}
	for _, odd := range []int{0, 1} {
		for i := n - 2 + odd; i >= 0; i -= 2 {
			g.Roots = append(g.Roots, Root{Object: uint32(i), Name: "main.all"})
		}
	}
	g.Roots = append(g.Roots, Root{Object: 0, Name: "main.first"})
	holds(t, g, map[string]uint64{"main.all + main.first": n * 8})
}

// TestHolderNames has a goroutine that a go statement with arguments began, and a word of the compiler's own.
func TestHolderNames(t *testing.T) {
	g := Graph{
		Types: []string{"", "main.Job"}, Steps: []string{""}, Words: []uint32{1, 2}, Type: []uint32{1, 1}, First: []uint32{0, 0, 0},
		Sites: [][]Frame{nil, {{Func: "main.work"}, {Func: "main.main.gowrap1"}, {Func: "runtime.goexit"}}, {{Func: "main.handler", Line: 7}}},
		Roots: []Root{{Object: 0, Kind: Variable, Name: "j", Where: 1, Count: 1}, {Object: 1, Kind: Word, Where: 2}},
	}
	holds(t, g, map[string]uint64{"main.work": 8, "a temporary of main.handler": 16})
}

// holds compares what each outermost row holds with what is wanted.
func holds(t *testing.T, g Graph, want map[string]uint64) {
	t.Helper()
	p, _, err := Profile(&Heap{Graph: g})
	if err != nil {
		t.Fatal(err)
	}
	space, err := p.SampleIndex(Space)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for i, v := range p.Values(space) {
		stack := p.Stack(i, nil)
		got[p.Functions[p.Locations[stack[len(stack)-1]].Lines[0].Function].Name] += uint64(v)
	}
	if !maps.Equal(got, want) {
		t.Errorf("held: %v\nwant: %v", got, want)
	}
}
