package profile

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// A rootMemo remembers the numbers of narrow roots by what they are in the file, which are the ids of locations as
// varints. A new root takes the place of an old one.
type rootMemo struct {
	slots []memoRoot
	used  int
}

// A memoRoot has one line of the cache, since waiting for memory is what looking it up costs.
type memoRoot struct {
	root uint16
	n    uint8 // bytes of text; 0 is nothing yet
	text [RootDepth * 3]byte
	_    [64 - 3 - RootDepth*3]byte
}

const (
	fewMemoRoots  = 1 << 7 // small profiles should not pay for many
	mostMemoRoots = 1 << 14
)

// slot returns the place for a root, or nil when its text is longer than it need be.
func (m *rootMemo) slot(text []byte) *memoRoot {
	if len(text) > RootDepth*3 {
		return nil
	}
	if m.slots == nil {
		m.slots = make([]memoRoot, fewMemoRoots)
	}
	return &m.slots[maphash.Bytes(hashSeed, text)&uint64(len(m.slots)-1)]
}

// add remembers a root.
func (m *rootMemo) add(text []byte, root uint16) {
	r := m.slot(text)
	if r == nil {
		return
	}
	if r.n == 0 {
		m.used++
	}
	r.root, r.n = root, uint8(copy(r.text[:], text))
	if m.used <= len(m.slots)/2 || len(m.slots) == mostMemoRoots {
		return
	}
	old := m.slots
	m.slots, m.used = make([]memoRoot, min(4*len(old), mostMemoRoots)), 0
	for i := range old {
		if r := &old[i]; r.n > 0 {
			*m.slot(r.text[:r.n]) = *r
			m.used++
		}
	}
}

// is reports whether the root is the one with that text.
func (r *memoRoot) is(text []byte) bool {
	return r != nil && bytes.Equal(r.text[:r.n], text)
}

// rootStart returns where the last ids begin that are as many as a root has, or -1 when there are fewer.
func rootStart(ids []byte) int {
	left := RootDepth + 1 // ends of ids, with that of the one before
	i := len(ids)
	for ; i >= 8; i -= 8 {
		ends := ^binary.LittleEndian.Uint64(ids[i-8:]) & 0x8080808080808080
		n := bits.OnesCount64(ends)
		if n < left {
			left -= n
			continue
		}
		for ; left > 1; left-- {
			ends &^= 1 << (63 - bits.LeadingZeros64(ends))
		}
		return i - bits.LeadingZeros64(ends)/8
	}
	for ; i > 0; i-- {
		if ids[i-1] < 0x80 {
			if left--; left == 0 {
				return i
			}
		}
	}
	if left == 1 {
		return 0
	}
	return -1
}
