package exectrace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// A batch is a stretch of a file with the events of a thread, or with entries of a table.
type batch struct {
	thread uint64
	time   uint64
	off    int64
	size   int32
	kind   byte // of its first event; 0 when it is empty
}

// A generation is about a second of a trace. It names all goroutines, strings and stacks by itself.
type generation struct {
	number  uint64
	begin   int64
	batches []batch
	cut     bool // it does not end as a generation does
	damaged bool // a batch of it could not be found
}

// maxBatches bounds what a generation of small batches takes in memory: one of 1 GB of full batches has 16,000.
const maxBatches = 4 << 20

// A scanner finds the batches of a file without reading what is in them.
type scanner struct {
	t      *Trace
	off    int64
	window []byte // of the file, from start on
	start  int64
	buf    []byte
}

// noThread is the thread of events that happened on none, such as those of the network poller.
const noThread = ^uint64(0)

// errEnd says that the file ends here.
var errEnd = errors.New("the file ends")

// maxHeader is how long the header of a batch is at most: a type, an experiment and four numbers.
const maxHeader = 2 + 4*10

// peek returns n bytes from off on, or what is left of the file.
func (s *scanner) peek(off int64, n int) ([]byte, error) {
	if off >= s.start && off+int64(n) <= s.start+int64(len(s.window)) {
		return s.window[off-s.start:][:n], nil
	}
	// Batches are mostly longer than this, and are jumped over: a larger window would read most of the file twice.
	size := min(int64(max(n, 512)), s.t.size-off)
	if size <= 0 {
		return nil, nil
	}
	if int64(cap(s.buf)) < size {
		s.buf = make([]byte, size)
	}
	m, err := s.t.r.ReadAt(s.buf[:size], off)
	if m < int(size) && err != nil && err != io.EOF {
		return nil, &pathError{fmt.Errorf("reading the trace at %d: %w", off, err)}
	}
	s.start, s.window = off, s.buf[:m]
	return s.window[:min(n, m)], nil
}

// A header is the begin of a batch.
type header struct {
	batch
	generation   uint64
	next         int64 // where the next one begins
	experimental bool
	last         bool // it is no batch, but the end of a generation
}

// header reads the header at off. errEnd: there is none, because the file ends. The batch may be longer than the file.
func (s *scanner) header(off int64) (header, error) {
	h := header{}
	b, err := s.peek(off, maxHeader+1)
	switch {
	case err != nil:
		return h, err
	case len(b) == 0:
		return h, errEnd
	}
	n := 1
	switch b[0] {
	case evEndOfGeneration:
		h.last, h.next = true, off+1
		return h, nil
	case evEventBatch:
	case evExperimentalBatch:
		h.experimental = true
		n = 2
	default:
		return h, fmt.Errorf("there is an event of type %d where a batch of events has to begin", b[0])
	}
	var v [4]uint64
	for i := range v {
		if n > len(b) {
			return h, errEnd
		}
		x, m := uvarint(b[n:])
		if m == 0 {
			if len(b) < maxHeader {
				return h, errEnd
			}
			return h, errors.New("the header of a batch has a number that is too large")
		}
		v[i] = x
		n += m
	}
	h.generation, h.thread, h.time = v[0], v[1], v[2]
	h.off = off + int64(n)
	switch {
	case v[3] > maxBatch:
		return h, fmt.Errorf("a batch of %d bytes is more than the %d that there can be", v[3], maxBatch)
	case h.generation == 0:
		return h, errors.New("a batch of generation 0")
	}
	h.size = int32(v[3])
	h.next = h.off + int64(h.size)
	if h.size > 0 && n < len(b) {
		h.kind = b[n]
	}
	return h, nil
}

// next reads the headers of a generation. A nil generation is the end of the file.
func (s *scanner) next() (*generation, error) {
	var g *generation
	for {
		h, err := s.header(s.off)
		switch {
		case err == errEnd:
			if g != nil {
				// Before Go 1.26 there is no other sign that a generation is whole.
				g.cut = s.t.Version >= 26 || s.off < s.t.size
			} else if s.off < s.t.size {
				s.t.lose(s.off, 0, "cut", errors.New("the file ends in the middle of a batch"))
			}
			s.off = s.t.size
			return g, nil
		case err != nil:
			if isRead(err) {
				return nil, err
			}
			bad := s.off
			s.off = s.resync(s.off+1, g)
			s.t.lose(bad, 0, "batch", err)
			if g != nil {
				g.damaged = true // what follows may belong to it: names come last
			}
			continue
		case h.last:
			s.off = h.next
			if g != nil {
				return g, nil
			}
			continue
		}
		if g == nil {
			g = &generation{number: h.generation, begin: s.off}
		} else if h.generation != g.number {
			g.cut = s.t.Version >= 26
			return g, nil
		}
		if h.next > s.t.size {
			// The events of the batch that are there can be read.
			h.size = int32(max(0, s.t.size-h.off))
			h.next = s.t.size
			g.cut = true
		}
		s.off = h.next
		if h.experimental || h.size == 0 {
			continue
		}
		if len(g.batches) == maxBatches {
			s.t.lose(s.off, 0, "batch", fmt.Errorf("a generation has more than %d batches", maxBatches))
			g.cut = true
			return g, nil
		}
		g.batches = append(g.batches, h.batch)
	}
}

// pathError is an error of reading the file, as opposed to one of what is in it.
type pathError struct{ error }

// resync looks for the next batch after damage: a header that is followed by another one.
func (s *scanner) resync(off int64, g *generation) int64 {
	buf := make([]byte, 64<<10)
	for off < s.t.size {
		n, err := s.t.r.ReadAt(buf[:min(int64(len(buf)), s.t.size-off)], off)
		if n == 0 || err != nil && err != io.EOF {
			break
		}
		for i := 0; i < n; i++ {
			next := bytes.IndexByte(buf[i:n], evEventBatch)
			if next < 0 {
				break
			}
			i += next
			if s.plausible(off+int64(i), g) {
				return off + int64(i)
			}
		}
		off += int64(n)
	}
	return s.t.size
}

// plausible reports whether a batch begins at off that is followed by another one.
func (s *scanner) plausible(off int64, g *generation) bool {
	h, err := s.header(off)
	if err != nil || h.last || h.size == 0 || h.next > s.t.size || g != nil && (h.generation < g.number || h.generation > g.number+1) {
		return false
	}
	after, err := s.header(h.next)
	return err == errEnd || err == nil && (after.last || after.generation == h.generation || after.generation == h.generation+1)
}

// lose notes what could not be read. The list is bounded: a file may be damaged in many places.
func (t *Trace) lose(at, time int64, lost string, err error) {
	t.lost++
	if t.onLost != nil {
		t.onLost()
	}
	if len(t.damage) < 100 {
		t.damage = append(t.damage, Damage{At: at, Time: time, Err: err, Lost: lost})
	}
}
