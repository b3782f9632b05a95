// Package inflate unpacks gzip. It does what compress/gzip does, on the mixture of short matches and many literals
// that packed profiles are, in half the time of the libraries there are: the decoder holds 64 bits of input in a
// register and refills it with one load, a table entry says all there is to know about a symbol, two literals come
// out of one lookup where both fit, and matches are copied eight bytes at a time.
// The tests hold it to what compress/gzip answers; docs/decisions/0005-inflate.md has the measurements.
package inflate

import (
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"sync"
)

const (
	inSize  = 64 << 10
	window  = 32 << 10 // how far back a match may reach
	outSize = window + 96<<10
	inSlack = 16             // bytes of input that the fast loop may look at for one symbol
	slack   = 2*3 + 258 + 24 // bytes of output that one turn of the fast loop may write
)

// A Reader unpacks a gzip stream of one member or several. Errors are those of compress/gzip and compress/flate.
type Reader struct {
	src     io.Reader
	buffers *buffers
	err     error // what Read says when all output has been read

	in       []byte // buffer
	pos, end int    // of what has not been looked at
	srcErr   error
	before   int64 // bytes of input before the buffer

	bits  uint64 // input taken from the buffer and not used, lowest bit first
	nbits uint

	out    []byte // buffer
	rd, wr int    // of what has not been read
	summed int    // how far crc has come
	start  int    // where the history of this member begins in out

	inMember bool
	inBlock  bool
	last     bool // this block is the last of the member
	stored   int  // bytes left of a stored block; -1 for others
	crc      uint32
	size     uint32

	lit  litTable
	dist distTable
	lens [maxLit + maxDist]uint8
}

// NewReader returns a Reader of src, of which it reads the header. It may read more from src than the stream holds.
func NewReader(src io.Reader) (*Reader, error) {
	b := readerBuffers.Get().(*buffers)
	r := &Reader{src: src, buffers: b, in: b.in[:], out: b.out[:]}
	if err := r.header(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// The buffers of a Reader are what is large of it.
type buffers struct {
	in  [inSize]byte
	out [outSize]byte
}

var readerBuffers = sync.Pool{New: func() any { return new(buffers) }}

// Close ends the use of the Reader, which cannot fail. Its buffers go to the next one.
func (r *Reader) Close() error {
	if r.buffers != nil {
		readerBuffers.Put(r.buffers)
	}
	*r = Reader{err: os.ErrClosed}
	return nil
}

// Read reads unpacked bytes.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for r.rd == r.wr {
		if r.err != nil {
			return 0, r.err
		}
		r.err = r.step()
		r.sum()
	}
	n := copy(p, r.out[r.rd:r.wr])
	r.rd += n
	return n, nil
}

// sum brings the checksum up to date.
func (r *Reader) sum() {
	r.crc = crc32.Update(r.crc, crc32.IEEETable, r.out[r.summed:r.wr])
	r.size += uint32(r.wr - r.summed)
	r.summed = r.wr
}

// step makes some output, or gets past some input that makes none.
func (r *Reader) step() error {
	switch {
	case !r.inMember:
		return r.header()
	case !r.inBlock:
		if r.last {
			return r.trailer()
		}
		return r.block()
	}
	if r.wr > outSize-slack {
		r.slide()
	}
	if r.stored >= 0 {
		return r.copyStored()
	}
	return r.symbols()
}

// slide moves the last 32 kB of output to the front of the buffer. All of it has been read.
func (r *Reader) slide() {
	n := r.wr - window
	copy(r.out, r.out[n:r.wr])
	r.start = max(0, r.start-n)
	r.rd, r.wr, r.summed = window, window, window
}

// load makes at least n ≤ inSlack bytes of input available in the buffer and reports whether there are that many.
func (r *Reader) load(n int) bool {
	if r.end-r.pos >= n {
		return true
	}
	r.before += int64(r.pos)
	r.end = copy(r.in, r.in[r.pos:r.end])
	r.pos = 0
	for empty := 0; r.end < n && r.srcErr == nil; {
		var m int
		m, r.srcErr = r.src.Read(r.in[r.end:])
		r.end += m
		if empty++; m > 0 {
			empty = 0
		} else if empty > 100 && r.srcErr == nil {
			r.srcErr = io.ErrNoProgress
		}
	}
	return r.end >= n
}

// ended returns why there is no more input where more was wanted.
func (r *Reader) ended() error {
	if r.srcErr == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return r.srcErr
}

// corrupt returns the error for input that makes no sense at the current place.
func (r *Reader) corrupt() error {
	return flate.CorruptInputError(r.before + int64(r.pos))
}

// need makes at least n ≤ 48 bits available, one byte at a time, so that no more input is taken than needed.
func (r *Reader) need(n uint) error {
	for r.nbits < n {
		if !r.load(1) {
			return r.ended()
		}
		r.bits |= uint64(r.in[r.pos]) << r.nbits
		r.pos++
		r.nbits += 8
	}
	return nil
}

// take returns the next n bits, which must be available.
func (r *Reader) take(n uint) uint {
	v := uint(r.bits & (1<<n - 1))
	r.bits >>= n
	r.nbits -= n
	return v
}

