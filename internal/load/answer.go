package load

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Limits on what an answer may make us read. Bodies have none of their own: they are counted and not kept, and the time
// for an answer ends them; Plan.MaxBody sets one.
const (
	maxHeader    = 1 << 20 // bytes of status line and header fields, of all interim answers, too
	maxLine      = 64 << 10
	maxInterim   = 100  // 1xx answers before the final one
	maxChunkLine = 4096 // size of a chunk with its extensions
)

// An answer reads one HTTP/1 answer after another from pieces as they come in. It is strict: what RFC 9112 does not allow
// is an error, but for a bare LF at the end of a line of the header, which it does. It keeps nothing of a body, and
// allocates nothing once its buffers have grown.
type answer struct {
	head    bool // the request was HEAD
	old     bool // requests are HTTP/1.0
	maxBody int64
	expect  []byte // the body that is expected, nil for any

	state   state
	partial []byte // of a line that has not ended yet

	Status    int
	Major10   bool  // it is HTTP/1.0
	Length    int64 // as announced; -1 when it was not
	Body      int64 // bytes of the body
	Header    int64 // bytes of everything else
	Differs   bool  // the body is another than expect
	keepAlive bool
	close     bool
	chunked   bool
	coded     bool  // there is a Transfer-Encoding
	folds     bool  // the last field may go on in the next line: what it says does not matter
	left      int64 // of the body, or of the chunk
	interim   int
	server    func([]byte) // gets the value of the field Server; nil for nobody
}

// The states of an answer: what comes next.
type state uint8

const (
	statusLine state = iota
	field
	sizedBody
	endlessBody // until the connection is closed
	chunkSize
	chunkData
	chunkEnd
	trailer
	done
)

// A malformedError says what about an answer is not HTTP.
type malformedError struct{ what string }

func (e *malformedError) Error() string { return "malformed answer: " + e.what }

// errTooLarge says that an answer is longer than it may be.
var errTooLarge = errors.New("answer too large")

// Errors are made once, so that a server that sends nothing else costs no memory.
var (
	errStatusLine   = &malformedError{"the status line is not HTTP/1"}
	errFieldName    = &malformedError{"a header field has no name, or one with a space"}
	errFieldValue   = &malformedError{"a header field has a control character in it"}
	errFolded       = &malformedError{"a header field that matters is folded into the next line"}
	errBareCR       = &malformedError{"a CR without a LF"}
	errLength       = &malformedError{"Content-Length is not a number"}
	errLengths      = &malformedError{"two Content-Length fields differ"}
	errCoding       = &malformedError{"Transfer-Encoding does not end in a single chunked"}
	errBothFramings = &malformedError{"both Transfer-Encoding and Content-Length"}
	errOldCoding    = &malformedError{"Transfer-Encoding in HTTP/1.0"}
	errChunkSize    = &malformedError{"the size of a chunk is not a number"}
	errChunkEnd     = &malformedError{"a chunk is longer than its size"}
	errNoBody       = &malformedError{"the header announces a body where none is allowed"}
	errInterim      = &malformedError{"more than 100 interim answers"}
	errSwitched     = &malformedError{"101 Switching Protocols, but the request asked for none"}
	errBehind       = &malformedError{"there is data after the end of the answer"}
)

// reset prepares for the answer to the next request.
func (a *answer) reset(head bool, expect []byte) {
	a.head, a.expect = head, expect
	a.state, a.partial = statusLine, a.partial[:0]
	a.Status, a.Major10, a.Length, a.Body, a.Header, a.Differs = 0, false, -1, 0, 0, false
	a.keepAlive, a.close, a.chunked, a.coded, a.left, a.interim = false, false, false, false, 0, 0
}

// started reports whether anything of the answer was read.
func (a *answer) started() bool { return a.Header > 0 }

// reusable reports whether another request may be sent on the connection, now that the answer is complete. A server of HTTP/1.1 answers HTTP/1.0 as
// HTTP/1.1, and closes the connection unless it says that it keeps it.
func (a *answer) reusable() bool {
	return a.state == done && !a.close && (a.keepAlive || !a.Major10 && !a.old)
}

// read takes b, the next piece, and reports whether the answer is complete with it. There must be nothing behind the end:
// one request at a time has one answer.
func (a *answer) read(b []byte) (complete bool, err error) {
	for {
		switch a.state {
		case sizedBody, chunkData:
			n := min(a.left, int64(len(b)))
			if err := a.body(b[:n]); err != nil {
				return false, err
			}
			b, a.left = b[n:], a.left-n
			if a.left > 0 {
				return false, nil
			}
			if a.state == sizedBody {
				a.finish()
			} else {
				a.state = chunkEnd
			}
		case endlessBody:
			return false, a.body(b)
		case done:
			if len(b) > 0 {
				return false, errBehind
			}
			return true, nil
		default:
			line, rest, ok, err := a.line(b)
			if err != nil || !ok {
				return false, err
			}
			b = rest
			if err := a.take(line); err != nil {
				return false, err
			}
			a.partial = a.partial[:0]
		}
	}
}

