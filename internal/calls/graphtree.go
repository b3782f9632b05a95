package calls

import "slices"

// tree returns the graph in which a frame is a node of its own in every context.
func (b *Builder) tree() (*Graph, *treeIndex) {
	x := &treeIndex{b: b, child: make(map[[2]int]int)}
	var stack []uint32
	for i := range b.Profile.NumSamples() {
		w, live := b.sample(i)
		if !live {
			continue
		}
		stack = b.Profile.Stack(i, stack[:0])
		n := -1
		for _, l := range slices.Backward(stack) {
			for j, f := range b.Table.Of(l) {
				parent := n
				n = x.find(parent, f)
				node := x.nodes[n]
				node.Cum += w.V
				node.CumDiv += w.Div
				if parent >= 0 {
					node.call(x.nodes[parent], w, b.Table.Inlines(j))
				}
			}
		}
		if n >= 0 {
			x.nodes[n].Flat += w.V
			x.nodes[n].FlatDiv += w.Div
		}
	}
	g := &Graph{all: x.nodes, Abs: b.Magnitude()}
	for _, n := range x.nodes {
		if n.Cum == 0 && n.Flat == 0 || b.DropNegative && negative(n.Flat, n.Cum) {
			continue
		}
		g.Nodes = append(g.Nodes, n)
	}
	return g, x
}

// call adds calls from the only caller of n.
func (n *Node) call(from *Node, w Weight, inline bool) {
	if len(n.In) == 0 {
		e := &Edge{From: from, To: n, Inline: true}
		from.Out = append(from.Out, e)
		n.In = append(n.In, e)
	}
	e := n.In[0]
	e.Weight += w.V
	e.div += w.Div
	e.Inline = e.Inline && inline
}

// A treeIndex finds the node of a frame below a node.
type treeIndex struct {
	b     *Builder
	nodes []*Node
	child map[[2]int]int // by parent and frame
}

func (x *treeIndex) find(parent int, f int32) int {
	key := [2]int{parent, int(f)}
	n, ok := x.child[key]
	if !ok {
		n = len(x.nodes)
		x.child[key] = n
		x.nodes = append(x.nodes, &Node{Frame: &x.b.Table.Frames[f], ID: int32(n), Parent: parent})
	}
	return n
}

// trimTree takes the nodes out of a tree for which keep is false and ties their callees to their callers.
func (g *Graph) trimTree(keep func(*Node) bool) {
	var kept []*Node
	for _, n := range g.Nodes {
		if keep(n) {
			kept = append(kept, n)
			continue
		}
		if len(n.In) == 0 {
			for _, e := range n.Out {
				e.To.In = nil
			}
			continue
		}
		up := n.In[0]
		parent := up.From
		parent.Out = slices.DeleteFunc(parent.Out, func(e *Edge) bool { return e == up })
		for _, e := range n.Out {
			e.From = parent
			e.Residual = true
			e.Inline = e.Inline && up.Inline
			parent.Out = append(parent.Out, e)
		}
	}
	g.Nodes = kept
	g.removeRedundant()
}
