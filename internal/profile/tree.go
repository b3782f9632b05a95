package profile

import (
	"math"
	"math/bits"
	"slices"
	"sync"
)

// A lazyTree is a tree that is built when it is first asked for.
type lazyTree struct {
	once sync.Once
	tree
}

// tree returns the calling-context tree of the samples.
func (p *Profile) tree() *tree {
	p.lazy.once.Do(func() { p.lazy.tree = p.buildTree() })
	return &p.lazy.tree
}

func (p *Profile) buildTree() tree {
	t := newTrie()
	context := make([]uint32, len(p.stack))
	var all [batch]lookup
	var stacks []uint32
	for from := 0; from < len(context); from += batch {
		part := context[from:min(from+batch, len(context))]
		stacks = stacks[:0]
		for i := range part {
			start := len(stacks)
			stacks = p.Stack(from+i, stacks)
			part[i] = uint32(len(stacks) - start)
		}
		rest := stacks
		for i, n := range part {
			all[i].stack, rest = rest[:n], rest[n:]
			slices.Reverse(all[i].stack)
		}
		t.addAll(all[:len(part)])
		for i := range part {
			part[i] = all[i].node
		}
	}
	out, order := t.finish()
	for i, n := range context {
		context[i] = order[n]
	}
	out.context = context
	return out
}

// A tree is a finished calling-context tree: contexts in preorder, each a run of locations.
type tree struct {
	context []uint32 // of each sample

	parent []uint32
	end    []uint32 // the contexts below c are c+1 … end[c]-1
	runs   []run
	frames arena
}

// A run is a piece of an arena.
type run struct{ start, len uint32 }

func (t *tree) run(c uint32) []uint32 { return t.frames.get(t.runs[c]) }

// An arena holds runs of frames. It grows in blocks, so that growing neither copies nor leaves garbage: frames are
// most of what a large profile takes.
type arena struct {
	blocks [][]uint32
	used   int // of the last block
}

const (
	blockBits = 20
	blockSize = 1 << blockBits // at least maxDepth
)

func (a *arena) get(r run) []uint32 {
	if r.len == 0 {
		return nil
	}
	at := r.start & (blockSize - 1)
	return a.blocks[r.start>>blockBits][at : at+r.len]
}

// put copies a stack into the arena. The packed stacks of a profile are limited so that numbers suffice.
func (a *arena) put(stack []uint32) run {
	n := len(stack)
	last := len(a.blocks) - 1
	if last < 0 || a.used+n > len(a.blocks[last]) {
		size := blockSize
		if last < 0 && n <= blockSize/64 {
			size = blockSize / 64 // most profiles are small
		}
		if last >= math.MaxUint32>>blockBits {
			panic("profile: more than 4 billion different frames")
		}
		a.blocks = append(a.blocks, make([]uint32, size))
		a.used = 0
		last++
	}
	copy(a.blocks[last][a.used:], stack)
	r := run{uint32(last)<<blockBits | uint32(a.used), uint32(n)}
	a.used += n
	return r
}

// A trie is a calling-context tree under construction. Looking a stack up costs one probe of a hash table for
// each place where stacks branch, and comparing runs of frames in between; a plain tree of frames would
// probe once for each frame, and stacks are long where they do not branch.
type trie struct {
	nodes  []trieNode
	frames arena
	table  []uint32 // open addressing over nodes by (parent, first); 0 is free
	shift  uint
}

type trieNode struct {
	parent uint32
	first  uint32 // first frame of the run, beside the other half of the hash key
	run
}

func newTrie() *trie {
	t := &trie{nodes: make([]trieNode, 1, 64)}
	t.resize(7)
	return t
}

func (t *trie) resize(log2 uint) {
	t.table = make([]uint32, 1<<log2)
	t.shift = 64 - log2
	for n := 1; n < len(t.nodes); n++ {
		t.table[t.slot(t.nodes[n].parent, t.nodes[n].first)] = uint32(n)
	}
}

func (t *trie) hash(parent, first uint32) uint32 {
	return uint32((uint64(parent)<<32 | uint64(first)) * 0x9E3779B97F4A7C15 >> t.shift)
}

// slot returns where the child of parent that starts with first is in the table, or the free slot where it
// would go.
func (t *trie) slot(parent, first uint32) uint32 {
	h := t.hash(parent, first)
	mask := uint32(len(t.table) - 1)
	for {
		n := t.table[h&mask]
		if n == 0 || t.nodes[n].parent == parent && t.nodes[n].first == first {
			return h & mask
		}
		h++
	}
}

// A lookup is a stack on its way down a trie.
type lookup struct {
	node  uint32   // how far it has come
	stack []uint32 // what is left of it

	// The step being taken: how far from its place in the table, what is there, and the start of its run.
	off   uint32
	child uint32
	at    trieNode
	peek  uint32
}

