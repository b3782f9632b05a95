package heapgraph

// A tree is who dominates whom: the dominator of an object is the last object or holder that all ways from the roots to it have in common, so when it goes, the
// object goes. Nodes are holders and objects, numbered in the order in which a search meets them; 0 is above all holders. An object without pointers that
// a single pointer refers to needs no node, since what has this pointer is its dominator. Half of a heap is such objects.
type tree struct {
	g       *Graph
	holders []holder

	single bitset   // objects that need no node
	number []uint32 // object → node, or 0
	held   []uint32 // holder → node
	node   []uint32 // node → what it is: an object, or len(Words) and the index of a holder
	idom   []uint32 // node → node
	ends   [tiers]uint32

	// Node n is referred to by from[first[n]:first[n+1]], not counting those of later tiers.
	first, from []uint32
}

type bitset []uint64

func (b bitset) has(i uint32) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b bitset) add(i uint32)      { b[i/64] |= 1 << (i % 64) }

// dominators computes the tree with the simple algorithm of Lengauer and Tarjan, which takes O(edges · log nodes) whatever the heap is. Semi-NCA is a bit
// faster for most, but takes the square of the nodes for a list whose items are also in an index: it walks back along the list from each of them. Nothing is
// recursive: a list of ten million objects is as deep.
func dominators(g *Graph, holders []holder) *tree {
	t := &tree{g: g, holders: holders, number: make([]uint32, len(g.Words)), held: make([]uint32, len(holders))}
	nodes := t.findSingle() + len(holders)
	t.node = make([]uint32, 1, nodes)
	t.first = make([]uint32, 1, nodes+1)
	parent := make([]uint32, 1, nodes)
	next := make([]uint32, 1, nodes)
	for tier := range tiers {
		begin := uint32(len(t.node))
		for h := range holders {
			if holders[h].up < 0 && holders[h].tier() == tier {
				parent, next = t.search(uint32(h), begin, parent, next)
			}
		}
		t.ends[tier] = uint32(len(t.node))
	}
	t.idom = parent
	t.referrers()
	t.findDominators()
	return t
}

// findSingle finds the objects that need no node, and returns how many nodes there are at most, but for holders.
func (t *tree) findSingle() int {
	g := t.g
	once, many := make(bitset, len(g.Words)/64+1), make(bitset, len(g.Words)/64+1)
	for _, to := range g.To {
		w, bit := to/64, uint64(1)<<(to%64)
		many[w] |= once[w] & bit
		once[w] |= bit
	}
	for i := range t.holders {
		for _, e := range t.holders[i].holds {
			many.add(e.to)
		}
	}
	t.single = once
	nodes := 1
	for o := range uint32(len(g.Words)) {
		if g.First[o] == g.First[o+1] && !many.has(o) {
			t.single.add(o)
		} else {
			t.single[o/64] &^= 1 << (o % 64)
			nodes++
		}
	}
	return nodes
}

// search numbers the nodes below a holder in depth-first order, and counts for each node how many refer to it. Nodes before begin belong to earlier tiers.
// Next has the edge of a node at which its search goes on, and parent where it goes on then.
func (t *tree) search(h, begin uint32, parent, next []uint32) (parents, nexts []uint32) {
	g, objects := t.g, uint32(len(t.g.Words))
	meet := func(what, above uint32) uint32 {
		n := uint32(len(t.node))
		t.node = append(t.node, what)
		t.first = append(t.first, 0)
		parent = append(parent, above)
		start := uint32(0)
		if what < objects {
			t.number[what] = n
			start = g.First[what]
		} else {
			t.held[what-objects] = n
		}
		next = append(next, start)
		return n
	}
	at := meet(objects+h, 0)
	for at != 0 {
		what, below := t.node[at], uint32(0)
		e := next[at]
		if what < objects {
			for end := g.First[what+1]; e < end && below == 0; e++ {
				to := g.To[e]
				if t.single.has(to) {
					continue
				}
				n := t.number[to]
				if n == 0 {
					below = meet(to, at)
					n = below
				}
				if n >= begin {
					t.first[n]++
				}
			}
		} else {
			h := &t.holders[what-objects]
			for end := uint32(len(h.below) + len(h.holds)); e < end && below == 0; e++ {
				var n uint32
				if e < uint32(len(h.below)) {
					n = meet(objects+h.below[e].to, at) // only this one refers to it
					below = n
				} else if to := h.holds[e-uint32(len(h.below))].to; t.number[to] == 0 {
					n = meet(to, at)
					below = n
				} else {
					n = t.number[to]
				}
				if n >= begin {
					t.first[n]++
				}
			}
		}
		next[at] = e
		if below != 0 {
			at = below
		} else {
			at = parent[at]
		}
	}
	return parent, next
}

