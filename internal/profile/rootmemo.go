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
	slots []uint32 // number of a root, below memoUsed and bits of the hash of its text; or 0
	used  int
	texts []byte // by number of the root; since each has as many varints, none is the beginning of another
}

const (
	fewMemoRoots  = 1 << 8 // small profiles should not pay for many
	mostMemoRoots = 1 << 15

	memoText = RootDepth * 3
	memoUsed = 1 << 16 // the lowest bit of the mark of a slot
	memoRoot = memoUsed - 1
)

// reuse takes the memory of one that is not needed any more, if there is one, for m, which is empty.
func (m *rootMemo) reuse() {
	if spare := spareMemos.get(1); spare != nil {
		*m = spare[:1][0]
	}
}

// release keeps the memory of m for another one.
func (m *rootMemo) release() {
	const small = 1 << 12 // small profiles should not pay for clearing many, either
	if n := len(m.slots); 0 < n && n <= small {
		clear(m.slots)
		spareMemos.put([]rootMemo{{slots: m.slots, texts: m.texts[:0]}}, 1, 1)
	}
	*m = rootMemo{}
}

// find returns the number of the root that has a text.
func (m *rootMemo) find(text []byte) (root uint32, ok bool) {
	if len(text) > memoText || len(m.slots) == 0 {
		return 0, false
	}
	hash := maphash.Bytes(hashSeed, text)
	slot := m.slots[hash&uint64(len(m.slots)-1)]
	if slot&^memoRoot != memoMark(hash) {
		return 0, false
	}
	root = slot & memoRoot
	return root, bytes.HasPrefix(m.texts[memoText*root:], text)
}

// memoMark returns what a slot has above the number of a root whose text has that hash.
func memoMark(hash uint64) uint32 { return uint32(hash>>32)&^memoRoot | memoUsed }

// add remembers a root.
func (m *rootMemo) add(text []byte, root uint32) {
	if len(text) > memoText {
		return
	}
	if 2*m.used >= len(m.slots) && len(m.slots) < mostMemoRoots {
		m.grow()
	}
	end := memoText * (int(root) + 1)
	if end > cap(m.texts) {
		m.texts = grown(m.texts, min(max(4*end, memoText*fewMemoRoots), memoText*maxRoots))
	}
	m.texts = m.texts[:max(len(m.texts), end)]
	copy(m.texts[end-memoText:], text)
	m.put(maphash.Bytes(hashSeed, text), root)
}

func (m *rootMemo) put(hash uint64, root uint32) {
	slot := &m.slots[hash&uint64(len(m.slots)-1)]
	if *slot == 0 {
		m.used++
	}
	*slot = memoMark(hash) | root
}

func (m *rootMemo) grow() {
	old := m.slots
	m.slots, m.used = make([]uint32, max(fewMemoRoots, min(4*len(old), mostMemoRoots))), 0
	for _, slot := range old {
		if slot != 0 {
			root := slot & memoRoot
			text := m.texts[memoText*root:][:memoText]
			m.put(maphash.Bytes(hashSeed, text[:varintsEnd(text, RootDepth)]), root)
		}
	}
}

// varintsEnd returns where the first n varints end.
func varintsEnd(b []byte, n int) int {
	for i, c := range b {
		if c < 0x80 {
			if n--; n == 0 {
				return i + 1
			}
		}
	}
	return len(b)
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
