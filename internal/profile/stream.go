package profile

import (
	"io"
	"sync"
)

const (
	chunkSize = 64 << 10 // three of them fit the cache beside the tables
	headroom  = 16 << 10 // room before a chunk for what is left of the one before it
)

// A stream gives access to input that another goroutine reads, and perhaps unpacks, ahead of the parser.
type stream struct {
	buf []byte // what can be looked at
	off int64  // offset of buf in the input
	err error  // why there is no more: io.EOF, or what went wrong

	packed bool // whether the input was compressed

	head []byte // copy of everything read so far, while keep is set
	keep bool

	full chan chunk
	free chan []byte
	cur  []byte // the buffer that buf is part of
}

type chunk struct {
	buf []byte // with headroom in front
	n   int
	err error
}

// buffers are those of streams that were closed. Who reads a hundred profiles would otherwise make a hundred times as much
// garbage as there is in one.
var buffers = sync.Pool{New: func() any { return new([headroom + chunkSize]byte) }}

// newStream starts reading r. The caller must close the stream.
func newStream(r io.Reader) *stream {
	const n = 3 // one being parsed, one waiting, one being filled
	s := &stream{full: make(chan chunk, n), free: make(chan []byte, n), keep: true}
	for range n - 1 {
		s.free <- nil
	}
	// Small profiles should not pay for large buffers, nor for waking a thread, which is a tenth of a millisecond.
	first := readChunk(r, make([]byte, headroom+chunkSize/4))
	s.full <- first
	if first.err != nil {
		close(s.full)
		return s
	}
	go func() {
		defer close(s.full)
		for buf := range s.free {
			if len(buf) < headroom+chunkSize {
				buf = buffers.Get().(*[headroom + chunkSize]byte)[:]
			}
			c := readChunk(r, buf)
			s.full <- c
			if c.err != nil {
				return
			}
		}
	}()
	return s
}

// readChunk fills a buffer, but for the headroom.
func readChunk(r io.Reader, buf []byte) chunk {
	c := chunk{buf: buf}
	for c.err == nil && headroom+c.n < len(buf) {
		var n int
		n, c.err = r.Read(buf[headroom+c.n:])
		c.n += n
	}
	return c
}

// close ends the reading goroutine and waits for it. What was available is gone.
func (s *stream) close() {
	close(s.free)
	for c := range s.full {
		release(c.buf)
	}
	for buf := range s.free {
		release(buf)
	}
	release(s.cur)
	s.buf, s.cur = nil, nil
}

func release(buf []byte) {
	if len(buf) == headroom+chunkSize {
		buffers.Put((*[headroom + chunkSize]byte)(buf))
	}
}

// fill makes at least n bytes available and reports whether there are that many.
func (s *stream) fill(n int) bool {
	for len(s.buf) < n && s.err == nil {
		c := <-s.full
		s.err = c.err
		data := c.buf[headroom : headroom+c.n]
		if s.keep {
			s.head = append(s.head, data...)
		}
		last := s.cur
		if start := headroom - len(s.buf); start >= 0 {
			copy(c.buf[start:], s.buf)
			s.buf, s.cur = c.buf[start:headroom+c.n], c.buf
		} else {
			// A field larger than any chunk: collect it in a buffer of its own.
			if s.cur != nil {
				s.buf = s.buf[:len(s.buf):len(s.buf)]
			}
			s.buf = append(s.buf, data...)
			s.cur = nil
			s.free <- c.buf
		}
		if last != nil {
			s.free <- last
		}
	}
	return len(s.buf) >= n
}

// readAll reads on until all input is in head, and returns how it ended, or nil when it is longer than limit.
func (s *stream) readAll(limit int) error {
	for s.err == nil && len(s.head) <= limit {
		s.skip(len(s.buf))
		s.fill(1)
	}
	return s.err
}

// skip drops n bytes that are available.
func (s *stream) skip(n int) {
	s.buf = s.buf[n:]
	s.off += int64(n)
}
