package heapgraph

import "slices"

// maxTogether is how many holders of one object are named.
const maxTogether = 8

// maxSets is how many different sets of holders are told apart; what any more sets hold is held by too many to name.
const maxSets = 1 << 16

// A holderSet is the nodes of the holders that an object is held by together, in order. When there are more than maxTogether, more is true.
type holderSet struct {
	nodes []uint32
	more  bool
}

// sets are the sets of holders of the nodes that no single holder dominates.
type sets struct {
	list []holderSet
	of   []uint32 // node → set
	ids  map[string]uint32
	both map[uint64]uint32 // two sets → their union
}

const (
	tooMany = 0          // the number of the set that stands for all sets that are not told apart
	noSet   = ^uint32(0) // it is not known yet who holds a node
)

// together finds which holders keep what has no dominator. What one dominates is held by the same holders as that one, so only the nodes right below 0 are looked
// at, each after those that refer to it. Those in a circle are held by the same: they are the strongly connected components, as Tarjan's algorithm finds
// them, without recursion.
func (t *tree) together() *sets {
	n, objects := uint32(len(t.node)), uint32(len(t.g.Words))
	s := &sets{ids: make(map[string]uint32), both: make(map[uint64]uint32), list: []holderSet{{more: true}}, of: make([]uint32, n)}
	top := make([]uint32, n) // node → the one right below 0 that dominates it
	shared := false
	for w := uint32(1); w < n; w++ {
		switch {
		case t.idom[w] != 0:
			top[w] = top[t.idom[w]]
		case t.node[w] >= objects:
			top[w], s.of[w] = w, s.intern(holderSet{nodes: []uint32{w}})
		default:
			top[w], s.of[w] = w, noSet
			shared = true
		}
	}
	if shared {
		t.components(s, top)
	}
	for w := uint32(1); w < n; w++ {
		s.of[w] = s.of[top[w]]
	}
	return s
}

// components fills in the sets of the nodes right below 0.
func (t *tree) components(s *sets, top []uint32) {
	type visit struct{ node, edge, low, set uint32 }
	var open []uint32 // nodes whose component is not complete
	var path []visit
	order, met := make([]uint32, len(top)), uint32(0)
	enter := func(w uint32) {
		met++
		order[w] = met
		open = append(open, w)
		path = append(path, visit{w, t.first[w], met, noSet})
	}
	for start := uint32(1); start < uint32(len(top)); start++ {
		if top[start] != start || s.of[start] != noSet {
			continue
		}
		for enter(start); len(path) > 0; {
			at := &path[len(path)-1]
			if at.edge < t.first[at.node+1] {
				from := top[t.from[at.edge]]
				at.edge++
				switch set := s.of[from]; {
				case set != noSet:
					at.set = s.union(at.set, set)
				case order[from] == 0:
					enter(from)
				default:
					at.low = min(at.low, order[from])
				}
				continue
			}
			done := *at
			if done.low == order[done.node] {
				for {
					w := open[len(open)-1]
					open = open[:len(open)-1]
					s.of[w] = done.set
					if w == done.node {
						break
					}
				}
			}
			if path = path[:len(path)-1]; len(path) > 0 {
				up := &path[len(path)-1]
				up.low, up.set = min(up.low, done.low), s.union(up.set, done.set)
			}
		}
	}
}

func (s *sets) intern(h holderSet) uint32 {
	key := make([]byte, 0, 4*len(h.nodes)+1)
	for _, n := range h.nodes {
		key = append(key, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
	}
	if h.more {
		key = append(key, '+')
	}
	id, ok := s.ids[string(key)]
	if !ok {
		if len(s.list) >= maxSets && len(h.nodes) > 1 {
			return tooMany
		}
		id = uint32(len(s.list))
		s.list = append(s.list, h)
		s.ids[string(key)] = id
	}
	return id
}

// union returns the set of the holders in two sets. Those that come first are kept, in whatever order sets are joined.
func (s *sets) union(a, b uint32) uint32 {
	if a > b {
		a, b = b, a
	}
	if a == tooMany || a == b || b == noSet {
		return a
	}
	pair := uint64(a)<<32 | uint64(b)
	if id, ok := s.both[pair]; ok {
		return id
	}
	nodes := slices.Concat(s.list[a].nodes, s.list[b].nodes)
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	more := s.list[a].more || s.list[b].more
	if len(nodes) > maxTogether {
		nodes, more = nodes[:maxTogether], true
	}
	id := s.intern(holderSet{nodes, more})
	if len(s.both) < 1<<20 { // more would take more than they save
		s.both[pair] = id
	}
	return id
}
