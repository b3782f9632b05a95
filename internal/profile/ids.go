package profile

import "encoding/binary"

// An idReader turns the ids of locations, which samples hold as varints, into numbers that fit a packed stack. Ids
// may be any, but nearly always count from 1: those stay what they are, and large ones get a number of their own.
type idReader struct {
	buf   []byte   // packed
	stack []uint32 // the numbers read last, where that takes long
	wide  bool     // whether the last stack was

	// What is known of all that were read.
	max  uint32 // largest number
	zero bool   // whether one was 0

	roots   rootMemo
	numbers idNumbers
}

// idNumbers are numbers of three bytes that stand for ids, which may be any.
type idNumbers struct {
	large []uint64 // ids of the numbers from firstLarge
	of    map[uint64]uint32
}

const firstLarge = 1 << 23

// id returns the id that has a number.
func (x *idNumbers) id(n uint32) uint64 {
	if n < firstLarge {
		return uint64(n)
	}
	return x.large[n-firstLarge]
}

// number returns the number of an id.
func (x *idNumbers) number(id uint64) (uint32, error) {
	if id < firstLarge {
		return uint32(id), nil
	}
	return x.largeNumber(id)
}

// largeNumber is apart so that the usual case can be inlined.
func (x *idNumbers) largeNumber(id uint64) (uint32, error) {
	n, ok := x.of[id]
	if !ok {
		if len(x.large) > maxNumber-firstLarge {
			return 0, limitError{"8 million ids above 8 million"}
		}
		if x.of == nil {
			x.of = make(map[uint64]uint32)
		}
		n = uint32(firstLarge + len(x.large))
		x.large = append(x.large, id)
		x.of[id] = n
	}
	return n, nil
}

// add adds the stack of a sample, as it is in the file, to a table.
func (r *idReader) add(t *stackTable, ids []byte) (uint32, error) {
	start := -1
	if !r.wide {
		// What the outermost ids are packed is nearly always known, and a third of all ids need no reading.
		if start = rootStart(ids); start >= 0 {
			if root, ok := r.roots.find(ids[start:]); ok {
				if at, ok, err := r.addShared(t, ids[:start], root); ok || err != nil {
					return at, err
				}
			}
		}
	}
	packed, err := r.pack(ids)
	if err != nil {
		return 0, err
	}
	at, err := t.add(packed)
	if err == nil && start >= 0 && !r.wide {
		stack := t.stack(at)
		if root, ok := stack.Root(); ok {
			r.roots.add(ids[start:], uint32(root))
		}
	}
	return at, err
}

// addShared adds a stack to a table of which all but some ids are those of a narrow root. It is not ok when one of them does not fit two
// bytes. They are packed where they stay.
func (r *idReader) addShared(t *stackTable, ids []byte, root uint32) (at uint32, ok bool, err error) {
	const head = 2
	if len(ids) > binary.MaxVarintLen64*maxDepth {
		return 0, false, nil
	}
	b, at, err := t.room(head + 2*len(ids) + 2)
	if err != nil {
		return 0, false, err
	}
	n, top, zero, ok := packIDs(b[head:], ids)
	depth := n/2 + RootDepth
	if !ok || depth > maxDepth {
		return 0, false, nil
	}
	switch h := uint(depth)<<headBits | headShared; {
	case h < 0x80:
		b[1] = byte(h)
		at++ // one byte is lost
	case h < 1<<14:
		b[0], b[1] = byte(h)|0x80, byte(h>>7)
	default:
		return 0, false, nil
	}
	binary.LittleEndian.PutUint16(b[head+n:], uint16(root))
	t.used += head + n + 2
	r.max, r.zero = max(r.max, top), r.zero || zero
	return at, true, nil
}

// pack reads ids, as samples hold them, into a packed stack. The buffer of the last one is used again.
func (r *idReader) pack(ids []byte) ([]byte, error) {
	if len(ids) > binary.MaxVarintLen64*maxDepth {
		return nil, errDeep
	}
	if !r.wide {
		packed, err := r.packNarrow(ids)
		if packed != nil || err != nil {
			return packed, err
		}
	}
	err := r.read(ids)
	r.buf = packStack(r.buf, r.stack, 0)
	head, _ := headOf(r.buf)
	r.wide = head.wide
	return r.buf, err
}

// packNarrow packs ids that fit two bytes. When one doesn't, it returns nil.
func (r *idReader) packNarrow(ids []byte) ([]byte, error) {
	const head = binary.MaxVarintLen32
	if len(r.buf) < head+2*len(ids) {
		r.buf = make([]byte, head+4*len(ids))
	}
	n, top, zero, ok := packIDs(r.buf[head:], ids)
	switch {
	case !ok:
		return nil, nil
	case n/2 > maxDepth:
		return nil, errDeep
	}
	r.max, r.zero = max(r.max, top), r.zero || zero
	var h [binary.MaxVarintLen32]byte
	from := head - copy(r.buf[head-binary.PutUvarint(h[:], uint64(n/2)<<headBits):], h[:binary.PutUvarint(h[:], uint64(n/2)<<headBits)])
	return r.buf[from : head+n], nil
}

// packIDs writes ids in two bytes each, and returns how many bytes that takes, the largest id, and whether one is 0. It is not ok when one does not
// fit. It is apart, and small, so that all it works with is in registers.
//
// Eight bytes at a time, which mostly have four ids of one byte or two, took 2 to 6 % more of all the time, though nothing is guessed then.
//
//go:noinline
func packIDs(out, ids []byte) (at int, top uint32, zero, ok bool) {
	none := uint32(0) // has its highest bit when an id is 0
	i := 0
	for i < len(ids) {
		id := uint32(ids[i])
		i++
		if id >= 0x80 {
			if i >= len(ids) {
				return 0, 0, false, false
			}
			b := uint32(ids[i])
			id = id&0x7f | b<<7
			if i++; b >= 0x80 {
				if i >= len(ids) || ids[i] >= 4 {
					return 0, 0, false, false
				}
				id = id&0x3fff | uint32(ids[i])<<14
				i++
			}
		}
		top = max(top, id)
		none |= id - 1
		if at+1 >= len(out) {
			return 0, 0, false, false // cannot happen: an id has a byte at least
		}
		out[at], out[at+1] = byte(id), byte(id>>8)
		at += 2
	}
	return at, top, none>>31 != 0, true
}

// read reads ids of any size into r.stack.
func (r *idReader) read(ids []byte) error {
	r.stack = r.stack[:0]
	for len(ids) > 0 {
		id, n := uvarint(ids)
		if n == 0 {
			return errVarint
		}
		ids = ids[n:]
		x, err := r.numbers.number(id)
		if err != nil {
			return err
		}
		r.max, r.zero = max(r.max, x), r.zero || x == 0
		r.stack = append(r.stack, x)
	}
	if len(r.stack) > maxDepth {
		return errDeep
	}
	return nil
}