// alignToByte drops the rest of a byte. There never are more than seven bits left, as need takes no more.
func (r *Reader) alignToByte() { r.bits, r.nbits = 0, 0 }

// byte returns the next byte of a header or trailer.
func (r *Reader) byte() (byte, error) {
	if !r.load(1) {
		return 0, r.ended()
	}
	b := r.in[r.pos]
	r.pos++
	return b, nil
}

// header reads the header of a member. Where the first would be and where there is none, input ends.
func (r *Reader) header() error {
	if !r.load(1) && r.srcErr == io.EOF {
		return io.EOF
	}
	var h [10]byte
	crc := uint32(0)
	next := func() (byte, error) {
		b, err := r.byte()
		crc = crc32.Update(crc, crc32.IEEETable, []byte{b})
		return b, err
	}
	for i := range h {
		var err error
		if h[i], err = next(); err != nil {
			return err
		}
	}
	if h[0] != 0x1f || h[1] != 0x8b || h[2] != 8 {
		return gzip.ErrHeader
	}
	const hasCRC, hasExtra, hasName, hasComment = 1 << 1, 1 << 2, 1 << 3, 1 << 4
	flags := h[3]
	if flags&hasExtra != 0 {
		var n int
		for i := range 2 {
			b, err := next()
			if err != nil {
				return err
			}
			n |= int(b) << (8 * i)
		}
		for range n {
			if _, err := next(); err != nil {
				return err
			}
		}
	}
	for _, flag := range []byte{hasName, hasComment} {
		for n := 0; flags&flag != 0; n++ {
			b, err := next()
			if err != nil {
				return err
			}
			if b == 0 {
				break
			}
			if n >= 511 { // as compress/gzip has it
				return gzip.ErrHeader
			}
		}
	}
	if flags&hasCRC != 0 {
		want := uint16(crc)
		var got uint16
		for i := range 2 {
			b, err := r.byte()
			if err != nil {
				return err
			}
			got |= uint16(b) << (8 * i)
		}
		if got != want {
			return gzip.ErrHeader
		}
	}
	r.inMember, r.inBlock, r.last = true, false, false
	r.crc, r.size = 0, 0
	r.start = r.wr
	return nil
}

// trailer reads the end of a member.
func (r *Reader) trailer() error {
	r.alignToByte()
	var t [8]byte
	for i := range t {
		var err error
		if t[i], err = r.byte(); err != nil {
			return err
		}
	}
	if binary.LittleEndian.Uint32(t[:]) != r.crc || binary.LittleEndian.Uint32(t[4:]) != r.size {
		return gzip.ErrChecksum
	}
	r.inMember = false
	return nil
}

// block reads the header of a block.
func (r *Reader) block() error {
	if err := r.need(3); err != nil {
		return err
	}
	r.last = r.take(1) == 1
	r.stored = -1
	var err error
	switch r.take(2) {
	case 0:
		err = r.storedHeader()
	case 1:
		r.fixedCodes()
	case 2:
		err = r.dynamicCodes()
	default:
		err = r.corrupt()
	}
	r.inBlock = err == nil
	return err
}

func (r *Reader) storedHeader() error {
	r.alignToByte()
	var h [4]byte
	for i := range h {
		var err error
		if h[i], err = r.byte(); err != nil {
			return err
		}
	}
	n := binary.LittleEndian.Uint16(h[:])
	if ^n != binary.LittleEndian.Uint16(h[2:]) {
		return r.corrupt()
	}
	r.stored = int(n)
	return nil
}

func (r *Reader) copyStored() error {
	if r.stored == 0 {
		r.inBlock = false
		return nil
	}
	if !r.load(1) {
		return r.ended()
	}
	n := min(r.stored, r.end-r.pos, outSize-r.wr)
	copy(r.out[r.wr:], r.in[r.pos:r.pos+n])
	r.wr += n
	r.pos += n
	r.stored -= n
	return nil
}

// symbols unpacks until the buffer is full or the block ends.
func (r *Reader) symbols() error {
	for r.inBlock && r.wr <= outSize-slack {
		if r.load(inSlack) {
			if err := r.fast(); err != nil {
				return err
			}
		} else if err := r.careful(); err != nil {
			return err
		}
	}
	return nil
}

// careful unpacks one symbol near the end of the input.
func (r *Reader) careful() error {
	sym, err := r.entry(r.lit.find)
	if err != nil {
		return err
	}
	switch {
	case sym&isLiteral != 0:
		r.out[r.wr] = byte(sym >> valueShift)
		r.wr++
		return nil
	case sym&isEnd != 0:
		r.inBlock = false
		return nil
	}
	length, err := r.value(sym)
	if err != nil {
		return err
	}
	if sym, err = r.entry(r.dist.find); err != nil {
		return err
	}
	dist, err := r.value(sym)
	if err != nil {
		return err
	}
	if dist > r.wr-r.start {
		return r.corrupt()
	}
	for range length {
		r.out[r.wr] = r.out[r.wr-dist]
		r.wr++
	}
	return nil
}

