// Package loadtest is an HTTP server that misbehaves on demand, and counts what it did, so that what a load generator
// counts can be held against it. It writes bytes itself: a server that does what net/http allows would be too well-behaved.
package loadtest

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options tune a Server.
type Options struct {
	Cert  *tls.Certificate // it is one of HTTPS
	Mix   []string         // paths without the slash
	Every time.Duration    // the last Stall of each of these it stalls, counted from the first request
	Stall time.Duration
}

// A Server answers what the path asks for:
//
//	/N           status N and a body of two bytes, where there can be one
//	/size/N      N bytes
//	/sizes       2, 3, 4 and 5 bytes in turn
//	/mix         what Mix names, in turn
//	/echo        method, path, and body
//	/burn/N      spends N microseconds of CPU
//	/sleep/N     waits for N milliseconds
//	/NAME        one of the Faults
type Server struct {
	URL string // without a path

	Options
	listener net.Listener
	all      sync.WaitGroup
	turn     atomic.Int64
	begun    atomic.Int64 // nanoseconds since 1970, of the first request
	closed   chan struct{}

	mu    sync.Mutex
	did   map[string]int64 // by status, or name of the fault
	conns map[net.Conn]bool
	count Counts
	last  string
}

// Counts are what a server counted beside what it did.
type Counts struct {
	Conns    int64
	Requests int64 // that came whole
	Sent     int64 // bytes of bodies, of whole answers
}

// Faults are what a server can do wrong, each with what a client may call it: a cause of package latency, or "" for what is
// not wrong but rare.
var Faults = map[string]string{
	"reset":        "connection reset",
	"close":        "closed before an answer",
	"cut-header":   "closed inside an answer",
	"cut-body":     "closed inside an answer",
	"cut-chunk":    "closed inside an answer",
	"garbage":      "malformed answer",
	"bad-status":   "malformed answer",
	"bad-length":   "malformed answer",
	"minus-length": "malformed answer",
	"two-lengths":  "malformed answer",
	"no-colon":     "malformed answer",
	"bad-chunk":    "malformed answer",
	"long-body":    "malformed answer",
	"both":         "malformed answer",
	"huge-header":  "answer too large",
	"hang":         "timeout waiting",
	"drip":         "timeout reading",
	"endless":      "timeout reading",

	"interim":     "",
	"chunked":     "",
	"until-close": "",
	"close-after": "",
	"old":         "",
	"non-ascii":   "",
	"split":       "",
	"folded":      "",
	"redirect":    "",
}

// Listen starts a server on this machine.
func Listen(opt Options) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{Options: opt, listener: l, did: map[string]int64{}, conns: map[net.Conn]bool{}, closed: make(chan struct{})}
	s.URL = "http://" + l.Addr().String()
	var secure *tls.Config
	if opt.Cert != nil {
		s.URL = "https://" + l.Addr().String()
		secure = &tls.Config{Certificates: []tls.Certificate{*opt.Cert}}
	}
	s.all.Go(func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				time.Sleep(time.Millisecond) // out of files, maybe
				continue
			}
			s.mu.Lock()
			s.count.Conns++
			s.conns[c] = true
			s.mu.Unlock()
			s.all.Go(func() { s.serve(c, secure) })
		}
	})
	return s, nil
}

// Close ends the server and all connections.
func (s *Server) Close() {
	close(s.closed)
	s.listener.Close()
	s.mu.Lock()
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.all.Wait()
}

// Did returns how often it did what: statuses as numbers, faults by their names.
func (s *Server) Did() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.did)
}

// Counts returns what else was counted.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// Last returns the last request as it came.
func (s *Server) Last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// A call is one request on one connection.
type call struct {
	s    *Server
	raw  net.Conn // below TLS
	conn net.Conn
	head bool
	text string // of the request
	body string
	keep bool // the client wants the connection to be kept
	old  bool // it speaks HTTP/1.0
}

func (s *Server) serve(raw net.Conn, secure *tls.Config) {
	defer func() {
		raw.Close()
		s.mu.Lock()
		delete(s.conns, raw)
		s.mu.Unlock()
	}()
	conn := raw
	if secure != nil {
		conn = tls.Server(raw, secure)
	}
	in := bufio.NewReader(conn)
	for {
		if b, err := in.Peek(1); err != nil || b[0] < 'A' || b[0] > 'Z' {
			return // it is no HTTP, and there may be no end of a line in it
		}
		c := &call{s: s, raw: raw, conn: conn}
		path, err := c.read(in)
		if err != nil {
			return
		}
		s.begun.CompareAndSwap(0, time.Now().UnixNano())
		s.mu.Lock()
		s.count.Requests++
		s.last = c.text + c.body
		s.mu.Unlock()
		s.stall()
		if name := strings.TrimPrefix(path, "/"); name == "mix" {
			path = "/" + s.Mix[int(s.turn.Add(1)-1)%len(s.Mix)]
		}
		path, _, _ = strings.Cut(strings.TrimPrefix(path, "/"), "?")
		if !c.answer(path) {
			return
		}
	}
}

