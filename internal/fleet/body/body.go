// Package body reads what clients send, however much, however slowly and however well packed, within limits.
package body

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/unit"
	"github.com/klauspost/compress/gzip"
)

// Limits are the limits of a request body. Zero means no limit.
type Limits struct {
	Bytes    int64 // compressed size
	Unpacked int64
	Time     time.Duration // for the whole body

	Recording int64 // compressed size of a recording; 0 means that recordings are not allowed
}

// An Error is an error in a request, with its HTTP status.
type Error struct {
	Status  int
	Limit   string // the limit that the body exceeds, or ""
	Message string
	Retry   time.Duration // when to retry, if that makes sense
}

func (e *Error) Error() string { return e.Message }

// Errorf returns an Error without a limit.
func Errorf(status int, format string, args ...any) *Error {
	return &Error{Status: status, Message: fmt.Sprintf(format, args...)}
}

// TooLarge returns the error for a body that exceeds a limit.
func TooLarge(limit, what string, most int64) *Error {
	return &Error{Status: http.StatusRequestEntityTooLarge, Limit: limit, Message: fmt.Sprintf("%s is larger than %s (limit: %s)", what, unit.Size(most), limit)}
}

// Names of limits in answers and settings.
const (
	LimitBytes    = "profile-size"
	LimitUnpacked = "profile-size-unpacked"
	LimitTime     = "body-time"

	LimitRecording = "pushed-recording-size"
)

// archive is the start of a ZIP file, such as a recording.
const archive = "PK\x03\x04"

// Read returns the body of a request, decompressed according to its Content-Encoding, and the compressed size.
func Read(w http.ResponseWriter, r *http.Request, limits Limits) (data []byte, sent int64, err error) {
	packed := false
	switch e := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding"))); e {
	case "", "identity":
	case "gzip", "x-gzip":
		packed = true
	default:
		return nil, 0, Errorf(http.StatusUnsupportedMediaType, "unsupported content encoding: use gzip or none")
	}
	if limits.Time > 0 {
		setDeadline(w, time.Now().Add(limits.Time))
	}
	var from io.Reader = r.Body
	most, limit := limits.Bytes, LimitBytes
	if limits.Recording > 0 && r.ContentLength > 0 && !packed { // without a Content-Length, it counts as a profile
		b := bufio.NewReader(r.Body)
		if begin, _ := b.Peek(len(archive)); string(begin) == archive {
			most, limit = limits.Recording, LimitRecording
		}
		from = b
	}
	if most > 0 && r.ContentLength > most {
		return nil, 0, TooLarge(limit, "the body", most)
	}
	data, err = readAll(from, most, r.ContentLength)
	sent = int64(len(data))
	switch {
	case errors.Is(err, errMore):
		return nil, sent, TooLarge(limit, "the body", most)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, sent, &Error{
			Status: http.StatusRequestTimeout, Limit: LimitTime,
			Message: fmt.Sprintf("the body was not complete after %v (limit: %s)", limits.Time, LimitTime),
		}
	case err != nil:
		return nil, sent, Errorf(http.StatusBadRequest, "reading the body: %v", err)
	}
	// A later deadline would interrupt the answer.
	setDeadline(w, time.Time{})
	if packed {
		data, err = Gunzip(data, limits.Unpacked)
	}
	return data, sent, err
}

// Bound sets a deadline for the body of requests, also for handlers that do not read it: net/http reads the rest of small bodies before it answers,
// and would wait forever.
func Bound(d time.Duration, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		setDeadline(w, time.Now().Add(d))
		h(w, r)
	}
}

// setDeadline does nothing in tests without a connection.
func setDeadline(w http.ResponseWriter, t time.Time) {
	_ = http.NewResponseController(w).SetReadDeadline(t)
}

// Gunzip decompresses at most limit bytes.
func Gunzip(data []byte, limit int64) ([]byte, error) {
	zr, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, Errorf(http.StatusBadRequest, "unpacking the body: %v", err)
	}
	return unpack(zr, limit)
}

func unpack(r io.Reader, limit int64) ([]byte, error) {
	out, err := readAll(r, limit, 0)
	if errors.Is(err, errMore) {
		return nil, TooLarge(LimitUnpacked, "what is packed in the body", limit)
	}
	if err != nil {
		return nil, Errorf(http.StatusBadRequest, "unpacking the body: %v", err)
	}
	return out, nil
}

var errMore = errors.New("there is more")

// readAll reads at most limit bytes.
func readAll(r io.Reader, limit, hint int64) ([]byte, error) {
	var buf bytes.Buffer
	if hint > 0 {
		// Allocate for received bytes, not for an announced length.
		buf.Grow(int(min(hint, 1<<20)) + bytes.MinRead)
	}
	if limit > 0 {
		r = io.LimitReader(r, limit+1)
	}
	_, err := buf.ReadFrom(r)
	if limit > 0 && int64(buf.Len()) > limit {
		return nil, errMore
	}
	return buf.Bytes(), err
}