// addAll sets the node of each stack. A large trie does not fit the caches, and finding one stack is a chain of
// waits for memory; the steps here are such that the processor waits for those of many stacks at once. What is
// found stays true when other stacks are added, so only the last step of each is done one after the other.
func (t *trie) addAll(all []lookup) {
	var buf [batch]*lookup
	active := buf[:0]
	for i := range all {
		if all[i].node = Root; len(all[i].stack) > 0 {
			active = append(active, &all[i])
		}
	}
	mask := uint32(len(t.table) - 1)
	for len(active) > 0 {
		for _, l := range active {
			l.child = t.table[(t.hash(l.node, l.stack[0])+l.off)&mask]
		}
		for _, l := range active {
			l.at = t.nodes[l.child]
		}
		for _, l := range active {
			at := l.at.start & (blockSize - 1)
			if l.child != 0 {
				l.peek = t.frames.blocks[l.at.start>>blockBits][at]
			}
		}
		still := active[:0]
		for _, l := range active {
			if l.child == 0 {
				continue // not there
			}
			if l.at.parent != l.node || l.at.first != l.stack[0] {
				l.off++ // another is in its place
				still = append(still, l)
				continue
			}
			l.off = 0
			run := t.frames.get(l.at.run)
			if len(run) > len(l.stack) || !slices.Equal(run, l.stack[:len(run)]) {
				continue
			}
			l.node, l.stack = l.child, l.stack[len(run):]
			if len(l.stack) > 0 {
				still = append(still, l)
			}
		}
		active = still
	}
	for i := range all {
		all[i].node = t.addBelow(all[i].node, all[i].stack)
	}
}

// batch is how many stacks are looked up together.
const batch = 64

// addBelow returns the node of what is left of a stack below n. A node keeps its number when later stacks branch off
// in the middle of its run.
func (t *trie) addBelow(n uint32, stack []uint32) uint32 {
	for len(stack) > 0 {
		s := t.slot(n, stack[0])
		child := t.table[s]
		if child == 0 {
			return t.grow(n, stack, s)
		}
		run := t.frames.get(t.nodes[child].run)
		same := 1
		for same < len(run) && same < len(stack) && run[same] == stack[same] {
			same++
		}
		if same < len(run) {
			child = t.split(child, uint32(same), s, run[same])
		}
		n, stack = child, stack[same:]
	}
	return n
}

// grow adds stack as a child of n at free slot s.
func (t *trie) grow(n uint32, stack []uint32, s uint32) uint32 {
	id := uint32(len(t.nodes))
	t.nodes = append(t.nodes, trieNode{n, stack[0], t.frames.put(stack)})
	t.table[s] = id
	t.reserve()
	return id
}

// split cuts the run of n in two and returns the new node that holds the first at frames. The old number stays
// with the end of the run, which starts with next and is where samples and children hang. s is the slot of n.
func (t *trie) split(n, at, s, next uint32) uint32 {
	upper := uint32(len(t.nodes))
	c := t.nodes[n]
	t.nodes = append(t.nodes, trieNode{c.parent, c.first, run{c.start, at}})
	t.table[s] = upper
	t.nodes[n] = trieNode{upper, next, run{c.start + at, c.len - at}}
	t.table[t.slot(upper, next)] = n
	t.reserve()
	return upper
}

// reserve keeps the table at most five eighths full.
func (t *trie) reserve() {
	if len(t.nodes) > len(t.table)/8*5 {
		t.resize(uint(bits.Len(uint(len(t.table)))))
	}
}

// finish turns t into a tree. It also returns the context of each node. The trie must not be used afterwards.
func (t *trie) finish() (tree, []uint32) {
	n := len(t.nodes)
	t.table = nil

	// Children as linked lists, in the order in which they were first seen.
	child := make([]uint32, n) // first child
	next := make([]uint32, n)  // next sibling
	for i := n - 1; i > 0; i-- {
		p := t.nodes[i].parent
		next[i] = child[p]
		child[p] = uint32(i)
	}

	out := tree{parent: make([]uint32, n), runs: make([]run, n), frames: t.frames}
	order := make([]uint32, n)
	at := uint32(0)
	for i := uint32(1); i < uint32(n); i++ {
		// The next node in preorder: the first child, else the next sibling of the nearest ancestor that has one.
		if c := child[at]; c != 0 {
			at = c
		} else {
			for next[at] == 0 {
				at = t.nodes[at].parent
			}
			at = next[at]
		}
		node := &t.nodes[at]
		order[at] = i
		out.parent[i] = order[node.parent]
		out.runs[i] = node.run
	}
	t.nodes = nil

	out.end = child // no longer needed as such
	for i := range out.end {
		out.end[i] = uint32(i) + 1
	}
	for i := n - 1; i > 0; i-- {
		p := out.parent[i]
		out.end[p] = max(out.end[p], out.end[i])
	}
	return out, order
}
