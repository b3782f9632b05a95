package profile

import (
	"encoding/binary"
	"math"
)

// A Spread turns stacks into what their locations stand for, such as frames: a list of small numbers for each. Adding up asks this
// of all stacks. Nearly all lists are short, most of one number; to go through each in a loop of its own takes twice as long as all that is
// done with them, since a CPU guesses its end wrong time and again. So four numbers are copied for each, and how many of them
// count says where the next ones go.
type Spread struct {
	p    *Profile
	list func(location uint32) []int32
	pad  uint64 // four times the number after all others

	// By number of a location.
	few  []uint64 // up to four numbers, the innermost first
	size []uint8  // their bytes, or spreadMany; and spreadMet

	roots   []spreadRoot // by root
	numbers []uint16     // of roots

	out   []byte
	stack []uint32
}

// A spreadRoot is where the numbers of a root are, once it has been met.
type spreadRoot struct {
	at, n uint32
	met   bool
}

const (
	spreadMany = 0x80 // more than four numbers
	spreadMet  = 0x40 // the location was on a stack
	spreadSize = 0x0f

	narrowNumbers = 1 << 16
)

// NewSpread returns a Spread of the stacks of p where locations stand for the numbers in list, outermost first. All numbers
// are below n, of which there are few enough when n is below MaxSpread.
func (p *Profile) NewSpread(n int, list func(location uint32) []int32) *Spread {
	if n > MaxSpread {
		panic("profile: too many numbers to spread")
	}
	// As large as numbers of two bytes need: of what is not used nothing is ever touched.
	size := max(len(p.Locations)+1, narrowNumbers)
	s := &Spread{
		p: p, list: list, pad: uint64(n) * 0x0001_0001_0001_0001,
		few: make([]uint64, size), size: make([]uint8, size),
		roots: make([]spreadRoot, p.NumRoots()),
	}
	for l := range p.Locations {
		numbers := list(uint32(l))
		if len(numbers) > 4 {
			s.size[l+1] = spreadMany
			continue
		}
		few := uint64(0)
		for _, x := range numbers {
			few = few<<16 | uint64(x)
		}
		s.few[l+1], s.size[l+1] = few, uint8(2*len(numbers))
	}
	return s
}

// MaxSpread is the most numbers that a Spread can tell apart.
const MaxSpread = math.MaxUint16

// Stack returns the numbers of the stack of sample i: those of its root, each once, and the others, in two bytes each and with up to
// three times n after them, so that they are multiples of eight bytes. Both begin with the innermost, and are valid until the next call.
func (s *Spread) Stack(i int) (own []byte, root []uint16) {
	end, r := s.write(i)
	if r != noRoot {
		root = s.root(uint32(r))
	}
	return s.padded(end), root
}

// Own returns the numbers of the stack of sample i but for those of its root, in two bytes each, from the innermost, and the number of the
// root, or -1 where there is none. The numbers are valid until the next call.
func (s *Spread) Own(i int) (own []byte, root int) {
	end, root := s.write(i)
	return s.out[:end], root
}

// write writes the numbers of the stack of sample i but for those of its root.
func (s *Spread) write(i int) (end, root int) {
	packed := s.p.stacks.get(s.p.stack[i])
	head, at := uint(packed[0]), 1
	if head >= 0x80 {
		head, at = head&0x7f|uint(packed[1])<<7, 2
	}
	n := int(head >> headBits)
	body := packed[at:]
	if head&headWide != 0 || at == 2 && packed[1] >= 0x80 || len(body) < 2*n+8 {
		return s.any(i), noRoot
	}
	if root = noRoot; head&headShared != 0 {
		n -= RootDepth
		root = int(binary.LittleEndian.Uint16(body[2*n:])) // those of narrow stacks come first
	}
	for {
		s.room(end, n)
		wrote, left := spread16(s.out[end:], body, n, (*[narrowNumbers]uint64)(s.few), (*[narrowNumbers]uint8)(s.size))
		end += wrote
		if left == 0 {
			return end, root
		}
		body = body[2*(n-left):]
		n = max(left-4, 0)
		for range left - n {
			end = s.one(end, uint32(binary.LittleEndian.Uint16(body)))
			body = body[2:]
		}
	}
}