// stall waits while nothing is answered.
func (s *Server) stall() {
	if s.Every == 0 {
		return
	}
	since := time.Duration(time.Now().UnixNano() - s.begun.Load())
	if left := s.Every - since%s.Every; left <= s.Stall {
		s.pause(left)
	}
}

// pause waits, unless the server is closed.
func (s *Server) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.closed:
	}
}

// read reads a request.
func (c *call) read(in *bufio.Reader) (path string, err error) {
	var text strings.Builder
	length := 0
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return "", err
		}
		text.WriteString(line)
		line = strings.TrimRight(line, "\r\n")
		switch {
		case path == "":
			words := strings.Fields(line)
			if len(words) != 3 {
				return "", fmt.Errorf("no request: %q", line)
			}
			path, c.head, c.old = words[1], words[0] == "HEAD", words[2] == "HTTP/1.0"
			c.keep = !c.old
			if at := strings.Index(path, "://"); at >= 0 { // as a proxy gets it
				_, path, _ = strings.Cut(path[at+3:], "/")
				path = "/" + path
			}
			continue
		case line == "":
			body := make([]byte, length)
			_, err := io.ReadFull(in, body)
			c.text, c.body = text.String(), string(body)
			return path, err
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.ToLower(name) {
		case "content-length":
			if length, err = strconv.Atoi(value); err != nil || length < 0 || length > 1<<24 {
				return "", fmt.Errorf("Content-Length: %s", value)
			}
		case "connection":
			c.keep = strings.EqualFold(value, "keep-alive") || c.keep && !strings.EqualFold(value, "close")
		}
	}
}

// did counts what was done. It is called before the last byte is written, since the client may look as soon as it has it.
func (c *call) did(what string, body int) {
	c.s.mu.Lock()
	c.s.did[what]++
	c.s.count.Sent += int64(body)
	c.s.mu.Unlock()
}

func (c *call) write(text string) bool {
	_, err := io.WriteString(c.conn, text)
	return err == nil
}

// plain writes an ordinary answer, and reports whether the connection goes on.
func (c *call) plain(what string, status int, extra, body string) bool {
	version, connection := "HTTP/1.1", ""
	switch {
	case c.old && c.keep:
		version, connection = "HTTP/1.0", "Connection: keep-alive\r\n"
	case c.old:
		version = "HTTP/1.0"
	case !c.keep:
		connection = "Connection: close\r\n"
	}
	if status == 204 || status == 304 {
		body = ""
	}
	length := ""
	if status != 204 {
		length = fmt.Sprintf("Content-Length: %d\r\n", len(body))
	}
	sent := body
	if c.head {
		sent = ""
	}
	c.did(what, len(sent))
	return c.write(fmt.Sprintf("%s %d Some Reason\r\nServer: loadtest/1.0 (of tests) and/2\r\n%s%s%s\r\n%s", version, status, connection, length, extra, sent)) && c.keep
}

// answer does what a path asks for, and reports whether the connection goes on.
func (c *call) answer(what string) bool {
	if status, err := strconv.Atoi(what); err == nil && status >= 200 && status <= 599 {
		return c.plain(what, status, "", "hi")
	}
	name, arg, _ := strings.Cut(what, "/")
	number, _ := strconv.Atoi(arg)
	switch name {
	case "", "ok":
		return c.plain("200", 200, "", "hi")
	case "echo":
		return c.plain("200", 200, "", c.text+c.body)
	case "size":
		return c.plain("200", 200, "", strings.Repeat("x", min(max(number, 0), 1<<24)))
	case "sizes":
		return c.plain("200", 200, "", strings.Repeat("x", 2+int(c.s.turn.Add(1)-1)%4))
	case "trickle":
		c.did("200", 20)
		c.write("HTTP/1.1 200 OK\r\nContent-Length: 20\r\nConnection: close\r\n\r\n")
		for range 20 {
			c.s.pause(time.Duration(min(max(number, 0), 1000)) * time.Millisecond)
			c.write("x")
		}
		return false
	case "unsaid": // closed without a word, as HTTP/1.0 allows
		c.did("200", 2)
		c.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
		return false
	case "spaces":
		c.did("200", 2)
		return c.write("HTTP/1.1 200 OK\r\nServer:  spaces/1.0\r\nContent-Length: 2\r\n\r\nhi") && c.keep
	case "sleep":
		c.s.pause(time.Duration(min(max(number, 0), 60_000)) * time.Millisecond)
		return c.plain("200", 200, "", "hi")
	case "burn":
		for end := time.Now().Add(time.Duration(number) * time.Microsecond); time.Now().Before(end); {
		}
		return c.plain("200", 200, "", "hi")
	}
	if _, ok := Faults[name]; !ok {
		return c.plain("404", 404, "", "no such path\n")
	}
	return c.misbehave(name)
}

