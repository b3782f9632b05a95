package profile

import "encoding/binary"

// A Stack is the locations on a stack, where they are.
type Stack struct {
	own  []byte // the innermost n locations and what comes after them
	rest []byte // the others, which it shares with other stacks, and what comes after them

	n, depth int
	root     int // of the table; or noRoot
	wide     bool
}

const noRoot = -1

func (s *Stack) size() int { return stackHead{wide: s.wide}.size() }

// Len returns how many locations there are.
func (s *Stack) Len() int { return s.depth }

// At returns the index of a location, counted from the leaf.
func (s *Stack) At(i int) uint32 {
	b := s.own
	if i >= s.n {
		b, i = s.rest, i-s.n
	}
	if s.wide {
		b = b[3*i : 3*i+3]
		return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 - 1
	}
	return uint32(binary.LittleEndian.Uint16(b[2*i:])) - 1
}

// Root returns the number of the root of the stack, whose locations are its outermost ones, or false when it has none.
func (s *Stack) Root() (n int, ok bool) { return s.root, s.root != noRoot }

// AppendOwn appends the indexes of the locations that are not those of the root, from the leaf.
func (s *Stack) AppendOwn(buf []uint32) []uint32 {
	if s.wide {
		return unpack24(buf, s.own, s.n)
	}
	return unpack16(buf, s.own, s.n)
}

// Append appends the indexes of all locations, from the leaf.
func (s *Stack) Append(buf []uint32) []uint32 {
	if buf = s.AppendOwn(buf); s.root == noRoot {
		return buf
	}
	if s.wide {
		return unpack24(buf, s.rest, RootDepth)
	}
	return unpack16(buf, s.rest, RootDepth)
}

// A LocationSet is some locations of a profile, for asking many stacks whether they have one of them.
type LocationSet struct {
	narrow [1 << 16]uint8 // by number, 1 for those in the set; as large as indexes of two bytes need
	all    []bool         // by index
	roots  []uint8        // by root, 1 + the place in it of the outermost one; 0 if it has none
}

// LocationSet returns the set of the locations for whose index in is true.
func (p *Profile) LocationSet(in []bool) *LocationSet {
	s := &LocationSet{all: in, roots: make([]uint8, p.NumRoots())}
	for i, ok := range in[:min(len(in), len(s.narrow)-1)] {
		if ok {
			s.narrow[i+1] = 1
		}
	}
	var buf []uint32
	for r := range s.roots {
		buf = p.AppendRoot(r, buf[:0])
		for i, l := range buf {
			if in[l] {
				s.roots[r] = uint8(i + 1)
			}
		}
	}
	return s
}

// HasAny reports whether one of the locations on the stack of sample i is in the set, which must be one of p. Filters ask this
// of all stacks, so it looks at where they are packed.
func (p *Profile) HasAny(i int, set *LocationSet) bool {
	packed := p.stacks.get(p.stack[i])
	head, at := uint64(packed[0]), 1
	if head >= 0x80 {
		head, at = binary.Uvarint(packed)
	}
	if head&headWide != 0 {
		stack := p.StackAt(i)
		return stack.hasAny(set)
	}
	n := 2 * int(head>>headBits)
	b := packed[at:]
	if head&headShared != 0 {
		n -= 2 * RootDepth
		if set.roots[binary.LittleEndian.Uint16(b[n:])] != 0 { // those of narrow stacks come first
			return true
		}
	}
	// Four locations with one branch take half the time of one by one.
	for b = b[:n]; len(b) >= 8; b = b[8:] {
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

func (s *Stack) hasAny(set *LocationSet) bool {
	if s.root != noRoot && set.roots[s.root] != 0 {
		return true
	}
	for i := range s.n {
		if set.all[s.At(i)] {
			return true
		}
	}
	return false
}

// Outermost returns the place of the outermost location on the stack of sample i that is in the set, counted from the leaf, or -1 if there is
// none, and how many locations the stack has. Like HasAny, it looks at where they are packed.
func (p *Profile) Outermost(i int, set *LocationSet) (at, depth int) {
	packed := p.stacks.get(p.stack[i])
	head, body := headOf(packed)
	if head.wide {
		stack := p.StackAt(i)
		return stack.outermost(set), head.depth
	}
	n := head.depth
	if head.shared {
		n -= RootDepth
		if k := set.roots[binary.LittleEndian.Uint16(body[2*n:])]; k != 0 { // those of narrow stacks come first
			return n + int(k) - 1, head.depth
		}
	}
	for b := body[:2*n]; n >= 4; n -= 4 {
		w := binary.LittleEndian.Uint64(b[2*n-8:])
		if set.narrow[uint16(w)]|set.narrow[uint16(w>>16)]|set.narrow[uint16(w>>32)]|set.narrow[uint16(w>>48)] != 0 {
			break
		}
	}
	for n--; n >= 0; n-- {
		if set.narrow[binary.LittleEndian.Uint16(body[2*n:])] != 0 {
			break
		}
	}
	return n, head.depth
}

func (s *Stack) outermost(set *LocationSet) int {
	if s.root != noRoot && set.roots[s.root] != 0 {
		return s.n + int(set.roots[s.root]) - 1
	}
	for i := s.n - 1; i >= 0; i-- {
		if set.all[s.At(i)] {
			return i
		}
	}
	return -1
}

// A Run is some locations that follow each other on a stack, as one value.
type Run [2]uint64

// Run returns the next locations of a stack of which left are left, from the root, or from the leaf when it is
// inverted, and how many they are; 0 when few are left.
func (s *Stack) Run(left int, inverted bool) (Run, int) {
	n, size, mask := 8, 2, ^uint64(0)
	if s.wide {
		n, size, mask = 5, 3, ^uint64(0)>>8
	}
	if left < n {
		return Run{}, 0
	}
	from := left - n
	if inverted {
		from = s.depth - left
	}
	var b []byte
	switch {
	case from >= s.n:
		b = s.rest[size*(from-s.n):]
	case from+n <= s.n:
		b = s.own[size*from:]
	default:
		// Part of it is in the root.
		var both [16]byte
		k := copy(both[:], s.own[size*from:size*s.n])
		copy(both[k:size*n], s.rest)
		b = both[:]
	}
	if len(b) < 16 {
		return Run{}, 0
	}
	return Run{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]) & mask}, n
}
