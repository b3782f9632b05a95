package profile

import (
	"hash/maphash"
	"math/bits"

	"github.com/hone-perf/hone/internal/pages"
)

// Hashes start from numbers that are new in every process, so that no input can be made whose entries all collide.
var (
	hashSeed   = maphash.MakeSeed()
	hashFactor = maphash.String(hashSeed, "factor") | 1
)

// mix adds a number to a hash.
func mix(hash, n uint64) uint64 {
	hi, lo := bits.Mul64(hash^n, hashFactor)
	return bits.RotateLeft64(hi^lo, 29)
}

// A hashIndex finds entries of tables by their content, which stays in the tables. Adding up a hundred profiles is
// mostly looking up what is already there; with Go maps, whose keys would be copies of the content, it takes half as
// long again. The zero hashIndex is ready to use.
type hashIndex struct {
	slots []hashSlot // open addressing
	n     int
}

type hashSlot struct {
	hash  uint32
	entry uint32 // 1 + number of the entry
}

func (s *hashSlot) free() bool    { return s.entry == 0 }
func (s *hashSlot) at() uint32    { return s.entry - 1 }
func (s *hashSlot) put(at uint32) { s.entry = at + 1 }

// find returns the slot of the entry with that hash for which same is true, or a free slot that the caller must fill.
func (x *hashIndex) find(hash uint64, same func(at uint32) bool) *hashSlot {
	if 2*x.n >= len(x.slots) {
		x.grow()
	}
	h := uint32(hash ^ hash>>32)
	for i := h; ; i++ {
		s := &x.slots[i&uint32(len(x.slots)-1)]
		if s.entry == 0 {
			s.hash = h
			x.n++
			return s
		}
		if s.hash == h && same(s.entry-1) {
			return s
		}
	}
}

// candidates sets at[i] to 1 + the number of the first entry that has hashes[i], or to 0. That is the one that find
// would return unless two hashes are equal by chance. Nothing waits for the result of another search, so the cache
// misses of all of them overlap; with find, each has to be waited for.
func (x *hashIndex) candidates(hashes []uint64, at []uint32) {
	clear(at)
	if x.n == 0 {
		return
	}
	mask := uint32(len(x.slots) - 1)
	for i, hash := range hashes {
		at[i] = x.slots[uint32(hash^hash>>32)&mask].entry // brings the slot into the cache
	}
	for i, hash := range hashes {
		h := uint32(hash ^ hash>>32)
		for j := h; ; j++ {
			s := x.slots[j&mask]
			if s.hash == h || s.entry == 0 {
				at[i] = s.entry
				break
			}
		}
	}
}

// table returns n entries of size bytes for looking up. What is read before it is written to gets a page of memory that all
// processes share, full of zeros, and when it is written to one of its own, which stops all cores for a moment: while
// a hundred profiles are added up, that is one thirtieth of the CPU time. To write a pointer reads what was there, while the
// collector runs.
func table[T any](n, size int) []T {
	t := pages.Make[T](n, n)
	var zero T
	for i := 0; i < n; i += 4096 / size {
		t[i] = zero
	}
	return t
}

func (x *hashIndex) grow() {
	old := x.slots
	x.slots = table[hashSlot](max(512, 2*len(old)), 8)
	mask := uint32(len(x.slots) - 1)
	for _, s := range old {
		if s.entry == 0 {
			continue
		}
		i := s.hash
		for x.slots[i&mask].entry != 0 {
			i++
		}
		x.slots[i&mask] = s
	}
}
