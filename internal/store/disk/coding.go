package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// errDamaged means that stored bytes have changed.
var errDamaged = errors.New("it is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// An encoder appends values to bytes. A decoder reads them back in the same order.
type encoder struct{ b []byte }

func (e *encoder) uint(n uint64) { e.b = binary.AppendUvarint(e.b, n) }
func (e *encoder) int(n int64)   { e.b = binary.AppendVarint(e.b, n) }
func (e *encoder) text(s string) {
	e.uint(uint64(len(s)))
	e.b = append(e.b, s...)
}
func (e *encoder) bool(v bool) {
	if v {
		e.b = append(e.b, 1)
	} else {
		e.b = append(e.b, 0)
	}
}

// A decoder keeps the first error; after it, all values are zero.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail() {
	if d.err == nil {
		d.err = errDamaged
	}
	d.b = nil
}

func (d *decoder) uint() uint64 {
	if len(d.b) > 0 && d.b[0] < 0x80 {
		n := d.b[0]
		d.b = d.b[1:]
		return uint64(n)
	}
	n, size := binary.Uvarint(d.b)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) int() int64 {
	n := d.uint()
	return int64(n>>1) ^ -int64(n&1)
}

// skip skips n numbers.
func (d *decoder) skip(n int) {
	at := 0
	for ; n > 0 && at < len(d.b); at++ {
		if d.b[at] < 0x80 {
			n--
		}
	}
	if d.b = d.b[at:]; n > 0 {
		d.fail()
	}
}

func (d *decoder) bytes() []byte {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.fail()
		return nil
	}
	b := d.b[:n:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) text() string { return string(d.bytes()) }
func (d *decoder) bool() bool   { return d.uint() != 0 }

// count reads the number of the following values, which take at least a byte each.
func (d *decoder) count() int {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.fail()
		return 0
	}
	return int(n)
}

// below reads an index into a table.
func (d *decoder) below(n int) uint32 {
	v := d.uint()
	if v >= uint64(n) {
		d.fail()
		return 0
	}
	return uint32(v)
}

// A packed piece has its size, its checksum, and zstd data.
const pieceHead = 8

// packWindow is the window size of zstd. Columns are small, and a larger window would waste memory.
const packWindow = 1 << 20

// The store's own data is far smaller than this; a larger size means damage that the checksum missed.
const maxPiece = 1 << 30

var (
	packer = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(packWindow))
		if err != nil {
			panic(err) // cannot happen: the options are constant
		}
		return e
	})
	unpacker = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxPiece), zstd.IgnoreChecksum(true))
		if err != nil {
			panic(err) // cannot happen: the options are constant
		}
		return d
	})
)

// appendPiece appends a piece to out.
func appendPiece(out, plain []byte) []byte {
	at := len(out)
	out = append(out, make([]byte, pieceHead)...)
	out = packer().EncodeAll(plain, out)
	body := out[at+pieceHead:]
	binary.LittleEndian.PutUint32(out[at:], uint32(len(body)))
	binary.LittleEndian.PutUint32(out[at+4:], crc32.Checksum(body, castagnoli))
	return out
}

// cutPiece returns the contents of the piece at the start of in, and the rest of in.
func cutPiece(in []byte) (plain, rest []byte, err error) {
	if len(in) < pieceHead {
		return nil, nil, errDamaged
	}
	size := binary.LittleEndian.Uint32(in)
	if uint64(size) > uint64(len(in)-pieceHead) {
		return nil, nil, errDamaged
	}
	body := in[pieceHead : pieceHead+int(size)]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(in[4:]) {
		return nil, nil, fmt.Errorf("%w: a checksum is wrong", errDamaged)
	}
	plain, err = unpacker().DecodeAll(body, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %v", errDamaged, err)
	}
	return plain, in[pieceHead+int(size):], nil
}
