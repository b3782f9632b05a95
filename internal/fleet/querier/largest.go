package querier

import (
	"errors"
	"slices"

	"github.com/hone-perf/hone/internal/store"
)

// A picker finds the largest frames of a flame graph in trees of calls, without making the others: it looks at what is below a frame only when that is
// the largest one left. A day of a service that is deployed every hour has a million calls, of which thousands are shown.
type picker struct {
	*tree
	trees []picked
	spots []spot    // of the frames that were found, those of one next to each other
	heap  []waiting // the largest one first
	now   []waiting // that are looked into however small they are
	named uint32    // what those are named; 0 is no name of a frame

	texts []string // of one frame
	room  []uint32 // for names of frames

	// For byName: the frames below one, the spots of one in any order and which frame each is of, and by name which frame has it, if met says
	// that this is about the same frame above.
	frames  []waiting
	mixed   []spot
	which   []int32
	met     []uint32
	frameOf []int32
	when    uint32
}

// picked is one of the trees.
type picked struct {
	store.CallTree
	calls callTable
	names [][]uint32 // by frame: its functions, the outermost first; nil until it is needed
}

// calls is what a node costs, with all below it, and what it calls.
type calls struct {
	total       int64
	child, next uint32 // 0 is none: the first node is below no other
}

// A callTable has the calls of nodes. Where few of them cost something, it has them in pages, of which it makes only those that are needed: an hour of a service
// that is deployed each hour has a few of the nodes of a day, most of them next to each other.
type callTable struct {
	all   []calls // or nil
	pages []*[callPage]calls
}

const (
	callPage = 1 << 10
	fewCosts = 16 // nodes for one that costs something
)

func newCallTable(t store.CallTree) callTable {
	if len(t.Costs) > len(t.Nodes)/fewCosts {
		return callTable{all: make([]calls, len(t.Nodes))}
	}
	return callTable{pages: make([]*[callPage]calls, len(t.Nodes)/callPage+1)}
}

// at returns the calls of a node that costs something.
func (t *callTable) at(node uint32) *calls {
	if t.all != nil {
		return &t.all[node]
	}
	return &t.pages[node/callPage][node%callPage]
}

// making returns the calls of a node, and makes room for them when there is none.
func (t *callTable) making(node uint32) *calls {
	if t.all != nil {
		return &t.all[node]
	}
	page := &t.pages[node/callPage]
	if *page == nil {
		*page = new([callPage]calls)
	}
	return &(*page)[node%callPage]
}

// addUp adds what a node costs to the one above it.
func (t *callTable) addUp(nodes []store.CallNode, node uint32, c *calls) {
	if c.total > 0 && node > 0 {
		up := t.making(nodes[node].Parent)
		up.total += c.total
		c.next, up.child = up.child, node
	}
}

// A spot is a place in one of the trees. A frame of a flame graph stands for as many as have the same names on the way to it.
type spot struct {
	tree, line int32 // the latter in the names of the frame
	node       uint32
}

// waiting is a frame that was found, and has not been looked into.
type waiting struct {
	total    int64
	name     uint32
	node     int32 // of the tree
	from, to int32 // in spots
}

// pick makes a tree that has the n largest frames, those that are named always, and the ones below them.
func pick(trees []store.CallTree, n int, always string) *tree {
	p := &picker{tree: newTree()}
	p.named = p.name(always)
	most := min(n, defaultNodes)
	p.spots, p.heap = make([]spot, 0, 4*most), make([]waiting, 0, 2*most)
	p.paths, p.nodes = make([]uint32, 0, 4*most), slices.Grow(p.nodes, 3*most)
	root := waiting{to: int32(len(trees))}
	for i, t := range trees {
		one := picked{CallTree: t, calls: sum(t), names: make([][]uint32, t.Frames)}
		p.trees = append(p.trees, one)
		p.spots = append(p.spots, spot{tree: int32(i), line: -1})
		root.total += one.calls.at(0).total
	}
	p.nodes[0].total[0] = root.total
	p.expand(root)
	for least := int64(0); ; {
		for len(p.now) > 0 {
			w := p.now[len(p.now)-1]
			p.now = p.now[:len(p.now)-1]
			p.expand(w)
		}
		if len(p.heap) == 0 || n <= 0 && p.heap[0].total < least {
			return p.tree
		}
		w := p.pop()
		least = w.total
		n -= p.expand(w)
	}
}

// sum adds up what calls cost. What costs nothing is below no other.
func sum(t store.CallTree) callTable {
	out := newCallTable(t)
	out.making(0)
	for _, c := range t.Costs {
		if c.Value > 0 {
			out.making(c.Node).total += c.Value
		}
	}
	// A node comes after the one above it.
	for i := len(out.all) - 1; i > 0; i-- {
		out.addUp(t.Nodes, uint32(i), &out.all[i])
	}
	for p, page := range slices.Backward(out.pages) {
		for i := callPage - 1; i >= 0 && page != nil; i-- {
			out.addUp(t.Nodes, uint32(p*callPage+i), &page[i])
		}
	}
	return out
}

// namesOf returns the names of a frame of one of the trees.
func (p *picker) namesOf(tree int32, frame uint32) []uint32 {
	t := &p.trees[tree]
	if t.names[frame] == nil {
		p.texts = t.Functions(frame, p.texts[:0])
		if cap(p.room)-len(p.room) < len(p.texts) {
			p.room = make([]uint32, 0, max(1<<10, len(p.texts)))
		}
		from := len(p.room)
		for _, text := range p.texts {
			p.room = append(p.room, p.name(text))
		}
		t.names[frame] = p.room[from:len(p.room):len(p.room)]
	}
	return t.names[frame]
}

