package profile

import (
	"encoding/binary"
	"errors"
)

// The wire types of protocol buffers that profiles use.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

var (
	errVarint   = errors.New("bad varint")
	errWireType = errors.New("unknown wire type")
	errType     = errors.New("field has the wrong wire type")
	errShort    = errors.New("field is longer than what holds it")
	errNumber   = errors.New("field has the number 0")
	errString   = errors.New("reference to a string that is not there")
)

// A field is one field of a message.
type field struct {
	num  uint64
	wire int
	u64  uint64 // of varints and fixed
	data []byte // of bytes
}

// uvarint reads a varint of at most ten bytes from the start of b. n is 0 if there is none.
func uvarint(b []byte) (v uint64, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return longUvarint(b)
}

// longUvarint is apart so that the usual case can be inlined.
//
//go:noinline
func longUvarint(b []byte) (v uint64, n int) {
	if len(b) > 1 && b[1] < 0x80 {
		return uint64(b[0]&0x7f) | uint64(b[1])<<7, 2
	}
	for i, c := range b {
		if i == 10 {
			break
		}
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}

// next takes a field off the front of the message m.
func (f *field) next(m []byte) (rest []byte, err error) {
	if len(m) < 2 || m[0]-0x08 >= 0x80-0x08 { // so are numbers above 15, and 0
		return f.nextOfAny(m)
	}
	// Nearly all fields have small numbers, and most are small themselves.
	f.num, f.wire, f.u64, f.data = uint64(m[0]>>3), int(m[0]&7), uint64(m[1]), nil
	switch {
	case f.wire == wireVarint:
		n := 1
		if f.u64 >= 0x80 {
			if f.u64, n = longUvarint(m[1:]); n == 0 {
				return nil, errVarint
			}
		}
		return m[1+n:], nil
	case f.wire == wireBytes && m[1] < 0x80:
		end := 2 + int(m[1])
		if end > len(m) {
			return nil, errShort
		}
		f.u64, f.data = 0, m[2:end]
		return m[end:], nil
	}
	return f.nextOfAny(m)
}

func (f *field) nextOfAny(m []byte) (rest []byte, err error) {
	key, n := uvarint(m)
	if n == 0 {
		return nil, errVarint
	}
	m = m[n:]
	f.num, f.wire, f.u64, f.data = key>>3, int(key&7), 0, nil
	if f.num == 0 {
		return nil, errNumber // zeros would be fields without end
	}
	switch f.wire {
	case wireVarint:
		if f.u64, n = uvarint(m); n == 0 {
			return nil, errVarint
		}
		return m[n:], nil
	case wireFixed64:
		if len(m) < 8 {
			return nil, errShort
		}
		f.u64 = binary.LittleEndian.Uint64(m)
		return m[8:], nil
	case wireFixed32:
		if len(m) < 4 {
			return nil, errShort
		}
		f.u64 = uint64(binary.LittleEndian.Uint32(m))
		return m[4:], nil
	case wireBytes:
		size, n := uvarint(m)
		if n == 0 {
			return nil, errVarint
		}
		m = m[n:]
		if size > uint64(len(m)) {
			return nil, errShort
		}
		f.data = m[:size]
		return m[size:], nil
	}
	return nil, errWireType
}

// scan reads message m, calling take for each field that has a number below limit.
func scan(m []byte, limit uint64, take func(f *field) error) error {
	var f field
	for len(m) > 0 {
		var err error
		if m, err = f.next(m); err != nil {
			return err
		}
		if f.num >= limit {
			continue
		}
		if err := take(&f); err != nil {
			return err
		}
	}
	return nil
}

// uint returns the value of a number field.
func (f *field) uint(err *error) uint64 {
	if f.wire != wireVarint {
		*err = errType
	}
	return f.u64
}
