package profile

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// A rootTable holds the outermost locations of deep stacks. Of a profile of millions of samples some ten thousand roots
// make up a third of all frames: they stay in the cache, need not be copied into each stack, and what they come to can be
// told for all their samples at once.
type rootTable struct {
	narrow, wide roots
}

// roots are those with locations of one size.
type roots struct {
	index hashIndex
	data  []byte
	size  int // of a root
}

// RootDepth is how many locations a root has.
const RootDepth = 16

const (
	maxRoots = 1 << 16 // of each size; where there are more, the others stay part of their stacks

	rootSlack = 16 // bytes that are there after the last root, so that runs of it can be read in one go
)

// of returns the roots with locations of one size.
func (t *rootTable) of(wide bool) *roots {
	r := &t.narrow
	if wide {
		r = &t.wide
	}
	r.size = RootDepth * stackHead{wide: wide}.size()
	return r
}

// number returns the number of a root among those of its size, adding it when it is new, or false when it has none.
func (t *rootTable) number(root []byte, wide bool) (uint32, bool) {
	r := t.of(wide)
	hash := hashRoot(root)
	// As hashIndex.find, without a call for each comparison.
	h, slots := uint32(hash^hash>>32), r.index.slots
	for i := h; len(slots) > 0; i++ {
		s := &slots[i&uint32(len(slots)-1)]
		if s.free() {
			break
		}
		if s.hash == h && bytes.Equal(r.get(s.at()), root) {
			return s.at(), true
		}
	}
	n := uint32(r.index.n)
	if n == maxRoots {
		return 0, false
	}
	r.index.find(hash, func(uint32) bool { return false }).put(n)
	end := r.size * int(n+1)
	if r.data == nil && !wide {
		r.data = spareRoots.get(end + rootSlack)
	}
	if end+rootSlack > cap(r.data) {
		r.data = grown(r.data, min(4*max(end, 64*r.size), r.size*maxRoots)+rootSlack)
	}
	r.data = r.data[:end+rootSlack]
	copy(r.data[end-r.size:], root)
	return n, true
}

func (r *roots) get(n uint32) []byte { return r.data[r.size*int(n):][:r.size] }

// hashRoot returns the hash of a root, whose size is a multiple of 16.
func hashRoot(root []byte) uint64 {
	a, b := uint64(0), hashFactor
	for ; len(root) >= 16; root = root[16:] {
		a, b = mix(a, binary.LittleEndian.Uint64(root)), mix(b, binary.LittleEndian.Uint64(root[8:]))
	}
	return mix(a, bits.RotateLeft64(b, 31))
}

// id returns the number of a root among all roots, once the table is complete: wide ones come after narrow ones.
func (t *rootTable) id(n uint32, wide bool) int {
	if wide {
		return t.narrow.index.n + int(n)
	}
	return int(n)
}

// get returns the locations of a root, whether they are wide, and what comes after them.
func (t *rootTable) get(id int) (body []byte, wide bool) {
	r, n := &t.narrow, id
	if wide = id >= t.narrow.index.n; wide {
		r, n = &t.wide, id-t.narrow.index.n
	}
	return r.data[r.size*n:], wide
}

// NumRoots returns how many roots stacks have; see Stack.Root.
func (p *Profile) NumRoots() int {
	t := &p.stacks.roots
	return t.narrow.index.n + t.wide.index.n
}

// AppendRoot appends the indexes of the locations of a root, from the innermost.
func (p *Profile) AppendRoot(root int, buf []uint32) []uint32 {
	body, wide := p.stacks.roots.get(root)
	if wide {
		return unpack24(buf, body, RootDepth)
	}
	return unpack16(buf, body, RootDepth)
}
