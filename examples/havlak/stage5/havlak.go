// Command havlak finds the loops of a large control-flow graph, again and again, as a compiler does for every function.
//
// The graph is made up: trees of loops with branches in them, 76,000 loops in all. The algorithm is that of Paul Havlak
// (Nesting of Reducible and Irreducible Loops, 1997), which extends Tarjan's: number the blocks in depth-first order, tell
// the edges that lead back from the others, then go through the possible headers from the innermost outwards and merge
// each loop that is found into its header.
//
// This is stage 5: the garbage collector had much to do, with the same lists again and again. They are kept from one
// call to the next.
package main

import (
	"flag"
	"fmt"
)

// unvisited is the number of a block that cannot be reached.
const unvisited = -1

// maxNonBackPreds limits the work that is spent on one block. What has more predecessors was not written by a person.
const maxNonBackPreds = 32 << 10

// The kinds of blocks, as far as loops are concerned.
type blockKind int

const (
	nonHeader   blockKind = iota // in no loop, or inside of one
	reducible                    // header of a loop with one entry
	self                         // a block that jumps to itself
	irreducible                  // header of a loop with several entries
	dead                         // cannot be reached
)

// A UnionFindNode is a block, or a loop that was merged into its header.
type UnionFindNode struct {
	parent    *UnionFindNode
	bb        *BasicBlock
	loop      *SimpleLoop
	dfsNumber int
}

// Init makes u stand for a block alone.
func (u *UnionFindNode) Init(bb *BasicBlock, dfsNumber int) {
	u.parent = u
	u.bb = bb
	u.dfsNumber = dfsNumber
	u.loop = nil
}

// FindSet returns the node that u was merged into, and shortens the way there.
func (u *UnionFindNode) FindSet() *UnionFindNode {
	var path []*UnionFindNode
	node := u
	for node != node.parent {
		if node.parent != node.parent.parent {
			path = append(path, node)
		}
		node = node.parent
	}
	for _, p := range path {
		p.parent = node.parent
	}
	return node
}

// Union merges u into b.
func (u *UnionFindNode) Union(b *UnionFindNode) {
	u.parent = b
}

// DFS numbers the blocks that can be reached from bb in depth-first order, beginning at current. It sets the last
// descendant of each and returns the last number it gave.
func DFS(bb *BasicBlock, nodes []*UnionFindNode, number, last []int, current int) int {
	nodes[current].Init(bb, current)
	number[bb.Name] = current
	lastID := current
	for _, target := range bb.OutEdges {
		if number[target.Name] == unvisited {
			lastID = DFS(target, nodes, number, last, lastID+1)
		}
	}
	last[current] = lastID
	return lastID
}

// isAncestor tells whether w is above v in the depth-first tree.
func isAncestor(w, v int, last []int) bool {
	return w <= v && v <= last[w]
}

func contains(list []*UnionFindNode, node *UnionFindNode) bool {
	for _, n := range list {
		if n == node {
			return true
		}
	}
	return false
}

// appendUnique appends x to a unless it is there.
func appendUnique(a []int, x int) []int {
	for _, y := range a {
		if x == y {
			return a
		}
	}
	return append(a, x)
}

// cache is what FindLoops keeps from one call to the next.
var cache struct {
	size         int
	number       []int
	nonBackPreds [][]int
	backPreds    [][]int
	kind         []blockKind
	last         []int
	nodes        []*UnionFindNode
}

// FindLoops adds the loops of cfg to lsg.
func FindLoops(cfg *CFG, lsg *LSG) {
	if cfg.Start == nil {
		return
	}
	size := len(cfg.Blocks)
	if cache.size < size {
		cache.size = size
		cache.number = make([]int, size)
		cache.nonBackPreds = make([][]int, size)
		cache.backPreds = make([][]int, size)
		cache.kind = make([]blockKind, size)
		cache.last = make([]int, size)
		cache.nodes = make([]*UnionFindNode, size)
		for i := range cache.nodes {
			cache.nodes[i] = new(UnionFindNode)
		}
	}
	number := cache.number[:size]
	nonBackPreds := cache.nonBackPreds[:size]
	backPreds := cache.backPreds[:size]
	kind := cache.kind[:size]
	last := cache.last[:size]
	nodes := cache.nodes[:size]

	// Step a: number the blocks.
	for i := range nodes {
		number[i] = unvisited
		nonBackPreds[i] = nonBackPreds[i][:0]
		backPreds[i] = backPreds[i][:0]
		nodes[i].bb = nil
	}
	DFS(cfg.Start, nodes, number, last, 0)

	// Step b: tell the edges that lead back to an ancestor from the others.
	for w := range nodes {
		kind[w] = nonHeader
		bb := nodes[w].bb
		if bb == nil {
			kind[w] = dead
			continue
		}
		for _, pred := range bb.InEdges {
			v := number[pred.Name]
			if v == unvisited {
				continue
			}
			if isAncestor(w, v, last) {
				backPreds[w] = append(backPreds[w], v)
			} else {
				nonBackPreds[w] = appendUnique(nonBackPreds[w], v)
			}
		}
	}

	// Step c: find the bodies of the loops, inner ones first.
	for w := size - 1; w >= 0; w-- {
		bb := nodes[w].bb
		if bb == nil {
			continue
		}
		var body []*UnionFindNode
		for _, v := range backPreds[w] {
			if v == w {
				kind[w] = self
				continue
			}
			if node := nodes[v].FindSet(); !contains(body, node) {
				body = append(body, node)
			}
		}
		if len(body) > 0 {
			kind[w] = reducible
		}

		// Step d: go backwards from the ends of the loop until the header.
		worklist := append([]*UnionFindNode{}, body...)
		for len(worklist) > 0 {
			x := worklist[0]
			worklist = worklist[1:]
			if len(nonBackPreds[x.dfsNumber]) > maxNonBackPreds {
				return
			}
			for _, y := range nonBackPreds[x.dfsNumber] {
				node := nodes[y].FindSet()
				switch {
				case !isAncestor(w, node.dfsNumber, last):
					kind[w] = irreducible
					nonBackPreds[w] = appendUnique(nonBackPreds[w], node.dfsNumber)
				case node.dfsNumber != w && !contains(body, node):
					worklist = append(worklist, node)
					body = append(body, node)
				}
			}
		}

		// Step e: merge the body into the header.
		if len(body) > 0 || kind[w] == self {
			loop := lsg.NewLoop(bb, kind[w] != irreducible)
			nodes[w].loop = loop
			for _, node := range body {
				node.Union(nodes[w])
				if node.loop != nil {
					node.loop.SetParent(loop)
				} else {
					loop.AddNode(node.bb)
				}
			}
		}
	}
}

// FindHavlakLoops finds the loops of cfg and returns how many lsg has now.
func FindHavlakLoops(cfg *CFG, lsg *LSG) int {
	FindLoops(cfg, lsg)
	return lsg.NumLoops()
}

func main() {
	n := flag.Int("n", 50, "how often to find the loops again")
	trees := flag.Int("trees", 10, "size of the graph, in trees of 7,600 loops")
	flag.Parse()

	cfg := NewGraph(*trees)
	lsg := NewLSG()
	FindHavlakLoops(cfg, lsg)
	lsg.CalculateNesting()

	sum := 0
	for range *n {
		sum += FindHavlakLoops(cfg, NewLSG())
	}
	fmt.Printf("%d blocks, %d loops, nested %d deep\n", len(cfg.Blocks), lsg.NumLoops(), lsg.Root.NestingLevel)
	fmt.Printf("%d loops found in %d repetitions\n", sum, *n)
}
