package profile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/maphash"
	"math"
	"slices"

	"github.com/hone-perf/hone/internal/pages"
)

// A stackTable holds the packed stacks of samples.
//
// A packed stack is its head, which is how many locations it has and whether they are wide, and then the numbers of
// locations from the leaf to the root, where number n is Locations[n-1]: in two bytes each or, when one of them does
// not fit, in three. In the table, the outermost locations of a deep stack are only named: most stacks share those with
// many others.
//
// Stacks are kept flat because most questions are asked once. Walking all frames of all samples costs about a
// nanosecond for each; interning them into a calling-context tree first costs several cache misses for each stack,
// which on a profile of millions of samples is most of the time. Views that are made of contexts build that tree, as far
// as somebody looks. Blocks keep growing from copying.
type stackTable struct {
	blocks [][]byte
	used   int // of the last block
	roots  rootTable
}

const (
	stackBits  = 23
	stackBlock = 1 << stackBits
)

var errStacks = errors.New("profile has more than 4 GB of stacks")

// add copies a packed stack, which it may overwrite, into the table and returns where it is.
func (t *stackTable) add(packed []byte) (uint32, error) { return t.put(t.share(packed)) }

// share turns a packed stack into what the table holds for it, in place: the root is only named. Equal stacks are equal bytes then, too,
// since a root that gets no number never gets one.
func (t *stackTable) share(packed []byte) []byte {
	head, body := headOf(packed)
	if head.depth < RootDepth {
		return packed
	}
	size := head.size() * (head.depth - RootDepth)
	root, ok := t.roots.number(body[size:size+head.size()*RootDepth], head.wide)
	if !ok {
		return packed
	}
	packed[0] |= headShared
	binary.LittleEndian.PutUint16(body[size:], uint16(root))
	return packed[:len(packed)-len(body)+size+2]
}

// put copies what share returned into the table.
func (t *stackTable) put(stack []byte) (uint32, error) {
	b, at, err := t.room(len(stack))
	if err != nil {
		return 0, err
	}
	t.used += copy(b, stack)
	return at, nil
}

// room returns n bytes at least for the next stack, and their place. What is written there has to be added to t.used.
func (t *stackTable) room(n int) ([]byte, uint32, error) {
	last := len(t.blocks) - 1
	if last < 0 || t.used+n > len(t.blocks[last]) {
		// Blocks double until they have their full size, since most profiles are small.
		size := min(stackBlock, stackBlock>>7<<(last+1))
		if n > size {
			if n > stackBlock {
				return nil, 0, limitError{"8 MB in one stack"}
			}
			size = stackBlock
		}
		if last++; last >= 1<<(32-stackBits) {
			return nil, 0, errStacks
		}
		block := spareStacks.get(size)
		if block == nil {
			block = pages.Make[byte](size, size)
		}
		t.blocks = append(t.blocks, block[:cap(block)])
		t.used = 0
	}
	return t.blocks[last][t.used:], uint32(last)<<stackBits | uint32(t.used), nil
}

// get returns a stack at a place that add returned, and whatever comes after it.
func (t *stackTable) get(at uint32) []byte {
	return t.blocks[at>>stackBits][at&(stackBlock-1):]
}

// stack returns the stack at a place that add returned.
func (t *stackTable) stack(at uint32) (s Stack) {
	t.read(at, &s)
	return s
}

// read does so without a copy.
func (t *stackTable) read(at uint32, s *Stack) {
	head, body := headOf(t.get(at))
	s.own, s.n, s.depth, s.root, s.wide = body, head.depth, head.depth, noRoot, head.wide
	if !head.shared {
		s.rest = nil
	} else {
		s.n -= RootDepth
		i := head.size() * s.n
		s.root = t.roots.id(uint32(body[i])|uint32(body[i+1])<<8, head.wide)
		s.rest, _ = t.roots.get(s.root)
	}
}

// unpack appends the indexes of the locations of the stack at a place. It does what Stack.Append does, for those who ask it
// of all stacks.
func (t *stackTable) unpack(buf []uint32, at uint32) []uint32 {
	packed := t.get(at)
	head, n := uint(packed[0]), 1
	if head >= 0x80 {
		if head = head&0x7f | uint(packed[1])<<7; packed[1] >= 0x80 {
			stack := t.stack(at)
			return stack.Append(buf)
		}
		n = 2
	}
	own, body := int(head>>headBits), packed[n:]
	switch {
	case head&headWide != 0:
		stack := t.stack(at)
		return stack.Append(buf)
	case head&headShared == 0:
		return unpack16(buf, body, own)
	}
	own -= RootDepth
	buf = unpack16(buf, body, own)
	root := int(body[2*own]) | int(body[2*own+1])<<8
	return unpack16(buf, t.roots.narrow.data[2*RootDepth*root:], RootDepth)
}

// holds reports whether the stack at a place is what share returned.
func (t *stackTable) holds(at uint32, stack []byte) bool { return bytes.HasPrefix(t.get(at), stack) }

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
	buf = binary.AppendUvarint(buf, uint64(len(stack))<<headBits|wide)
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

// A stackHead is what a packed stack begins with.
type stackHead struct {
	depth        int
	shared, wide bool // the outermost locations are those of a root; locations take three bytes
}

const (
	headBits   = 2
	headWide   = 1
	headShared = 2
)

// size returns how many bytes a location takes.
func (h stackHead) size() int {
	if h.wide {
		return 3
	}
	return 2
}

// headOf takes the head off a packed stack.
func headOf(packed []byte) (stackHead, []byte) {
	head, n := uint64(packed[0]), 1
	if head >= 0x80 {
		if head, n = head&0x7f|uint64(packed[1])<<7, 2; packed[1] >= 0x80 {
			head, n = binary.Uvarint(packed)
		}
	}
	return stackHead{int(head >> headBits), head&headShared != 0, head&headWide != 0}, packed[n:]
}

// appendPacked appends s, packed.
func (s *Stack) appendPacked(buf []byte) []byte {
	size := s.size()
	head := uint64(s.depth) << headBits
	if s.wide {
		head |= headWide
	}
	buf = append(binary.AppendUvarint(buf, head), s.own[:size*s.n]...)
	return append(buf, s.rest[:size*(s.depth-s.n)]...)
}

// unpack16 appends the indexes of n locations that take two bytes each.
func unpack16(stack []uint32, body []byte, n int) []uint32 {
	from := len(stack)
	stack = slices.Grow(stack, n)[:from+n]
	out := stack[from:]
	body = body[:2*n]
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

// unpack24 does the same with three bytes for each.
func unpack24(stack []uint32, body []byte, n int) []uint32 {
	from := len(stack)
	stack = slices.Grow(stack, n)[:from+n]
	out := stack[from:]
	body = body[:3*n]
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

// intern returns the place of a packed stack, which it may overwrite, adding it when it is new.
func (x *stackIndex) intern(packed []byte) (uint32, error) { return x.place(x.table.share(packed)) }

// place does the same with what share returned.
func (x *stackIndex) place(stack []byte) (uint32, error) {
	s := x.find(maphash.Bytes(hashSeed, stack), func(at uint32) bool { return x.table.holds(at, stack) })
	if s.free() {
		at, err := x.table.put(stack)
		if err != nil || at+1 == 0 {
			return 0, errStacks
		}
		s.put(at)
	}
	return s.at(), nil
}
