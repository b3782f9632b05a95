package profile

import (
	"io"
	"sync"
)

const (
	chunkSize  = 512 << 10 // read ahead
	nearChunk  = 64 << 10  // until then
	firstChunk = 16 << 10  // which is kept until it is known that it is a profile
	headroom   = 16 << 10  // room before a chunk for what is left of the one before it

	// aheadFrom is from where on input is read ahead. To wake the other goroutine again and again takes a few hundredths of the CPU time, so
	// it has to save somebody some waiting; and of many small profiles several are read at once anyhow.
	aheadFrom = 4 << 20
	farFrom   = 16 << 20 // from where on it is read in large chunks: to touch new memory takes longer than to wake a thread a few times
)

// A stream gives access to input. Another goroutine reads, and perhaps unpacks, large input ahead of the parser.
type stream struct {
	buf []byte // what can be looked at
	off int64  // offset of buf in the input
	err error  // why there is no more: io.EOF, or what went wrong

	packed bool         // whether the input was compressed
	taken  func() int64 // bytes of the input so far, as they were before they were unpacked
	memory int64        // bytes that reading may take; 0 is as much as the input justifies

	head []byte // copy of everything read so far, while keep is set
	keep bool

	r     io.Reader
	got   int    // bytes of r so far, until it is read ahead
	spare []byte // the buffer for the next chunk until then
	cur   []byte // the buffer that buf is part of

	// While it is read ahead.
	full chan chunk
	free chan []byte
}

type chunk struct {
	buf []byte // with headroom in front
	n   int
	err error
}

// buffers are those of streams that were closed. Who reads a hundred profiles would otherwise make a hundred times as much
// garbage as there is in one.
var buffers = sync.Pool{New: func() any { return new([headroom + nearChunk]byte) }}

// newStream returns a stream of what r has. The caller must close it.
func newStream(r io.Reader) *stream { return &stream{r: r, keep: true} }

// next returns the next chunk.
func (s *stream) next() chunk {
	if s.full != nil {
		return <-s.full
	}
	if s.got >= aheadFrom {
		s.readAhead()
		return <-s.full
	}
	buf := s.spare
	s.spare = nil
	if s.got == 0 {
		buf = newBuffer()[:headroom+firstChunk]
	} else if buf = buf[:cap(buf)]; len(buf) < headroom+nearChunk {
		buf = newBuffer()
	}
	c := readChunk(s.r, buf)
	s.got += c.n
	return c
}

// readAhead starts the goroutine that reads the rest.
func (s *stream) readAhead() {
	const n = 3 // one being parsed, one waiting, one being filled
	s.full, s.free = make(chan chunk, n), make(chan []byte, n)
	s.free <- s.spare
	s.free <- nil
	s.spare = nil
	go func() {
		defer close(s.full)
		got := s.got
		for buf := range s.free {
			size := headroom + chunkSize
			if got < farFrom {
				size = headroom + chunkSize/4
			}
			if len(buf) < size {
				buf = make([]byte, size)
			}
			c := readChunk(s.r, buf)
			got += c.n
			s.full <- c
			if c.err != nil {
				return
			}
		}
	}()
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

// close ends the reading goroutine, if there is one, and waits for it. What was available is gone.
func (s *stream) close() {
	if s.full != nil {
		close(s.free)
		for c := range s.full {
			release(c.buf)
		}
		for buf := range s.free {
			release(buf)
		}
	}
	release(s.spare)
	release(s.cur)
	s.buf, s.cur, s.spare = nil, nil, nil
}

// reuse gives back a buffer of which nothing is needed any more.
func (s *stream) reuse(buf []byte) {
	if s.full != nil {
		s.free <- buf
		return
	}
	release(s.spare)
	s.spare = buf
}

func newBuffer() []byte { return buffers.Get().(*[headroom + nearChunk]byte)[:] }

func release(buf []byte) {
	if cap(buf) == headroom+nearChunk {
		buffers.Put((*[headroom + nearChunk]byte)(buf[:cap(buf)]))
	}
}

// fill makes at least n bytes available and reports whether there are that many.
func (s *stream) fill(n int) bool {
	for len(s.buf) < n && s.err == nil {
		c := s.next()
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
			s.reuse(c.buf)
		}
		if last != nil {
			s.reuse(last)
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
