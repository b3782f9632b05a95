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

// maxRounds is how often sets are looked at again. Rounds go along the numbers of nodes and back in turn, so that long lists need few.
const maxRounds = 64

// together finds which holders keep what has no dominator.
func (t *tree) together() *sets {
	n, objects := uint32(len(t.node)), uint32(len(t.g.Words))
	s := &sets{ids: make(map[string]uint32), both: make(map[uint64]uint32), list: []holderSet{{more: true}}, of: make([]uint32, n)}
	shared := false
	for w := uint32(1); w < n; w++ {
		switch {
		case t.idom[w] != 0:
			s.of[w] = s.of[t.idom[w]]
		case t.node[w] >= objects:
			s.of[w] = s.intern(holderSet{nodes: []uint32{w}})
		default:
			s.of[w] = noSet
			shared = true
		}
	}
	for round := 0; shared; round++ {
		changed := false
		look := func(w uint32) {
			was := s.of[w]
			now := was
			switch {
			case t.idom[w] != 0:
				now = s.of[t.idom[w]]
			case t.node[w] < objects:
				for _, v := range t.from[t.first[w]:t.first[w+1]] {
					if of := s.of[v]; of != now && of != noSet {
						now = s.union(now, of)
					}
				}
			}
			if now != was {
				s.of[w] = now
				changed = true
			}
		}
		if round%2 == 0 {
			for w := uint32(1); w < n; w++ {
				look(w)
			}
		} else {
			for w := n - 1; w >= 1; w-- {
				look(w)
			}
		}
		if !changed {
			break
		}
		if round == maxRounds {
			// Only a heap made for it gets here. There may be more holders than were found.
			for i := range s.list {
				s.list[i].more = s.list[i].more || len(s.list[i].nodes) > 1
			}
			break
		}
	}
	return s
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