// ended is told that the connection was closed, and reports whether that completes the answer.
func (a *answer) ended() bool {
	if a.state == endlessBody {
		a.finish()
		a.close = true
	}
	return a.state == done
}

func (a *answer) finish() {
	a.state = done
	if a.expect != nil && !a.head && a.Body != int64(len(a.expect)) {
		a.Differs = true
	}
}

func (a *answer) body(b []byte) error {
	if a.expect != nil && !a.Differs {
		at, to := a.Body, a.Body+int64(len(b))
		a.Differs = to > int64(len(a.expect)) || !bytes.Equal(b, a.expect[at:to])
	}
	a.Body += int64(len(b))
	if a.maxBody > 0 && a.Body > a.maxBody {
		return errTooLarge
	}
	return nil
}

// line returns the next line without its end. It is valid until the next call.
func (a *answer) line(b []byte) (line, rest []byte, ok bool, err error) {
	limit := maxLine
	if a.state == chunkSize || a.state == chunkEnd {
		limit = maxChunkLine
	}
	i := bytes.IndexByte(b, '\n')
	taken := i + 1
	if i < 0 {
		taken = len(b)
	}
	if a.state == statusLine && len(a.partial) == 0 {
		// What can be no status line is not waited for.
		if n := min(len(b), len(httpSlash)); !bytes.Equal(b[:n], httpSlash[:n]) {
			return nil, nil, false, errStatusLine
		}
	}
	if a.state == chunkSize || a.state == chunkEnd {
		if len(a.partial)+taken > limit {
			return nil, nil, false, errChunkSize
		}
	} else if a.Header += int64(taken); a.Header > maxHeader || len(a.partial)+taken > limit {
		return nil, nil, false, errTooLarge
	}
	if i < 0 {
		a.partial = append(a.partial, b...)
		if a.state == statusLine && !bytes.HasPrefix(a.partial, httpSlash[:min(len(a.partial), len(httpSlash))]) {
			return nil, nil, false, errStatusLine
		}
		return nil, nil, false, nil
	}
	line, rest = b[:i], b[i+1:]
	if len(a.partial) > 0 {
		a.partial = append(a.partial, line...)
		line = a.partial
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	} else if a.state == chunkSize || a.state == chunkEnd {
		return nil, nil, false, errChunkSize // where a lone LF may mean another thing to somebody else
	}
	return line, rest, true, nil
}

var httpSlash = []byte("HTTP/1.")

// take takes a line.
func (a *answer) take(line []byte) error {
	switch a.state {
	case statusLine:
		return a.takeStatus(line)
	case field:
		if len(line) > 0 {
			return a.takeField(line)
		}
		return a.takeEnd()
	case chunkSize:
		return a.takeChunkSize(line)
	case chunkEnd:
		if len(line) > 0 {
			return errChunkEnd
		}
		a.state = chunkSize
	case trailer:
		if len(line) == 0 {
			a.finish()
			return nil
		}
		_, _, err := cutField(line)
		return err
	default:
		panic(fmt.Sprintf("load: a line in state %d", a.state))
	}
	return nil
}

// takeStatus takes HTTP/1.1 200 OK. The reason may be missing, and its space, too.
func (a *answer) takeStatus(line []byte) error {
	if len(line) < len("HTTP/1.1 200") || !bytes.HasPrefix(line, httpSlash) || line[8] != ' ' {
		return errStatusLine
	}
	switch line[7] {
	case '0':
		a.Major10 = true
	case '1':
		a.Major10 = false
	default:
		return errStatusLine
	}
	status := 0
	for _, c := range line[9:12] {
		if c < '0' || c > '9' {
			return errStatusLine
		}
		status = 10*status + int(c-'0')
	}
	if status < 100 || status > 999 || len(line) > 12 && line[12] != ' ' {
		return errStatusLine
	}
	if !printable(line[12:]) {
		return errStatusLine
	}
	a.Status, a.state, a.folds = status, field, false
	return nil
}

// printable reports whether text has no control characters but tabs.
func printable(text []byte) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	// Eight at a time. What may be a control character is looked at again.
	for len(text) >= 8 {
		w := binary.LittleEndian.Uint64(text)
		del := w ^ 0x7f*ones
		if ((w-0x20*ones)&^w|(del-ones)&^del)&high != 0 {
			break
		}
		text = text[8:]
	}
	for _, c := range text {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// cutField cuts a header field in two.
func cutField(line []byte) (name, value []byte, err error) {
	if line[0] == ' ' || line[0] == '\t' {
		return nil, nil, errFolded
	}
	i := bytes.IndexByte(line, ':')
	if i <= 0 {
		return nil, nil, errFieldName
	}
	for _, c := range line[:i] {
		if !inToken[c] {
			return nil, nil, errFieldName
		}
	}
	value = trim(line[i+1:])
	if !printable(value) {
		if bytes.IndexByte(value, '\r') >= 0 {
			return nil, nil, errBareCR
		}
		return nil, nil, errFieldValue
	}
	return line[:i], value, nil
}

// trim takes spaces and tabs off both ends.
func trim(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t') {
		text = text[1:]
	}
	for n := len(text); n > 0 && (text[n-1] == ' ' || text[n-1] == '\t'); n-- {
		text = text[:n-1]
	}
	return text
}

