package profile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/profile/inflate"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/klauspost/compress/zstd"
)

// maxText is the largest input that is read whole, as text and old binary forms are.
const maxText = 512 << 20

// maxBinary is how much is read of input that is neither text nor in a known binary form. It may have no end.
const maxBinary = 1 << 20

// Parse reads a profile: profile.proto, plain or packed with gzip or zstd; the older text and binary forms that
// pprof reads; goroutine dumps; and folded stacks. Input that was cut short is read as far as it goes, and the
// profile says so in its Notes.
//
// An r that has a method Recognized is told, once and while it is read, that what it holds is profile.proto for sure.
func Parse(r io.Reader) (*Profile, error) {
	in := &countingReader{r: r}
	share := in.share()
	var recognized func()
	if r, ok := r.(interface{ Recognized() }); ok {
		recognized = r.Recognized
	}
	return parse(bufio.NewReaderSize(in, 4<<10), in.n.Load, share, recognized, Bound{})
}

// A Bound is how much a profile may be and take that comes from somebody whom nobody trusts. Zero is what holds for all profiles.
type Bound struct {
	Unpacked int64 // bytes of the profile when it is not packed
	Memory   int64 // bytes that it takes to read and hold it, about
}

// ErrTooLarge says that a profile met a limit. The error itself says which.
var ErrTooLarge = errors.New("profile is too large")

// ParseWithin reads a profile from memory as Parse does, if it is within a bound.
func ParseWithin(b []byte, bound Bound) (*Profile, error) {
	in := &countingReader{r: bytes.NewReader(b)}
	return parse(bufio.NewReaderSize(in, 4<<10), in.n.Load, nil, nil, bound)
}

// A countingReader knows how far it has come.
type countingReader struct {
	r io.Reader
	n atomic.Int64
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n.Add(int64(n))
	return n, err
}

// share returns a function that tells what share of a file has been read, or nil for other input.
func (c *countingReader) share() func() float64 {
	f, ok := c.r.(interface{ Stat() (os.FileInfo, error) })
	if !ok {
		return nil
	}
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || st.Size() == 0 {
		return nil
	}
	return func() float64 { return float64(c.n.Load()) / float64(st.Size()) }
}

func parse(br *bufio.Reader, taken func() int64, share func() float64, recognized func(), bound Bound) (p *Profile, err error) {
	in, err := unpack(br)
	if err != nil {
		return nil, &FormatError{Doing: "decompressing profile", Err: err}
	}
	defer in.Close()
	_, plain := in.(plainReader)
	if bound.Unpacked > 0 {
		most := &atMost{in, bound.Unpacked}
		defer func() {
			if most.left < 0 { // then what was read is a part of it
				p, err = nil, limitError{unit.Size(bound.Unpacked) + " unpacked"}
			}
		}()
		in = most
	}
	s := newStream(in)
	s.packed, s.taken, s.memory = !plain, taken, bound.Memory
	p, err = decodeProto(s, share, recognized)
	defer s.close()
	if err == nil {
		return p, nil
	}
	var limit limitError
	var format *FormatError
	var read *readError
	switch {
	case errors.As(err, &format), errors.As(err, &limit), errors.As(err, &read):
		return nil, err
	case err == ErrEmpty, err == errConcatenated:
		return nil, &FormatError{Doing: "parsing profile", Err: err}
	}
	detail := fmt.Sprintf("it is not a pprof profile at byte %d (%v)", s.off, err)
	if like := resembles(s.head); like != "" {
		detail = "it looks like " + like // which says more than a byte
	}
	if !s.keep {
		return nil, &FormatError{Doing: "parsing profile", Err: errUnrecognized, Detail: detail}
	}
	most := maxText
	if !isText(s.head) && !isCPU(s.head) {
		most = maxBinary
	}
	switch err := s.readAll(most); {
	case err == io.EOF:
		return parseText(s.head, detail)
	case err == nil:
		return nil, &FormatError{Doing: "parsing profile", Err: errUnrecognized, Detail: detail}
	default:
		return nil, &FormatError{Doing: "decompressing profile", Err: err}
	}
}