// misbehave does one of the Faults.
func (c *call) misbehave(name string) bool {
	const ok = "HTTP/1.1 200 OK\r\n"
	switch name {
	case "chunked", "interim", "until-close", "close-after", "old", "non-ascii", "split", "folded":
		c.did("200", 0)
	case "redirect":
		return c.plain("302", 302, "Location: /200\r\n", "")
	default:
		c.did(name, 0)
	}
	switch name {
	case "reset":
		if t, ok := c.raw.(*net.TCPConn); ok {
			t.SetLinger(0)
		}
		c.raw.Close()
	case "close":
	case "cut-header":
		c.write(ok + "Content-Le")
	case "cut-body":
		c.write(ok + "Content-Length: 200\r\n\r\n" + strings.Repeat("x", 100))
	case "cut-chunk":
		c.write(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nhe")
	case "garbage":
		c.write("\x00\x01\x02 this is not HTTP\r\n\r\n")
	case "bad-status":
		c.write("HTTP/1.1 abc OK\r\nContent-Length: 2\r\n\r\nhi")
	case "bad-length":
		c.write(ok + "Content-Length: two\r\n\r\nhi")
	case "minus-length":
		c.write(ok + "Content-Length: -2\r\n\r\nhi")
	case "two-lengths":
		c.write(ok + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi")
	case "no-colon":
		c.write(ok + "this is not a field\r\nContent-Length: 2\r\n\r\nhi")
	case "bad-chunk":
		c.write(ok + "Transfer-Encoding: chunked\r\n\r\nxyz\r\nhello\r\n0\r\n\r\n")
	case "long-body":
		c.write(ok + "Content-Length: 2\r\n\r\nhi and more")
	case "both":
		c.write(ok + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n")
	case "huge-header":
		c.write(ok)
		for c.write(strings.Repeat("A: "+strings.Repeat("b", 1000)+"\r\n", 64)) {
		}
	case "hang":
		// Until the client has enough of it.
		io.Copy(io.Discard, c.conn)
	case "drip":
		c.write(ok + "Content-Length: 100000\r\n\r\n")
		for c.write("x") {
			c.s.pause(20 * time.Millisecond)
			select {
			case <-c.s.closed:
				return false
			default:
			}
		}
	case "endless":
		c.write(ok + "Transfer-Encoding: chunked\r\n\r\n")
		for c.write("1000\r\n" + strings.Repeat("x", 0x1000) + "\r\n") {
			c.s.pause(time.Millisecond)
		}

	case "interim":
		return c.write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"+ok+"Content-Length: 2\r\n\r\nhi") && c.keep
	case "chunked":
		return c.write(ok+"Transfer-Encoding: chunked\r\n\r\n1;a=b\r\nh\r\n01\r\ni\r\n0\r\nExpires: never\r\n\r\n") && c.keep
	case "until-close":
		c.write(ok + "\r\nhi")
	case "close-after":
		c.write(ok + "Connection: close\r\nContent-Length: 2\r\n\r\nhi")
	case "old":
		c.write("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi")
	case "non-ascii":
		return c.write("HTTP/1.1 200 D\xe9j\xe0 vu\r\nX-Name: Z\xc3\xbcrich\r\nContent-Length: 2\r\n\r\nhi") && c.keep
	case "folded":
		return c.write(ok+"X-Name: goes\r\n on\r\n\tand on\r\nContent-Length: 2\r\n\r\nhi") && c.keep
	case "split":
		for _, b := range ok + "Content-Length: 2\r\n\r\nhi" {
			if !c.write(string(b)) {
				return false
			}
		}
		return c.keep
	}
	return false
}

// Names returns the names of the faults that a client calls by one of some causes, in order. "" is what is not wrong.
func Names(causes ...string) []string {
	var out []string
	for name, cause := range Faults {
		if slices.Contains(causes, cause) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