// inToken are the characters that names are made of.
var inToken = func() (t [256]bool) {
	for _, c := range "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		t[c] = true
	}
	return t
}()

func (a *answer) takeField(line []byte) error {
	if a.folds && (line[0] == ' ' || line[0] == '\t') {
		if !printable(line) {
			return errFieldValue
		}
		return nil
	}
	name, value, err := cutField(line)
	if err != nil {
		return err
	}
	a.folds = true
	switch len(name) {
	case len("server"):
		if a.server != nil && is(name, "server") {
			a.server(value)
		}
	case len("connection"):
		if is(name, "connection") {
			a.folds = false
			eachToken(value, func(t []byte) {
				a.close = a.close || is(t, "close")
				a.keepAlive = a.keepAlive || is(t, "keep-alive")
			})
		}
	case len("content-length"):
		if is(name, "content-length") {
			a.folds = false
			return a.takeLength(value)
		}
	case len("transfer-encoding"):
		if is(name, "transfer-encoding") {
			a.coded, a.folds = true, false
			wrong := false
			eachToken(value, func(t []byte) {
				wrong = wrong || a.chunked // nothing comes behind it
				a.chunked = is(t, "chunked")
			})
			if wrong {
				return errCoding
			}
		}
	}
	return nil
}

// takeLength takes a Content-Length. Some servers and proxies say it twice, or as a list, which is right as long as it is
// the same.
func (a *answer) takeLength(value []byte) error {
	for {
		one, rest, more := bytes.Cut(value, comma)
		one = trim(one)
		n, ok := number(one, 10)
		if !ok {
			return errLength
		}
		if a.Length >= 0 && a.Length != n {
			return errLengths
		}
		a.Length = n
		if !more {
			return nil
		}
		value = rest
	}
}

var comma = []byte{','}

// takeEnd takes the end of the header and finds out how long the body is: RFC 9112, section 6.3.
func (a *answer) takeEnd() error {
	if a.coded && a.Length >= 0 {
		return errBothFramings
	}
	if a.coded && a.Major10 {
		return errOldCoding
	}
	switch {
	case a.Status < 200:
		if a.Status == 101 {
			return errSwitched
		}
		if a.coded || a.Length > 0 {
			return errNoBody
		}
		if a.interim++; a.interim > maxInterim {
			return errInterim
		}
		a.state, a.Length, a.close, a.keepAlive = statusLine, -1, false, false
	case a.Status == 204 && (a.coded || a.Length > 0):
		return errNoBody
	case a.head || a.Status == 204 || a.Status == 304:
		a.finish()
	case a.chunked:
		a.state = chunkSize
	case a.coded:
		a.state = endlessBody
	case a.Length == 0:
		a.finish()
	case a.Length > 0:
		if a.maxBody > 0 && a.Length > a.maxBody {
			return errTooLarge
		}
		a.state, a.left = sizedBody, a.Length
	default:
		a.state = endlessBody
	}
	return nil
}

// takeChunkSize takes the size of a chunk in hexadecimal, and maybe extensions, which nobody reads.
func (a *answer) takeChunkSize(line []byte) error {
	size, extension, _ := bytes.Cut(line, semicolon)
	n, ok := number(bytes.TrimRight(size, " \t"), 16)
	if !ok || !printable(extension) {
		return errChunkSize
	}
	if n == 0 {
		a.state = trailer
		return nil
	}
	a.state, a.left = chunkData, n
	return nil
}

var semicolon = []byte{';'}

// number reads digits alone: no sign, no space, at least one.
func number(text []byte, base int64) (int64, bool) {
	const most = 1 << 62
	n := int64(0)
	for _, c := range text {
		d := int64(0)
		switch {
		case c >= '0' && c <= '9':
			d = int64(c - '0')
		case base == 16 && c|0x20 >= 'a' && c|0x20 <= 'f':
			d = int64(c|0x20-'a') + 10
		default:
			return 0, false
		}
		if n > (most-d)/base {
			return 0, false
		}
		n = n*base + d
	}
	return n, len(text) > 0
}

// is reports whether text is a word in lower case, in whatever case.
func is(text []byte, word string) bool {
	if len(text) != len(word) {
		return false
	}
	for i, c := range text {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

// eachToken calls yield with the words of a list, which are separated by commas.
func eachToken(list []byte, yield func([]byte)) {
	for len(list) > 0 {
		one, rest, _ := bytes.Cut(list, comma)
		if one = trim(one); len(one) > 0 {
			yield(one)
		}
		list = rest
	}
}
