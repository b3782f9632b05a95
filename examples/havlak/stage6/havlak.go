// Command havlak finds the loops of a large control-flow graph, again and again, as a compiler does for every function.
//
// The graph is made up: trees of loops with branches in them, 76,000 loops in all. The algorithm is that of Paul Havlak
// (Nesting of Reducible and Irreducible Loops, 1997), which extends Tarjan's: number the blocks in depth-first order, tell
// the edges that lead back from the others, then go through the possible headers from the innermost outwards and merge
// each loop that is found into its header.
//
// This is stage 6: what is known about a block is in one place, the lists are kept by a LoopFinder, and the graph of the
// loops is made from few large pieces.
package main

import (
	"flag"
	"fmt"
	"sync"
)

// unvisited is the number of a block that cannot be reached.
const unvisited = -1

// maxNonBackPreds limits the work that is spent on one block. What has more predecessors was not written by a person.
const maxNonBackPreds = 32 << 10

// The kinds of blocks, as far as loops are concerned.
type blockKind uint8

const (
	nonHeader   blockKind = iota // in no loop, or inside of one
	reducible                    // header of a loop with one entry
	self                         // a block that jumps to itself
	irreducible                  // header of a loop with several entries
)

// A loopBlock is all that is known about a block, or about a loop that was merged into its header. Blocks are known by
// their depth-first numbers, so that the garbage collector need not look at them.
type loopBlock struct {
	name         int32 // of the block
	last         int32 // descendant
	parent       int32 // what it was merged into, or itself
	loop         int32 // place in LSG.Loops of the loop that it is the header of, or none
	backPreds    int32 // first of a list in LoopFinder.preds
	nonBackPreds int32
	kind         blockKind
}

// none ends a list.
const none = -1

// A pred is an entry of a list of predecessors.
type pred struct {
	block, next int32
}

// A LoopFinder finds loops. What it needs for that it keeps for the next time. The zero LoopFinder is ready; it is not
// for use by several goroutines at once.
type LoopFinder struct {
	number []int32     // by name of the block
	blocks []loopBlock // by number
	preds  []pred
	body   []int32
}

// DFS numbers the blocks that can be reached from bb in depth-first order.
func (f *LoopFinder) DFS(bb *BasicBlock) {
	w := int32(len(f.blocks))
	f.number[bb.Name] = w
	f.blocks = append(f.blocks, loopBlock{name: int32(bb.Name), parent: w, loop: none, backPreds: none, nonBackPreds: none})
	for _, target := range bb.OutEdges {
		if f.number[target.Name] == unvisited {
			f.DFS(target)
		}
	}
	f.blocks[w].last = int32(len(f.blocks) - 1)
}

// isAncestor tells whether w is above v in the depth-first tree.
func (f *LoopFinder) isAncestor(w, v int32) bool {
	return w <= v && v <= f.blocks[w].last
}

// find returns the block that v was merged into, and shortens the way there.
func (f *LoopFinder) find(v int32) int32 {
	for {
		parent := f.blocks[v].parent
		if parent == v {
			return v
		}
		f.blocks[v].parent = f.blocks[parent].parent
		v = parent
	}
}

// add puts v before a list of predecessors and returns its new beginning.
func (f *LoopFinder) add(list, v int32) int32 {
	f.preds = append(f.preds, pred{v, list})
	return int32(len(f.preds) - 1)
}

// addUnique is add unless v is in the list.
func (f *LoopFinder) addUnique(list, v int32) int32 {
	for p := list; p != none; p = f.preds[p].next {
		if f.preds[p].block == v {
			return list
		}
	}
	return f.add(list, v)
}

// appendUnique appends x to a unless it is there.
func appendUnique(a []int32, x int32) []int32 {
	for _, y := range a {
		if x == y {
			return a
		}
	}
	return append(a, x)
}

// FindLoops adds the loops of cfg to lsg.
func (f *LoopFinder) FindLoops(cfg *CFG, lsg *LSG) {
	if cfg.Start == nil {
		return
	}

	// Step a: number the blocks.
	if size := len(cfg.Blocks); cap(f.number) < size {
		f.number = make([]int32, size)
		f.blocks = make([]loopBlock, 0, size)
		f.preds = make([]pred, 0, 2*size)
	}
	f.number, f.blocks, f.preds = f.number[:len(cfg.Blocks)], f.blocks[:0], f.preds[:0]
	for i := range f.number {
		f.number[i] = unvisited
	}
	f.DFS(cfg.Start)

	// Step b: tell the edges that lead back to an ancestor from the others.
	for i := range f.blocks {
		w, block := int32(i), &f.blocks[i]
		for _, bb := range cfg.Blocks[block.name].InEdges {
			v := f.number[bb.Name]
			switch {
			case v == unvisited:
			case f.isAncestor(w, v):
				block.backPreds = f.add(block.backPreds, v)
			default:
				block.nonBackPreds = f.addUnique(block.nonBackPreds, v)
			}
		}
	}

	// Step c: find the bodies of the loops, inner ones first.
	for w := int32(len(f.blocks) - 1); w >= 0; w-- {
		header := &f.blocks[w]
		f.body = f.body[:0]
		for p := header.backPreds; p != none; p = f.preds[p].next {
			if v := f.preds[p].block; v == w {
				header.kind = self
			} else {
				f.body = appendUnique(f.body, f.find(v))
			}
		}
		if len(f.body) > 0 {
			header.kind = reducible
		}

		// Step d: go backwards from the ends of the loop until the header. The body is its own list of what to do.
		for i := 0; i < len(f.body); i++ {
			preds := 0
			for p := f.blocks[f.body[i]].nonBackPreds; p != none; p = f.preds[p].next {
				if preds++; preds > maxNonBackPreds {
					return
				}
				switch v := f.find(f.preds[p].block); {
				case !f.isAncestor(w, v):
					header.kind = irreducible
					header.nonBackPreds = f.addUnique(header.nonBackPreds, v)
				case v != w:
					f.body = appendUnique(f.body, v)
				}
			}
		}

		// Step e: merge the body into the header.
		if len(f.body) > 0 || header.kind == self {
			f.merge(w, cfg, lsg)
		}
	}
}

// merge makes a loop of the body and the header w, and merges them.
func (f *LoopFinder) merge(w int32, cfg *CFG, lsg *LSG) {
	inner := 0
	for _, v := range f.body {
		if f.blocks[v].loop != none {
			inner++
		}
	}
	header := &f.blocks[w]
	header.loop = int32(len(lsg.Loops))
	loop := lsg.NewLoop(cfg.Blocks[header.name], header.kind != irreducible, len(f.body)-inner, inner)
	for _, v := range f.body {
		block := &f.blocks[v]
		block.parent = w
		if block.loop != none {
			lsg.Loops[block.loop].SetParent(loop)
		} else {
			loop.AddNode(cfg.Blocks[block.name])
		}
	}
}

// finders are those that nobody uses at the moment.
var finders = sync.Pool{New: func() any { return new(LoopFinder) }}

// FindHavlakLoops finds the loops of cfg and returns how many lsg has now.
func FindHavlakLoops(cfg *CFG, lsg *LSG) int {
	f := finders.Get().(*LoopFinder)
	defer finders.Put(f)
	f.FindLoops(cfg, lsg)
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