// spread16 writes what n locations stand for, four at a time, until one of the four stands for many. It returns how many bytes it wrote and how
// many locations are left. It is apart, and small, so that all it works with is in registers.
//
//go:noinline
func spread16(out, body []byte, n int, few *[narrowNumbers]uint64, size *[narrowNumbers]uint8) (wrote, left int) {
	for ; n > 0; n -= 4 {
		w := binary.LittleEndian.Uint64(body)
		body = body[8:]
		if n < 4 {
			w &= 1<<(uint(n)*16&63) - 1 // location 0 stands for nothing
		}
		a, b, c, d := uint16(w), uint16(w>>16), uint16(w>>32), uint16(w>>48)
		sa, sb, sc, sd := size[a], size[b], size[c], size[d]
		if (sa|sb|sc|sd)&spreadMany != 0 {
			return wrote, n
		}
		size[a], size[b], size[c], size[d] = sa|spreadMet, sb|spreadMet, sc|spreadMet, sd|spreadMet
		o := (*[spreadSlack]byte)(out[wrote:])
		toB := int(sa & spreadSize)
		toC := toB + int(sb&spreadSize)
		toD := toC + int(sc&spreadSize)
		binary.LittleEndian.PutUint64(o[:], few[a])
		binary.LittleEndian.PutUint64(o[toB:], few[b])
		binary.LittleEndian.PutUint64(o[toC:], few[c])
		binary.LittleEndian.PutUint64(o[toD:], few[d])
		wrote += toD + int(sd&spreadSize)
	}
	return wrote, 0
}

// spreadSlack is more than four locations of four numbers take, written eight bytes at a time.
const spreadSlack = 64

// room makes room for what n locations stand for, four numbers each, behind the first bytes that were written.
func (s *Spread) room(end, n int) {
	if need := end + 8*n + spreadSlack; need > len(s.out) {
		out := make([]byte, 2*need)
		copy(out, s.out[:end])
		s.out = out
	}
}

// one writes what a location stands for behind what was written, and returns where that ends.
func (s *Spread) one(end int, number uint32) int {
	s.size[number] |= spreadMet
	numbers := s.list(number - 1)
	s.room(end, len(numbers))
	for i := len(numbers) - 1; i >= 0; i-- {
		binary.LittleEndian.PutUint16(s.out[end:], uint16(numbers[i]))
		end += 2
	}
	return end
}

// any writes the numbers of any stack, with those of its root.
func (s *Spread) any(i int) (end int) {
	s.stack = s.p.Stack(i, s.stack[:0])
	s.room(0, len(s.stack))
	for j, l := range s.stack {
		size := s.size[l+1]
		if size&spreadMany != 0 {
			end = s.one(end, l+1)
			s.room(end, len(s.stack)-j)
			continue
		}
		s.size[l+1] = size | spreadMet
		binary.LittleEndian.PutUint64(s.out[end:], s.few[l+1])
		end += int(size & spreadSize)
	}
	return end
}

// padded returns what was written, filled up to a multiple of eight bytes.
func (s *Spread) padded(end int) []byte {
	binary.LittleEndian.PutUint64(s.out[end:], s.pad)
	return s.out[:(end+7)&^7]
}

// root returns the numbers of a root.
func (s *Spread) root(n uint32) []uint16 {
	r := &s.roots[n]
	if !r.met {
		s.meet(int(n))
	}
	return s.numbers[r.at:][:r.n]
}

func (s *Spread) meet(root int) {
	if s.numbers == nil {
		s.numbers = make([]uint16, 0, len(s.roots)*(RootDepth+RootDepth/4)) // most locations stand for one number
	}
	at := len(s.numbers)
	s.stack = s.p.AppendRoot(root, s.stack[:0])
	for _, l := range s.stack {
		s.size[l+1] |= spreadMet
		numbers := s.list(l)
	next:
		for i := len(numbers) - 1; i >= 0; i-- {
			for _, x := range s.numbers[at:] {
				if x == uint16(numbers[i]) {
					continue next
				}
			}
			s.numbers = append(s.numbers, uint16(numbers[i]))
		}
	}
	s.roots[root] = spreadRoot{uint32(at), uint32(len(s.numbers) - at), true}
}

// Met reports whether a location was on one of the stacks that were asked for.
func (s *Spread) Met(location uint32) bool { return s.size[location+1]&spreadMet != 0 }