// entry reads a code word, taking as little input as can be.
func (r *Reader) entry(find func(uint64) uint32) (uint32, error) {
	for {
		e := find(r.bits)
		if n := uint(e>>codeShift) & 15; e&isBad == 0 && n <= r.nbits {
			r.take(n)
			return e, nil
		}
		if r.nbits >= maxCode {
			return 0, r.corrupt()
		}
		if err := r.need(r.nbits + 1); err != nil {
			return 0, err
		}
	}
}

// value returns the length or distance of an entry, of which the code word has been read.
func (r *Reader) value(e uint32) (int, error) {
	extra := uint(e&totalBits) - uint(e>>codeShift)&15
	if err := r.need(extra); err != nil {
		return 0, err
	}
	return int(e>>valueShift) + int(r.take(extra)), nil
}

// fast unpacks until there is little input left, the buffer is full, or the block ends.
func (r *Reader) fast() error {
	var (
		in     = r.in[:r.end]
		pos    = r.pos
		out    = r.out
		wr     = r.wr
		bits   = r.bits
		nbits  = r.nbits
		lit    = &r.lit
		dist   = &r.dist
		end    = len(in) - inSlack
		full   = outSize - slack
		result error
	)
	// Bits above nbits may be set from here on: they are the bits that the next refill would put there.
loop:
	for pos <= end && wr <= full {
		bits |= binary.LittleEndian.Uint64(in[pos:]) << (nbits & 63)
		pos += int(63-nbits) >> 3
		nbits |= 56

		e := lit.first[bits&(1<<litBits-1)]
		// Three lookups of literals take no more than 30 bits of the 56, so that a length with its extra bits is
		// still there after them.
		if e&isLiteral != 0 {
			bits >>= e & 63
			nbits -= uint(e & totalBits)
			binary.LittleEndian.PutUint16(out[wr:], uint16(e>>valueShift))
			wr += 1 + int(e>>pairShift&1)
			e = lit.first[bits&(1<<litBits-1)]
			if e&isLiteral != 0 {
				bits >>= e & 63
				nbits -= uint(e & totalBits)
				binary.LittleEndian.PutUint16(out[wr:], uint16(e>>valueShift))
				wr += 1 + int(e>>pairShift&1)
				e = lit.first[bits&(1<<litBits-1)]
				if e&isLiteral != 0 {
					bits >>= e & 63
					nbits -= uint(e & totalBits)
					binary.LittleEndian.PutUint16(out[wr:], uint16(e>>valueShift))
					wr += 1 + int(e>>pairShift&1)
					continue
				}
			}
		}
		if e&isSpecial != 0 {
			if e&isLink != 0 {
				e = lit.find(bits)
			}
			switch {
			case e&isLiteral != 0:
				bits >>= e & 63
				nbits -= uint(e & totalBits)
				out[wr] = byte(e >> valueShift)
				wr++
				continue
			case e&isEnd != 0:
				bits >>= e & 63
				nbits -= uint(e & totalBits)
				r.inBlock = false
				break loop
			case e&isBad != 0:
				result = flate.CorruptInputError(0)
				break loop
			}
		}
		length := int(e>>valueShift) + int((bits&(1<<(e&63)-1))>>(e>>codeShift&15))
		bits >>= e & 63
		nbits -= uint(e & totalBits)

		bits |= binary.LittleEndian.Uint64(in[pos:]) << (nbits & 63)
		pos += int(63-nbits) >> 3
		nbits |= 56
		e = dist.first[bits&(1<<distBits-1)]
		if e&isSpecial != 0 {
			if e = dist.find(bits); e&isBad != 0 {
				result = flate.CorruptInputError(0)
				break
			}
		}
		back := int(e>>valueShift) + int((bits&(1<<(e&63)-1))>>(e>>codeShift&15))
		bits >>= e & 63
		nbits -= uint(e & totalBits)
		if back > wr-r.start {
			result = flate.CorruptInputError(0)
			break
		}

		from, to := wr-back, wr+length
		switch {
		case back >= 8:
			// What is written past the end of the match is overwritten by what comes next. Most matches are no
			// longer than 16 bytes; a branch on how long they are would be guessed wrong half of the time.
			binary.LittleEndian.PutUint64(out[wr:], binary.LittleEndian.Uint64(out[from:]))
			binary.LittleEndian.PutUint64(out[wr+8:], binary.LittleEndian.Uint64(out[from+8:]))
			for wr += 16; wr < to; wr += 8 {
				from += 8
				binary.LittleEndian.PutUint64(out[wr:], binary.LittleEndian.Uint64(out[from+8:]))
			}
		case back == 1:
			b := out[from]
			run := out[wr:to]
			for i := range run {
				run[i] = b
			}
		default:
			for ; wr < to; wr++ {
				out[wr] = out[from]
				from++
			}
		}
		wr = to
	}
	// Whole bytes go back to the buffer.
	pos -= int(nbits >> 3)
	nbits &= 7
	r.pos, r.wr = pos, wr
	r.bits, r.nbits = bits&(1<<nbits-1), nbits
	if result != nil {
		return r.corrupt()
	}
	return nil
}
