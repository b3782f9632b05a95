package profile

import (
	"encoding/binary"
	"errors"
	"hash/maphash"
)

// A stackTable holds the stacks of samples, packed as profile.proto packs them: the numbers of locations as varints,
// from the leaf to the root, where number n is Locations[n-1].
//
// Stacks are kept flat because most questions are asked once. Walking all frames of all samples costs about a
// nanosecond for each; interning them into a calling-context tree first costs several cache misses for each stack,
// which on a profile of millions of samples is most of the time. Profile.tree builds that tree when a view is made of
// contexts. Blocks keep growing from copying.
type stackTable struct {
	blocks [][]byte
	used   int // of the last block
}

const (
	stackBits  = 23
	stackBlock = 1 << stackBits
)

var errStacks = errors.New("profile has more than 4 GB of stacks")

// add copies a packed stack into the table and returns where it is.
func (t *stackTable) add(packed []byte) (uint32, error) {
	n := len(packed) + binary.MaxVarintLen32
	last := len(t.blocks) - 1
	if last < 0 || t.used+n > len(t.blocks[last]) {
		// Blocks double until they have their full size, since most profiles are small.
		size := min(stackBlock, stackBlock>>7<<(last+1))
		if n > size {
			if n > stackBlock {
				return 0, limitError{"8 MB in one stack"}
			}
			size = stackBlock
		}
		if last++; last >= 1<<(32-stackBits) {
			return 0, errStacks
		}
		t.blocks = append(t.blocks, make([]byte, size))
		t.used = 0
	}
	b := t.blocks[last]
	at := uint32(last)<<stackBits | uint32(t.used)
	t.used += binary.PutUvarint(b[t.used:], uint64(len(packed)))
	t.used += copy(b[t.used:], packed)
	return at, nil
}

// get returns the packed stack at a place that add returned.
func (t *stackTable) get(at uint32) []byte {
	b := t.blocks[at>>stackBits][at&(stackBlock-1):]
	if n := int(b[0]); n < 0x80 {
		return b[1 : 1+n]
	}
	n, m := binary.Uvarint(b)
	return b[m : m+int(n)]
}

// packStack appends locations to a packed stack.
func packStack(packed []byte, stack []uint32) []byte {
	for _, l := range stack {
		packed = binary.AppendUvarint(packed, uint64(l)+1)
	}
	return packed
}

// unpackStack appends the locations of a packed stack. No number takes more than four bytes.
func unpackStack(stack []uint32, packed []byte) []uint32 {
	for i := 0; i < len(packed); {
		id := uint32(packed[i])
		i++
		if id >= 0x80 {
			b := uint32(packed[i])
			i++
			id = id&0x7f | b<<7
			if b >= 0x80 {
				b := uint32(packed[i])
				i++
				id = id&0x3fff | b<<14
				if b >= 0x80 {
					b := uint32(packed[i])
					i++
					id = id&0x1fffff | b<<21
				}
			}
		}
		stack = append(stack, id-1)
	}
	return stack
}

// A stackIndex finds equal stacks in a table.
type stackIndex struct {
	table *stackTable
	seed  maphash.Seed
	slots []stackSlot // open addressing
	n     int
}

type stackSlot struct {
	hash uint32
	at   uint32 // 1 + place
}

func newStackIndex(t *stackTable) *stackIndex {
	return &stackIndex{table: t, seed: maphash.MakeSeed(), slots: make([]stackSlot, 1024)}
}

// intern returns the place of a stack, adding it when it is new.
func (x *stackIndex) intern(packed []byte) (uint32, error) {
	if x.n >= len(x.slots)/2 {
		x.grow()
	}
	hash := uint32(maphash.Bytes(x.seed, packed))
	for i := hash; ; i++ {
		s := &x.slots[i&uint32(len(x.slots)-1)]
		if s.at == 0 {
			at, err := x.table.add(packed)
			if err != nil || at+1 == 0 {
				return 0, errStacks
			}
			*s = stackSlot{hash, at + 1}
			x.n++
			return at, nil
		}
		if s.hash == hash && string(x.table.get(s.at-1)) == string(packed) {
			return s.at - 1, nil
		}
	}
}

func (x *stackIndex) grow() {
	old := x.slots
	x.slots = make([]stackSlot, 2*len(old))
	mask := uint32(len(x.slots) - 1)
	for _, s := range old {
		if s.at == 0 {
			continue
		}
		i := s.hash
		for x.slots[i&mask].at != 0 {
			i++
		}
		x.slots[i&mask] = s
	}
}