// expand finds what is below a frame, and returns how many frames it stands for itself: those of which each calls only the next one are one node.
func (p *picker) expand(w waiting) (frames int) {
	for frames = 1; ; frames++ {
		below := p.below(w)
		if w.node != 0 && len(below) == 1 && below[0].total == w.total {
			// All of it goes on.
			n := &p.nodes[w.node]
			if int(n.to) != len(p.paths) {
				n.from, n.to = p.moved(n.from, n.to)
			}
			p.paths = append(p.paths, below[0].name)
			n.to++
			w.from, w.to = below[0].from, below[0].to
			continue
		}
		self := w.total
		for _, b := range below {
			b.node = p.node(w.node, []uint32{b.name})
			p.nodes[b.node].total[0] = b.total
			self -= b.total
			if b.name == p.named {
				p.now = append(p.now, b)
			} else {
				p.push(b)
			}
		}
		p.nodes[w.node].self[0] = self
		return frames
	}
}

// moved copies a path to the end, where it can grow.
func (p *picker) moved(from, to int32) (int32, int32) {
	at := int32(len(p.paths))
	p.paths = append(p.paths, p.paths[from:to]...)
	return at, int32(len(p.paths))
}

// at returns the name at a spot.
func (p *picker) at(i int32) uint32 {
	s := p.spots[i]
	return p.namesOf(s.tree, p.trees[s.tree].Nodes[s.node].Frame)[s.line]
}

// below returns the frames below one. They are good until the next call.
func (p *picker) below(w waiting) []waiting {
	first := int32(len(p.spots))
	for i := w.from; i < w.to; i++ {
		s := p.spots[i]
		t := &p.trees[s.tree]
		if s.line >= 0 && int(s.line)+1 < len(p.namesOf(s.tree, t.Nodes[s.node].Frame)) {
			p.spots = append(p.spots, spot{s.tree, s.line + 1, s.node})
			continue
		}
		for c := t.calls.at(s.node).child; c != 0; c = t.calls.at(c).next {
			p.spots = append(p.spots, spot{s.tree, 0, c})
		}
	}
	return p.byName(first)
}

// byName puts the spots from one on in order of the frames that they are of.
func (p *picker) byName(first int32) []waiting {
	p.frames, p.which = p.frames[:0], p.which[:0]
	p.when++
	for i := first; i < int32(len(p.spots)); i++ {
		name := p.at(i)
		if int(name) >= len(p.met) {
			p.met = append(p.met, make([]uint32, len(p.names)-len(p.met))...)
			p.frameOf = append(p.frameOf, make([]int32, len(p.names)-len(p.frameOf))...)
		}
		if p.met[name] != p.when {
			p.met[name], p.frameOf[name] = p.when, int32(len(p.frames))
			p.frames = append(p.frames, waiting{name: name})
		}
		f := p.frameOf[name]
		p.which = append(p.which, f)
		p.frames[f].to++
		s := &p.spots[i]
		p.frames[f].total += p.trees[s.tree].calls.at(s.node).total
	}
	at := first
	for i := range p.frames {
		f := &p.frames[i]
		f.from, at = at, at+f.to
		f.to = f.from
	}
	p.mixed = append(p.mixed[:0], p.spots[first:]...)
	for i, s := range p.mixed {
		f := &p.frames[p.which[i]]
		p.spots[f.to] = s
		f.to++
	}
	return p.frames
}

// push adds a frame to the heap.
func (p *picker) push(w waiting) {
	p.heap = append(p.heap, w)
	for i := len(p.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if p.heap[up].total >= p.heap[i].total {
			return
		}
		p.heap[up], p.heap[i] = p.heap[i], p.heap[up]
		i = up
	}
}

// pop takes the largest frame from the heap.
func (p *picker) pop() waiting {
	top, last := p.heap[0], len(p.heap)-1
	p.heap[0] = p.heap[last]
	p.heap = p.heap[:last]
	for i := 0; ; {
		next := 2*i + 1
		if next+1 < last && p.heap[next+1].total > p.heap[next].total {
			next++
		}
		if next >= last || p.heap[i].total >= p.heap[next].total {
			return top
		}
		p.heap[i], p.heap[next] = p.heap[next], p.heap[i]
		i = next
	}
}

// largest returns a tree for a request that has the frames of its answer, or nil when the store has no trees for it.
func (s *Server) largest(c *call, m *stacktracesRequest) (*tree, error) {
	trees, ok := s.opt.Store.(store.CallStore)
	if !ok || len(m.IDs) > 0 || len(callSite(m.Stacks)) > 0 {
		return nil, nil
	}
	q, ref, err := s.selectOne(c, m.ProfileTypeID, m.LabelSelector, m.Start, m.End)
	if err != nil {
		return nil, err
	}
	all, err := trees.Calls(c.ctx, q, ref.typ)
	switch {
	case errors.As(err, new(*store.NothingError)):
		return newTree(), nil // as in merged
	case err != nil || all == nil:
		return nil, err
	}
	always := ""
	if m.Format == formatTree {
		always = other
	}
	return pick(all, nodesOf(m.MaxNodes), always), nil
}
