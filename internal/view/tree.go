package view

import "slices"

// tree returns the graph in which a frame is a node of its own in every context.
func (b *builder) tree() (*graph, *treeIndex) {
	x := &treeIndex{b: b, child: make(map[[2]int]int)}
	var stack []uint32
	for i := range b.p.NumSamples() {
		w, live := b.sample(i)
		if !live {
			continue
		}
		stack = b.p.Stack(i, stack[:0])
		n := -1
		for _, l := range slices.Backward(stack) {
			for j, f := range b.table.of(l) {
				parent := n
				n = x.find(parent, f)
				node := x.nodes[n]
				node.cum += w.v
				node.cumDiv += w.div
				if parent >= 0 {
					node.call(x.nodes[parent], w, j > 0)
				}
			}
		}
		if n >= 0 {
			x.nodes[n].flat += w.v
			x.nodes[n].flatDiv += w.div
		}
	}
	g := &graph{all: x.nodes, abs: b.magnitude()}
	for _, n := range x.nodes {
		if n.cum == 0 && n.flat == 0 || b.dropNegative && negative(n.flat, n.cum) {
			continue
		}
		g.nodes = append(g.nodes, n)
	}
	return g, x
}

// call adds calls from the only caller of n.
func (n *node) call(from *node, w weight, inline bool) {
	if len(n.in) == 0 {
		e := &edge{from: from, to: n, inline: true}
		from.out = append(from.out, e)
		n.in = append(n.in, e)
	}
	e := n.in[0]
	e.weight += w.v
	e.div += w.div
	e.inline = e.inline && inline
}

// A treeIndex finds the node of a frame below a node.
type treeIndex struct {
	b     *builder
	nodes []*node
	child map[[2]int]int // by parent and frame
}

func (x *treeIndex) find(parent int, f int32) int {
	key := [2]int{parent, int(f)}
	n, ok := x.child[key]
	if !ok {
		n = len(x.nodes)
		x.child[key] = n
		x.nodes = append(x.nodes, &node{Frame: &x.b.table.frames[f], id: int32(n), parent: parent})
	}
	return n
}

// trimTree takes the nodes out of a tree for which keep is false and ties their callees to their callers.
func (g *graph) trimTree(keep func(*node) bool) {
	var kept []*node
	for _, n := range g.nodes {
		if keep(n) {
			kept = append(kept, n)
			continue
		}
		if len(n.in) == 0 {
			for _, e := range n.out {
				e.to.in = nil
			}
			continue
		}
		up := n.in[0]
		parent := up.from
		parent.out = slices.DeleteFunc(parent.out, func(e *edge) bool { return e == up })
		for _, e := range n.out {
			e.from = parent
			e.residual = true
			e.inline = e.inline && up.inline
			parent.out = append(parent.out, e)
		}
	}
	g.nodes = kept
	g.removeRedundant()
}
