package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"
)

// This file is JSON-RPC 2.0 over lines: a line that arrives is a message or a batch of them, and each request is answered with a line.
// protocol.go has the methods.

// Limits of what one caller may send, and of what waits for it.
const (
	maxRequest   = 1 << 20         // bytes of a line
	maxID        = 1 << 10         // bytes of an id or a progress token, which are kept and sent back
	mostRequests = 100             // calls at once, with those that wait for their turn; also the messages of a batch
	mostUnread   = 100             // lines that wait until the caller reads them
	lastLines    = 5 * time.Second // how long the caller may take to read the rest, once it sends nothing more
)

// A fault is what is wrong with a request. What a tool could not do is an Answer instead, so that a model reads it.
type fault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Codes of faults. JSON-RPC defines the first five and the protocol the last one; tooMany is in the range that both leave to servers.
const (
	parseError         = -32700
	invalidRequest     = -32600
	noMethod           = -32601
	invalidParams      = -32602
	internalError      = -32603
	tooMany            = -32010
	unsupportedVersion = -32022
)

func faultf(code int, format string, args ...any) *fault {
	return &fault{Code: code, Message: fmt.Sprintf(format, args...)}
}

// An object is a JSON object. Decoding into a struct would take "Method" for "method", which whatever checks requests on their way here may not do.
// Of members with the same name, the last one counts, as in most readers of JSON.
type object map[string]json.RawMessage

// isObject reports whether raw, which is valid JSON, is an object, and returns it.
func isObject(raw json.RawMessage) (object, bool) {
	var o object
	err := json.Unmarshal(raw, &o)
	return o, err == nil && o != nil
}

// get returns a member, or nil where there is none or it is null.
func (o object) get(name string) json.RawMessage {
	if raw := o[name]; string(raw) != "null" {
		return raw
	}
	return nil
}

// text returns a member that is a string, or "" where there is none. It is not ok where the member is something else.
func (o object) text(name string) (text string, ok bool) {
	raw := o.get(name)
	if raw == nil {
		return "", true
	}
	err := json.Unmarshal(raw, &text)
	return text, err == nil
}

// A message is what a caller sends.
type message struct {
	id     json.RawMessage // as it was sent; nil for a notification, which gets no answer
	key    string          // of the id
	method string
	params json.RawMessage // nil where there are none, or null
}

// readMessage reads a message. Of one that is wrong, it returns the id, if there is one. Of an answer, it returns nothing: hone asks callers nothing, and an answer to an answer would have no end.
func readMessage(raw []byte) (m message, f *fault) {
	o, ok := isObject(raw)
	if !ok {
		if !json.Valid(raw) {
			return m, faultf(parseError, "this is not JSON, or not in one line")
		}
		return m, faultf(invalidRequest, "want an object")
	}
	if o["method"] == nil && (o["result"] != nil || o["error"] != nil) {
		return m, nil
	}
	if id, ok := o["id"]; ok {
		if m.key = idKey(id); m.key == "" {
			return m, faultf(invalidRequest, "want a string or a number of at most %d bytes as id", maxID)
		}
		m.id = id
	}
	if version, ok := o.text("jsonrpc"); !ok || version != "2.0" {
		return m, faultf(invalidRequest, `want "jsonrpc": "2.0"`)
	}
	if o.get("method") == nil {
		return m, faultf(invalidRequest, "there is no method")
	}
	if m.method, ok = o.text("method"); !ok {
		return m, faultf(invalidRequest, "method: want a text")
	}
	m.params = o.get("params")
	return m, nil
}

// idKey returns a text that equal ids share, or "" for what is no id.
func idKey(id json.RawMessage) string {
	if len(id) == 0 || len(id) > maxID {
		return ""
	}
	switch c := id[0]; {
	case c == '"':
		var text string
		if json.Unmarshal(id, &text) != nil {
			return ""
		}
		return "text " + text
	case c == '-' || '0' <= c && c <= '9':
		return "number " + string(id)
	}
	return ""
}

