package profile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/maphash"
	"math"
	"slices"
)

// A stackTable holds the packed stacks of samples.
//
// A packed stack is its head, which is how many locations it has and whether they are wide, and then the numbers of
// locations from the leaf to the root, where number n is Locations[n-1]: in two bytes each or, when one of them does
// not fit, in three.
//
// Stacks are kept flat because most questions are asked once. Walking all frames of all samples costs about a
// nanosecond for each; interning them into a calling-context tree first costs several cache misses for each stack,
// which on a profile of millions of samples is most of the time. Views that are made of contexts build that tree, as far
// as somebody looks. Blocks keep growing from copying.
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
	last := len(t.blocks) - 1
	if last < 0 || t.used+len(packed) > len(t.blocks[last]) {
		// Blocks double until they have their full size, since most profiles are small.
		size := min(stackBlock, stackBlock>>7<<(last+1))
		if len(packed) > size {
			if len(packed) > stackBlock {
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
	at := uint32(last)<<stackBits | uint32(t.used)
	t.used += copy(t.blocks[last][t.used:], packed)
	return at, nil
}

// get returns the packed stack at a place that add returned, and whatever comes after it.
func (t *stackTable) get(at uint32) []byte {
	return t.blocks[at>>stackBits][at&(stackBlock-1):]
}

// maxNumber is the largest number of a location in a packed stack.
const maxNumber = 1<<24 - 1

// packStack packs a stack of locations into buf, which it grows as needed. plus is what makes them numbers.
func packStack(buf []byte, stack []uint32, plus uint32) []byte {
	return appendStack(buf[:0], stack, plus)
}

// appendStack appends a packed stack.
func appendStack(buf []byte, stack []uint32, plus uint32) []byte {
	all := uint32(0)
	for _, l := range stack {
		all |= l + plus
	}
	wide := uint64(0)
	if all > math.MaxUint16 {
		wide = 1
	}
	buf = binary.AppendUvarint(buf, uint64(len(stack))<<1|wide)
	head := len(buf)
	size := len(stack) * int(2+wide)
	buf = slices.Grow(buf, size+1)[:head+size+1]
	if wide == 0 {
		for i, l := range stack {
			binary.LittleEndian.PutUint16(buf[head+2*i:], uint16(l+plus))
		}
	} else {
		// Each writes four bytes, of which the next one overwrites the last.
		for i, l := range stack {
			binary.LittleEndian.PutUint32(buf[head+3*i:], l+plus)
		}
	}
	return buf[:head+size]
}

// headOf takes the head off a packed stack.
func headOf(packed []byte) (depth int, wide bool, body []byte) {
	head, n := uint64(packed[0]), 1
	if head >= 0x80 {
		head, n = binary.Uvarint(packed)
	}
	return int(head >> 1), head&1 != 0, packed[n:]
}

// cutStack cuts off what comes after a packed stack.
func cutStack(packed []byte) []byte {
	depth, wide, body := headOf(packed)
	size := 2 * depth
	if wide {
		size = 3 * depth
	}
	return packed[:len(packed)-len(body)+size]
}

// unpackStack appends the indexes of the locations of a packed stack.
func unpackStack(stack []uint32, packed []byte) []uint32 {
	depth, wide, body := headOf(packed)
	from := len(stack)
	stack = slices.Grow(stack, depth)[:from+depth]
	out := stack[from:]
	if !wide {
		body = body[:2*depth]
		for len(body) >= 8 && len(out) >= 4 {
			w := binary.LittleEndian.Uint64(body)
			out[0] = uint32(w&0xffff) - 1
			out[1] = uint32(w>>16&0xffff) - 1
			out[2] = uint32(w>>32&0xffff) - 1
			out[3] = uint32(w>>48) - 1
			body, out = body[8:], out[4:]
		}
		for i := range out {
			out[i] = uint32(binary.LittleEndian.Uint16(body)) - 1
			body = body[2:]
		}
		return stack
	}
	body = body[:3*depth]
	for len(body) >= 8 && len(out) >= 2 {
		w := binary.LittleEndian.Uint64(body)
		out[0] = uint32(w&maxNumber) - 1
		out[1] = uint32(w>>24&maxNumber) - 1
		body, out = body[6:], out[2:]
	}
	for i := range out {
		out[i] = uint32(body[0]) | uint32(body[1])<<8 | uint32(body[2])<<16 - 1
		body = body[3:]
	}
	return stack
}

// A stackIndex finds equal stacks in a table.
type stackIndex struct {
	table *stackTable
	hashIndex
}

func newStackIndex(t *stackTable) *stackIndex { return &stackIndex{table: t} }

// intern returns the place of a stack, adding it when it is new.
func (x *stackIndex) intern(packed []byte) (uint32, error) {
	s := x.find(maphash.Bytes(hashSeed, packed), func(at uint32) bool {
		return bytes.HasPrefix(x.table.get(at), packed)
	})
	if s.free() {
		at, err := x.table.add(packed)
		if err != nil || at+1 == 0 {
			return 0, errStacks
		}
		s.put(at)
	}
	return s.at(), nil
}

// A Stack is the locations on a stack.
type Stack struct {
	body  []byte
	depth int
	wide  bool
}

// Len returns how many locations there are.
func (s Stack) Len() int { return s.depth }

// At returns the index of a location, counted from the leaf.
func (s Stack) At(i int) uint32 {
	if s.wide {
		b := s.body[3*i : 3*i+3]
		return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 - 1
	}
	return uint32(binary.LittleEndian.Uint16(s.body[2*i:])) - 1
}

// A LocationSet is some locations of a profile, for asking many stacks whether they have one of them.
type LocationSet struct {
	narrow [1 << 16]uint8 // by number, 1 for those in the set; as large as indexes of two bytes need
	all    []bool         // by index
}

// NewLocationSet returns the set of the locations for whose index in is true.
func NewLocationSet(in []bool) *LocationSet {
	s := &LocationSet{all: in}
	for i, ok := range in[:min(len(in), len(s.narrow)-1)] {
		if ok {
			s.narrow[i+1] = 1
		}
	}
	return s
}

// HasAny reports whether one of the locations on the stack is in the set.
func (s Stack) HasAny(set *LocationSet) bool {
	if s.wide {
		for i := range s.depth {
			if set.all[s.At(i)] {
				return true
			}
		}
		return false
	}
	b := s.body[:2*s.depth]
	// Filters ask this of all stacks. Four locations with one branch take half the time of one by one.
	for ; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b)
		if set.narrow[uint16(w)]|set.narrow[uint16(w>>16)]|set.narrow[uint16(w>>32)]|set.narrow[uint16(w>>48)] != 0 {
			return true
		}
	}
	for ; len(b) >= 2; b = b[2:] {
		if set.narrow[binary.LittleEndian.Uint16(b)] != 0 {
			return true
		}
	}
	return false
}

// A Run is some locations that follow each other on a stack, as one value.
type Run [2]uint64

// Run returns the next locations of a stack of which left are left, from the root, or from the leaf when it is
// inverted, and how many they are; 0 when few are left.
func (s Stack) Run(left int, inverted bool) (Run, int) {
	n, size, mask := 8, 2, ^uint64(0)
	if s.wide {
		n, size, mask = 5, 3, ^uint64(0)>>8
	}
	from := left - n
	if inverted {
		from = s.depth - left
	}
	if left < n || size*from+16 > len(s.body) {
		return Run{}, 0
	}
	b := s.body[size*from:]
	return Run{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]) & mask}, n
}

// Half returns the first half of a run of n locations, and how many they are; 0 when they are too few.
func (r Run) Half(n int, inverted bool) (Run, int) {
	if n != 8 {
		return Run{}, 0
	}
	if inverted {
		return Run{r[0], 0}, 4
	}
	return Run{0, r[1]}, 4
}