// referrers fills in from.
func (t *tree) referrers() {
	objects := uint32(len(t.g.Words))
	sum := uint32(0)
	for i := range t.first {
		sum += t.first[i]
		t.first[i] = sum // the end of its range; filling moves it to where that begins
	}
	t.first = append(t.first, sum)
	t.from = make([]uint32, sum)
	refer := func(u, to, begin uint32) {
		if to >= begin {
			t.first[to]--
			t.from[t.first[to]] = u
		}
	}
	for u := uint32(len(t.node)) - 1; u >= 1; u-- {
		begin := uint32(0)
		if k := t.tierOf(u); k > 0 {
			begin = t.ends[k-1]
		}
		what := t.node[u]
		if what >= objects {
			h := &t.holders[what-objects]
			for _, e := range h.below {
				refer(u, t.held[e.to], begin)
			}
			for _, e := range h.holds {
				refer(u, t.number[e.to], begin)
			}
			continue
		}
		for _, to := range t.g.To[t.g.First[what]:t.g.First[what+1]] {
			if !t.single.has(to) {
				refer(u, t.number[to], begin)
			}
		}
	}
}

// tierOf returns the tier of a node.
func (t *tree) tierOf(n uint32) int {
	k := 0
	for k < tiers-1 && n >= t.ends[k] {
		k++
	}
	return k
}

// findDominators fills in idom, which has the parents.
func (t *tree) findDominators() {
	n := uint32(len(t.node))
	// above is the parent, and is shortened as paths are walked. semi is the semidominator of a node that is done. Of one that is not, it is the first
	// of the nodes whose semidominator that is; the next of these is in idom, which they do not have yet.
	type info struct{ above, semi, label uint32 }
	of := make([]info, n)
	for i := range of {
		of[i] = info{t.idom[i], 0, uint32(i)}
	}
	var path []uint32
	// least returns the node with the least semidominator between v, which comes after w, and w. What comes after w was done before.
	least := func(v, w uint32) uint32 {
		if of[v].above <= w {
			return of[v].label
		}
		path = path[:0]
		top := v
		for of[top].above > w {
			path = append(path, top)
			top = of[top].above
		}
		above, best := of[top].above, of[top].label
		for i := len(path) - 1; i >= 0; i-- {
			x := &of[path[i]]
			x.above = above
			if of[best].semi < of[x.label].semi {
				x.label = best
			} else {
				best = x.label
			}
		}
		return best
	}
	for w := n - 1; w >= 1; w-- {
		for v := of[w].semi; v != 0; {
			next := t.idom[v]
			if u := least(v, w); of[u].semi < w {
				t.idom[v] = u // which has the same dominator
			} else {
				t.idom[v] = w
			}
			v = next
		}
		semi := of[w].above
		for _, v := range t.from[t.first[w]:t.first[w+1]] {
			if v > w {
				v = of[least(v, w)].semi
			}
			semi = min(semi, v)
		}
		if semi != of[w].above && semi != 0 {
			t.idom[w], of[semi].semi = of[semi].semi, w
		} else {
			t.idom[w] = semi
		}
		of[w].semi = semi
	}
	for w := uint32(1); w < n; w++ {
		if t.idom[w] != of[w].semi {
			t.idom[w] = t.idom[t.idom[w]]
		}
	}
}