// wire returns v as JSON in one line.
func wire(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// answerLine returns the answer to a request: a result, or a fault if there is one. Without an id, it is about a message whose id is not known.
func answerLine(id json.RawMessage, result any, f *fault) []byte {
	name, v := "result", result
	if f != nil {
		name, v = "error", f
	}
	text, err := wire(v)
	if err != nil {
		return answerLine(id, nil, faultf(internalError, "the answer is no JSON: %v", err))
	}
	if id == nil {
		id = json.RawMessage("null")
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%q:%s}`, id, name, text)
}

// A conn is the connection to a caller.
type conn struct {
	s    *server
	life context.Context
	end  context.CancelFunc // of life

	out     chan []byte   // lines to write
	last    chan struct{} // closed when no more of them come
	written chan struct{} // closed when nothing writes lines any more
	failed  error         // why, once that is closed

	// Only the goroutine that reads uses these.
	version string // that the caller and hone agreed on in an initialize request
	known   bool   // the caller has said which version it speaks, in an initialize request or any other

	calls sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	running map[string]context.CancelFunc // calls by the keys of their ids
	taken   int                           // how many of mostRequests are in use
}

// Serve answers requests from in until it ends, or the context does. Then it stops what it does for the caller, and closes in and out.
func Serve(ctx context.Context, o Options, in io.ReadCloser, out io.WriteCloser) error {
	life, end := context.WithCancel(ctx)
	defer end()
	c := &conn{
		s: newServer(life, o), life: life, end: end, running: map[string]context.CancelFunc{},
		out: make(chan []byte, mostUnread), last: make(chan struct{}), written: make(chan struct{}),
	}
	ended := make(chan error, 1)
	go func() { ended <- c.read(in) }()
	go func() { c.failed = c.write(out); end(); close(c.written) }()
	var err error
	select {
	case err = <-ended:
	case <-life.Done():
		err = ctx.Err()
	}
	c.stop()
	close(c.last)
	select {
	case <-c.written:
		err = cmp.Or(c.failed, err)
	case <-time.After(lastLines):
	}
	// Where closing in does not end a read, such as on a terminal, the goroutine that reads ends with the process.
	return errors.Join(err, in.Close(), out.Close())
}

// read handles what arrives until nothing more does.
func (c *conn) read(in io.Reader) error {
	r := bufio.NewReaderSize(in, 64<<10)
	var line []byte
	long := false // the line is too long, which the caller has been told
	for {
		part, err := r.ReadSlice('\n')
		if !long {
			line = append(line, part...)
		}
		if len(line) > maxRequest {
			c.send(answerLine(nil, nil, faultf(invalidRequest, "the line is too long; the limit is %d bytes", maxRequest)))
			line, long = nil, true
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if c.life.Err() != nil {
			return nil
		}
		c.line(line)
		line, long = line[:0], false
		if cap(line) > 64<<10 {
			line = nil // most are short
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// write writes lines until the last one.
func (c *conn) write(out io.Writer) error {
	for {
		select {
		case line := <-c.out:
			if _, err := out.Write(append(line, '\n')); err != nil {
				return err
			}
		case <-c.last:
			for {
				select {
				case line := <-c.out:
					if _, err := out.Write(append(line, '\n')); err != nil {
						return err
					}
				default:
					return nil
				}
			}
		}
	}
}

// send passes on a line to write, if it is not nil. It waits for a caller that does not read: such a caller gets no further requests read, either.
func (c *conn) send(line []byte) {
	if line == nil {
		return
	}
	select {
	case c.out <- line:
	case <-c.life.Done():
	}
}

// tell passes on a line, unless the caller has much left to read.
func (c *conn) tell(line []byte) {
	if len(c.out) > cap(c.out)/2 {
		return
	}
	select {
	case c.out <- line:
	default:
	}
}

// line handles a line.
func (c *conn) line(line []byte) {
	line = bytes.TrimSpace(line)
	switch {
	case len(line) == 0:
	case !utf8.Valid(line):
		c.send(answerLine(nil, nil, faultf(parseError, "the line is not UTF-8")))
	case line[0] == '[':
		c.batch(line)
	default:
		m, f := readMessage(line)
		if f != nil || m.id == nil || m.method != methodCall {
			c.message(m, f, c.send)
			return
		}
		if f := c.take(1); f != nil {
			c.send(answerLine(m.id, nil, f))
			return
		}
		c.message(m, nil, func(line []byte) { c.send(line); c.free(1) })
	}
}

// batch handles the messages of a batch. The answers make one line, which is written when all are there.
func (c *conn) batch(line []byte) {
	var all []json.RawMessage
	f := c.refuseBatch()
	switch err := json.Unmarshal(line, &all); {
	case err != nil:
		f = faultf(parseError, "this is not JSON, or not in one line")
	case f != nil:
	case len(all) == 0:
		f = faultf(invalidRequest, "the batch is empty")
	default:
		f = c.take(len(all))
	}
	if f != nil {
		c.send(answerLine(nil, nil, f))
		return
	}
	var mu sync.Mutex
	var answers [][]byte
	left := len(all)
	add := func(answer []byte) {
		mu.Lock()
		if answer != nil {
			answers = append(answers, answer)
		}
		left--
		ended := left == 0
		mu.Unlock()
		if !ended {
			return
		}
		if len(answers) > 0 {
			c.send(fmt.Appendf(nil, "[%s]", bytes.Join(answers, []byte(","))))
		}
		c.free(len(all))
	}
	for _, raw := range all {
		m, f := readMessage(raw)
		c.message(m, f, add)
	}
}

// message handles a message. It calls send once, with the answer or with nil, at once or when a call ends.
func (c *conn) message(m message, f *fault, send func(line []byte)) {
	switch {
	case f != nil:
		send(answerLine(m.id, nil, f))
	case m.id != nil:
		c.request(m, send)
	default:
		c.notified(m)
		send(nil)
	}
}

// take takes the room of n requests, until free gives it back.
func (c *conn) take(n int) *fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken+n > mostRequests {
		return faultf(tooMany, "too many requests at once; the limit is %d", mostRequests)
	}
	c.taken += n
	return nil
}

func (c *conn) free(n int) {
	c.mu.Lock()
	c.taken -= n
	c.mu.Unlock()
}

// inUse reports whether a call with that id is running.
func (c *conn) inUse(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running[key] != nil
}

// begin remembers a call that runs until finish, and how to stop it. It reports whether there still is a caller.
func (c *conn) begin(key string, stop context.CancelFunc) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.running[key] = stop
	c.calls.Add(1)
	return true
}

func (c *conn) finish(key string) {
	c.mu.Lock()
	delete(c.running, key)
	c.mu.Unlock()
}

// cancel stops the call with that id, if it is running.
func (c *conn) cancel(key string) {
	c.mu.Lock()
	stop := c.running[key]
	c.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// stop stops all calls, and waits for them.
func (c *conn) stop() {
	c.end()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.calls.Wait()
}
