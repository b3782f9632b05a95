package querier

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/fleet/message"
	"github.com/hone-perf/hone/internal/store"
)

// A tree says of each call what adding up all samples that begin with it says.
func TestTree(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		tr := newTree()
		want := map[string][4]int64{}
		var sizes []int64
		for range r.IntN(40) {
			var path []uint32
			at := ""
			side, v := r.IntN(2), 1+r.Int64N(20)
			count := func(self int64) {
				w := want[at]
				w[side] += v
				w[2+side] += self
				want[at] = w
			}
			n := r.IntN(12)
			for depth := range n {
				name := string(rune('a' + r.IntN(2+depth/6)))
				path = append(path, tr.name(name))
				at += name
				if depth == n-1 {
					count(v)
				} else {
					count(0)
				}
			}
			tr.count(path, side, v)
		}
		for _, w := range want {
			sizes = append(sizes, max(w[0], w[1]))
		}
		slices.Sort(sizes)
		most := 1 + r.IntN(30)
		least := int64(0)
		if len(sizes) > most {
			least = sizes[len(sizes)-most]
		}
		maps.DeleteFunc(want, func(_ string, w [4]int64) bool { return max(w[0], w[1]) < least })

		tr.cut(most, "")
		got := map[string][4]int64{}
		var above []string // names down to a frame, which come from the root
		tr.walk(func(string) bool { return false }, func(f *frame) {
			if f.depth == 0 || f.rest {
				return
			}
			above = append(above[:f.depth-1], f.name)
			got[strings.Join(above, "")] = [4]int64{f.total[0], f.total[1], f.self[0], f.self[1]}
		})
		if !maps.Equal(got, want) {
			t.Fatalf("seed %d: at most %d frames:\n%v\nwant\n%v", seed, most, fmt.Sprint(got), fmt.Sprint(want))
		}
	}
}

// What is picked from trees of calls is shown like all of it.
func TestPick(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		// Frames of one or two functions; some have the same ones.
		functions := func(frame uint32, names []string) []string {
			if frame%4 == 0 {
				names = append(names, string(rune('a'+frame/3%5)))
			}
			return append(names, []string{"a", "b", "c", other, "d", "e"}[frame/2%6])
		}
		trees := make([]store.CallTree, 1+r.IntN(3))
		for i := range trees {
			trees[i] = store.CallTree{Nodes: make([]store.CallNode, 1), Frames: 20, Functions: functions}
			for n := range uint32(r.IntN(60)) {
				parent := n - min(n, uint32(r.IntN(4)))
				if r.IntN(5) == 0 {
					parent = uint32(r.IntN(int(n) + 1))
				}
				trees[i].Nodes = append(trees[i].Nodes, store.CallNode{Parent: parent, Frame: uint32(r.IntN(20))})
			}
			for range r.IntN(40) {
				trees[i].Costs = append(trees[i].Costs, store.CallCost{Node: uint32(r.IntN(len(trees[i].Nodes))), Value: r.Int64N(12) - 1})
			}
		}
		all := func() *tree {
			whole := newTree()
			for _, one := range trees {
				for _, c := range one.Costs {
					if c.Value <= 0 {
						continue
					}
					var path []uint32
					for at := c.Node; at != 0; at = one.Nodes[at].Parent {
						for _, name := range slices.Backward(functions(one.Nodes[at].Frame, nil)) {
							path = append(path, whole.name(name))
						}
					}
					slices.Reverse(path)
					whole.count(path, 0, c.Value)
				}
			}
			return whole
		}
		for _, n := range []int{1, 1 + r.IntN(30), 1000} {
			if got, want := message.MarshalJSON(pick(trees, n, "").graph(n)), message.MarshalJSON(all().graph(n)); string(got) != string(want) {
				t.Fatalf("seed %d: the %d largest frames are\n%s\nwant\n%s", seed, n, got, want)
			}
			if got, want := pick(trees, n, other).bytes(n), all().bytes(n); string(got) != string(want) {
				t.Fatalf("seed %d: the %d largest frames are\n%q\nwant\n%q", seed, n, got, want)
			}
		}
	}
}
