package profile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxText is the largest input that is read whole, as text and old binary forms are.
const maxText = 512 << 20

// Parse reads a profile: profile.proto, plain or packed with gzip or zstd; the older text and binary forms that
// pprof reads; goroutine dumps; and folded stacks. Input that was cut short is read as far as it goes, and the
// profile says so in its Notes.
func Parse(r io.Reader) (*Profile, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	in, err := unpack(br)
	if err != nil {
		return nil, &FormatError{Doing: "decompressing profile", Err: err}
	}
	defer in.Close()
	s := newStream(in)
	_, plain := in.(plainReader)
	s.packed = !plain
	p, err := decodeProto(s)
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
	detail := fmt.Sprintf("not a pprof profile at byte %d: %v", s.off, err)
	if !s.keep {
		return nil, &FormatError{Doing: "parsing profile", Err: errUnrecognized, Detail: detail}
	}
	switch err := s.readAll(maxText); {
	case err == io.EOF:
		return parseText(s.head, detail)
	case err == nil:
		return nil, &FormatError{Doing: "parsing profile", Err: errUnrecognized, Detail: detail}
	default:
		return nil, &FormatError{Doing: "decompressing profile", Err: err}
	}
}

// ParseBytes reads a profile from memory.
func ParseBytes(b []byte) (*Profile, error) { return Parse(bytes.NewReader(b)) }

var errUnrecognized = errors.New("unrecognized profile format")

// unpack undoes compression, if there is any.
func unpack(br *bufio.Reader) (io.ReadCloser, error) {
	magic, _ := br.Peek(4)
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return gzip.NewReader(br)
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		zr, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
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
	for _, parse := range []func([]byte) (*Profile, error){parseLegacy, parseGoroutines, parseFolded} {
		if p, err := parse(data); err != errUnrecognized {
			return p, err
		}
	}
	return nil, &FormatError{Doing: "parsing profile", Err: errUnrecognized, Detail: detail}
}
