package disk

// An idTable finds numbers by hashes, which are spread already. A map takes two cache misses for each, and receiving a profile looks up a thousand stacks.
type idTable struct {
	slots []idSlot // a power of two, of which at least a third is free
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
