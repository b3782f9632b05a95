package objfile

import (
	"errors"
	"io"
	"os"
)

// errShort means that a header points behind the end of the file.
var errShort = errors.New("file ends early")

// An input is a file read through a small buffer. debug/pe reads a symbol table entry by entry, and a system call for
// each makes opening several times slower. An input is for one goroutine at a time.
type input struct {
	f    *os.File
	size int64

	block []byte // bytes of the file from start on
	start int64
}

const blockSize = 64 << 10

func openInput(name string) (*input, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &input{f: f, size: st.Size()}, nil
}

func (in *input) Close() error { return in.f.Close() }

// ReadAt reads through the buffer, or straight from the file when p is large.
func (in *input) ReadAt(p []byte, off int64) (int, error) {
	if len(p) >= blockSize || off < 0 {
		return in.f.ReadAt(p, off)
	}
	n := 0
	for n < len(p) {
		at := off + int64(n)
		if at < in.start || at >= in.start+int64(len(in.block)) {
			if err := in.fill(at - at%blockSize); err != nil {
				return n, err
			}
			if at >= in.start+int64(len(in.block)) {
				return n, io.EOF
			}
		}
		n += copy(p[n:], in.block[at-in.start:])
	}
	return n, nil
}

func (in *input) fill(start int64) error {
	buf := in.block[:cap(in.block)]
	if buf == nil {
		buf = make([]byte, blockSize)
	}
	n, err := in.f.ReadAt(buf, start)
	in.block, in.start = buf[:n], start
	if err != nil && err != io.EOF {
		return err
	}
	return nil
}

// bytes returns n bytes from off, which must lie within the file unless n is 0.
func (in *input) bytes(off, n uint64) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	if size := uint64(in.size); off > size || n > size-off {
		return nil, errShort
	}
	b := make([]byte, n)
	if _, err := in.ReadAt(b, int64(off)); err != nil {
		return nil, err
	}
	return b, nil
}
