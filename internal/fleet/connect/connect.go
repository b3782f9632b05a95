// Package connect is the side of a server in unary calls of the Connect protocol (connectrpc.com), which Pyroscope speaks: a POST whose
// body is a message as protocol buffers or JSON.
package connect

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/fleet/body"
	"github.com/hone-perf/hone/internal/fleet/message"
	"github.com/hone-perf/hone/internal/fleet/token"
	"github.com/klauspost/compress/gzip"
)

// A Code says what kind of error it is.
type Code string

const (
	InvalidArgument   Code = "invalid_argument"
	DeadlineExceeded  Code = "deadline_exceeded"
	NotFound          Code = "not_found"
	PermissionDenied  Code = "permission_denied"
	ResourceExhausted Code = "resource_exhausted"
	Unimplemented     Code = "unimplemented"
	Internal          Code = "internal"
	Unavailable       Code = "unavailable"
	Unauthenticated   Code = "unauthenticated"
)

// status is the one of HTTP for each code.
var status = map[Code]int{
	InvalidArgument: 400, DeadlineExceeded: 504, NotFound: 404, PermissionDenied: 403, ResourceExhausted: 429, Unimplemented: 501,
	Internal: 500, Unavailable: 503, Unauthenticated: 401,
}

// An Error is the answer of a call that failed.
type Error struct {
	Code    Code
	Message string
	Status  int // of HTTP; 0 is the one of the code
	Retry   string
}

func (e *Error) Error() string { return e.Message }

// Errorf returns an Error.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// errorOf says as an Error what another error is about.
func errorOf(err error) *Error {
	var e *Error
	var refused *token.Refused
	var bad *body.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &refused):
		code := Unavailable
		switch refused.Status {
		case http.StatusUnauthorized:
			code = Unauthenticated
		case http.StatusForbidden:
			code = PermissionDenied
		case http.StatusBadRequest:
			code = InvalidArgument
		}
		return &Error{Code: code, Message: refused.Message}
	case errors.As(err, &bad):
		// Clients send again what was refused as exhausted or unavailable: only what can go better the next time is.
		e := &Error{Code: InvalidArgument, Message: bad.Message, Status: bad.Status}
		switch bad.Status {
		case http.StatusTooManyRequests:
			e.Code = ResourceExhausted
		case http.StatusRequestTimeout:
			e.Code = DeadlineExceeded
		case http.StatusInsufficientStorage, http.StatusServiceUnavailable:
			e.Code = Unavailable
		case http.StatusInternalServerError:
			e.Code = Internal
		case http.StatusUnsupportedMediaType:
			e.Code = Unimplemented
		}
		if bad.Retry > 0 {
			e.Retry = strconv.Itoa(int((bad.Retry.Seconds() + 0.999)))
		}
		return e
	case errors.Is(err, message.ErrForm), errors.Is(err, message.ErrMemory):
		return &Error{Code: InvalidArgument, Message: err.Error()}
	}
	return &Error{Code: Internal, Message: err.Error()}
}

// failure is how an Error is written.
type failure struct {
	Code    string `pb:"1" json:"code"`
	Message string `pb:"2" json:"message"`
}

// Fail answers with an error.
func Fail(w http.ResponseWriter, err error) {
	e := errorOf(err)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	if e.Code == Unauthenticated {
		h.Set("WWW-Authenticate", `Bearer realm="hone"`)
	}
	if e.Retry != "" {
		h.Set("Retry-After", e.Retry)
	}
	code := e.Status
	if code == 0 {
		code = status[e.Code]
	}
	w.WriteHeader(code)
	w.Write(message.MarshalJSON(&failure{string(e.Code), e.Message}))
}

// A Form is how the messages of a call are written.
type Form int

const (
	Proto Form = iota
	JSON
)

func (f Form) contentType() string {
	if f == JSON {
		return "application/json"
	}
	return "application/proto"
}

// Accept returns the form of a call, or answers it, when it is none, and returns false.
func Accept(w http.ResponseWriter, r *http.Request) (Form, bool) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		Fail(w, &Error{Code: Unimplemented, Message: "calls are POST requests", Status: http.StatusMethodNotAllowed})
		return 0, false
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	form := Proto
	switch kind {
	case "application/json":
		form = JSON
	case "application/proto":
	default:
		w.Header().Set("Accept-Post", "application/json, application/proto")
		Fail(w, &Error{Code: Unimplemented, Message: "calls have a body of application/proto or application/json", Status: http.StatusUnsupportedMediaType})
		return 0, false
	}
	if v := r.Header.Get("Connect-Protocol-Version"); v != "" && v != "1" {
		Fail(w, Errorf(InvalidArgument, "the version of the Connect protocol is 1 here"))
		return 0, false
	}
	return form, true
}

// Decode reads the message of a call.
func (f Form) Decode(data []byte, into any, limits message.Limits) error {
	if f == JSON {
		return message.UnmarshalJSON(data, into, limits)
	}
	return message.Unmarshal(data, into, limits)
}

// smallest is the size from which answers are packed.
const smallest = 1 << 10

// Answer writes the message that answers a call.
func (f Form) Answer(w http.ResponseWriter, r *http.Request, m any) {
	if f == JSON {
		f.AnswerBytes(w, r, message.MarshalJSON(m))
		return
	}
	f.AnswerBytes(w, r, message.Marshal(m))
}

// AnswerBytes writes a message that is in its form already.
func (f Form) AnswerBytes(w http.ResponseWriter, r *http.Request, data []byte) {
	h := w.Header()
	h.Set("Content-Type", f.contentType())
	h.Set("X-Content-Type-Options", "nosniff")
	if len(data) < smallest || !acceptsGzip(r) {
		h.Set("Content-Length", strconv.Itoa(len(data)))
		w.Write(data)
		return
	}
	h.Set("Content-Encoding", "gzip")
	h.Set("Vary", "Accept-Encoding")
	zw, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
	zw.Write(data)
	zw.Close()
}

func acceptsGzip(r *http.Request) bool {
	for _, line := range r.Header.Values("Accept-Encoding") {
		for part := range strings.SplitSeq(line, ",") {
			name, q, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(name), "gzip") && strings.ReplaceAll(q, " ", "") != "q=0" {
				return true
			}
		}
	}
	return false
}
