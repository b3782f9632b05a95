package disk

import "github.com/hone-perf/hone/internal/store"

// An idTable maps hashes to numbers. A map would take two cache misses for each lookup, and receiving a profile looks up a thousand stacks.
type idTable struct {
	slots []idSlot // the length is a power of two, and at least a third is free
	used  int
}

type idSlot struct {
	hash uint64
	id   uint32 // plus 1; 0 is free
}

// newIDTable returns a table with room for n numbers.
func newIDTable(n int) idTable {
	size := 64
	for 3*n >= 2*size {
		size *= 2
	}
	return idTable{slots: make([]idSlot, size)}
}

// slot returns the one of a hash, or the free one where it belongs.
func (t *idTable) slot(hash uint64) *idSlot {
	last := uint64(len(t.slots) - 1)
	for i := hash; ; i++ {
		if s := &t.slots[i&last]; s.id == 0 || s.hash == hash {
			return s
		}
	}
}

func (t *idTable) get(hash uint64) (id uint32, ok bool) {
	s := t.slot(hash)
	return s.id - 1, s.id != 0
}

func (t *idTable) put(hash uint64, id uint32) {
	s := t.slot(hash)
	if s.id == 0 {
		t.used++
	}
	*s = idSlot{hash, id + 1}
	if 3*t.used >= 2*len(t.slots) {
		old := t.slots
		t.slots = make([]idSlot, 2*len(old))
		for _, s := range old {
			if s.id != 0 {
				*t.slot(s.hash) = s
			}
		}
	}
}

// A nodeTable finds nodes of a tree of calls by what they are. It holds only their numbers and looks them up in the tree: a service that is deployed often has a
// million nodes a day, and a map of them took 30 bytes for each.
type nodeTable struct {
	slots []uint32 // a power of two, of which at least a third is free; 0 is free, since nobody looks for the root
	used  int
}

// newNodeTable returns a table with room for n nodes.
func newNodeTable(n int) nodeTable {
	size := 64
	for 3*n >= 2*size {
		size *= 2
	}
	return nodeTable{slots: make([]uint32, size)}
}

func hashNode(n store.CallNode) uint64 {
	return mix(hashFactor, uint64(n.Parent)<<32|uint64(n.Frame))
}

func (t *nodeTable) get(nodes []store.CallNode, n store.CallNode) (id uint32, ok bool) {
	last := uint64(len(t.slots) - 1)
	for i := hashNode(n); ; i++ {
		if id := t.slots[i&last]; id == 0 || nodes[id] == n {
			return id, id != 0
		}
	}
}

// put takes a node that is in nodes and not in the table.
func (t *nodeTable) put(nodes []store.CallNode, id uint32) {
	t.take(nodes[id], id)
	if t.used++; 3*t.used < 2*len(t.slots) {
		return
	}
	old := t.slots
	t.slots = make([]uint32, 2*len(old))
	for _, id := range old {
		if id != 0 {
			t.take(nodes[id], id)
		}
	}
}

// take puts a node into the next free slot. It looks at no other node, each of which would be a cache miss.
func (t *nodeTable) take(n store.CallNode, id uint32) {
	last := uint64(len(t.slots) - 1)
	i := hashNode(n)
	for t.slots[i&last] != 0 {
		i++
	}
	t.slots[i&last] = id
}