// resembles says in words what input looks like that is no profile, with what helps, or nothing.
func resembles(head []byte) string {
	for _, magic := range []string{"\x7fELF", "MZ", "\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return "a program; profiles of one come from runtime/pprof, net/http/pprof and go test -cpuprofile"
		}
	}
	start := bytes.TrimLeft(head[:min(len(head), 512)], " \t\r\n\ufeff")
	switch {
	case bytes.HasPrefix(start, []byte("go 1.")):
		return "an execution trace, which go tool trace shows"
	case bytes.HasPrefix(start, []byte("<")):
		return "a web page; the address may need a login, or lack /debug/pprof/"
	case bytes.HasPrefix(start, []byte("{")), bytes.HasPrefix(start, []byte("[")):
		return "JSON"
	case bytes.HasPrefix(start, []byte("PERFILE2")):
		return "perf.data; convert it to folded stacks with perf script"
	case len(start) > 0 && utf8.Valid(start) && !bytes.ContainsFunc(start, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' }):
		return "text; as text, hone reads folded stacks (main;work 12), goroutine dumps, benchmark results and gctrace logs"
	}
	return ""
}

// ParseBytes reads a profile from memory.
func ParseBytes(b []byte) (*Profile, error) { return Parse(bytes.NewReader(b)) }

// An atMost is input that may not be longer than what is left.
type atMost struct {
	io.ReadCloser
	left int64 // below 0 once there was more
}

func (r *atMost) Read(b []byte) (int, error) {
	if r.left < 0 {
		return 0, ErrTooLarge
	}
	n, err := r.ReadCloser.Read(b[:min(int64(len(b)), r.left+1)])
	if r.left -= int64(n); r.left < 0 {
		return n, ErrTooLarge
	}
	return n, err
}

var errUnrecognized = errors.New("unrecognized profile format")

// Unrecognized reports whether err says that the input is not like a profile of any form, rather than a profile with a mistake.
func Unrecognized(err error) bool {
	var format *FormatError
	return errors.As(err, &format) && errors.Is(format.Err, errUnrecognized) && !strings.HasPrefix(format.Detail, inFolded)
}

// isText reports whether there are no bytes that text does not have.
func isText(b []byte) bool {
	return !bytes.ContainsFunc(b[:min(len(b), 4<<10)], func(r rune) bool { return r < '\t' })
}

// What packed files begin with.
const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
)

// IsPacked reports whether a file that begins like this is packed with gzip or zstd.
func IsPacked(head []byte) bool {
	return bytes.HasPrefix(head, []byte(gzipMagic)) || bytes.HasPrefix(head, []byte(zstdMagic))
}

// unpack undoes compression, if there is any.
func unpack(br *bufio.Reader) (io.ReadCloser, error) {
	magic, _ := br.Peek(4)
	switch {
	case bytes.HasPrefix(magic, []byte(gzipMagic)):
		return inflate.NewReader(br)
	case bytes.HasPrefix(magic, []byte(zstdMagic)):
		zr, err := zstd.NewReader(bufio.NewReaderSize(br, 64<<10), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
		if err != nil {
			return nil, err
		}
		return zr.IOReadCloser(), nil
	}
	return plainReader{br}, nil
}

// A plainReader is input that needs no unpacking.
type plainReader struct{ io.Reader }

func (plainReader) Close() error { return nil }

// parseText tries the forms that have to be read whole.
func parseText(data []byte, detail string) (*Profile, error) {
	long := false
	for _, parse := range []func([]byte) (*Profile, error){parseLegacy, parseGoroutines, parseFolded} {
		p, err := parse(data)
		switch err {
		case errLongHead:
			long = true
		case errUnrecognized:
		default:
			return p, err
		}
	}
	if long {
		return nil, errLongLine
	}
	return nil, &FormatError{Doing: "parsing profile", Err: errUnrecognized, Detail: detail}
}
