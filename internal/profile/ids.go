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
				packed, err := r.packNarrow(ids[:start], RootDepth)
				if err != nil {
					return 0, err
				}
				if packed != nil {
					return t.put(packed, []byte{byte(root), byte(root >> 8)})
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
		if root, ok := t.stack(at).Root(); ok {
			r.roots.add(ids[start:], uint32(root))
		}
	}
	return at, err
}

// pack reads ids, as samples hold them, into a packed stack. The buffer of the last one is used again.
func (r *idReader) pack(ids []byte) ([]byte, error) {
	if len(ids) > binary.MaxVarintLen64*maxDepth {
		return nil, errDeep
	}
	if !r.wide {
		packed, err := r.packNarrow(ids, 0)
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

// packNarrow packs ids that fit two bytes. When one doesn't, it returns nil. When the stack shares further locations, it
// returns what is to be stored in front of the number of their root.
func (r *idReader) packNarrow(ids []byte, shared int) ([]byte, error) {
	const head = binary.MaxVarintLen32
	if len(r.buf) < head+2*len(ids) {
		r.buf = make([]byte, head+4*len(ids))
	}
	body := r.buf[head : head+2*len(ids)]
	at, all, top, zero := 0, uint32(0), r.max, false
	for i := 0; i < len(ids) && at+1 < len(body); at += 2 {
		id := uint32(ids[i])
		switch {
		case id < 0x80:
			i++
		case i+1 < len(ids) && ids[i+1] < 0x80:
			id = id&0x7f | uint32(ids[i+1])<<7
			i += 2
		case i+2 < len(ids) && ids[i+2] < 4:
			id = id&0x7f | uint32(ids[i+1]&0x7f)<<7 | uint32(ids[i+2])<<14
			i += 3
		default:
			return nil, nil
		}
		if id == 0 {
			zero = true
		}
		all |= id
		top = max(top, id)
		binary.LittleEndian.PutUint16(body[at:], uint16(id))
	}
	depth := at/2 + shared
	if depth > maxDepth {
		return nil, errDeep
	}
	r.max, r.zero = top, r.zero || zero
	h := uint64(depth) << headBits
	if shared > 0 {
		h |= headShared
	}
	if h < 0x80 {
		r.buf[head-1] = byte(h)
		return r.buf[head-1 : head+at], nil
	}
	var b [binary.MaxVarintLen32]byte
	n := copy(r.buf[head-binary.PutUvarint(b[:], h):], b[:binary.PutUvarint(b[:], h)])
	return r.buf[head-n : head+at], nil
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
