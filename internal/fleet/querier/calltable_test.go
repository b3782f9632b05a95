package querier

import (
	"math/rand/v2"
	"testing"

	"github.com/hone-perf/hone/internal/store"
)

// What calls cost is the same, however many of them cost something.
func TestSum(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const nodes = 5*callPage + 17
	tree := store.CallTree{Nodes: make([]store.CallNode, nodes)}
	for i := 1; i < nodes; i++ {
		tree.Nodes[i].Parent = uint32(r.IntN(i))
	}
	for _, costs := range []int{1, 20, nodes/fewCosts - 1, nodes/fewCosts + 1, nodes} {
		tree.Costs = nil
		want := make([]int64, nodes)
		for range costs {
			c := store.CallCost{Node: uint32(r.IntN(nodes)), Value: 1 + r.Int64N(100)}
			tree.Costs = append(tree.Costs, c)
			for at := c.Node; ; at = tree.Nodes[at].Parent {
				want[at] += c.Value
				if at == 0 {
					break
				}
			}
		}
		got := sum(tree)
		if few := costs < nodes/fewCosts; few != (got.all == nil) {
			t.Errorf("%d of %d nodes cost something: in pages is %v", costs, nodes, got.all == nil)
		}
		found := 0
		var look func(node uint32)
		look = func(node uint32) {
			found++
			if c := got.at(node); c.total != want[node] {
				t.Errorf("%d costs: node %d costs %d, want %d", costs, node, c.total, want[node])
			}
			for c := got.at(node).child; c != 0; c = got.at(c).next {
				look(c)
			}
		}
		look(0)
		for _, w := range want {
			if w > 0 {
				found--
			}
		}
		if found != 0 {
			t.Errorf("%d costs: %d calls too many are below others", costs, found)
		}
	}
}
