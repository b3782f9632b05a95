// Package load sends HTTP requests to a server, on a schedule or as fast as the server answers, and counts their outcomes.
//
// A Plan says what to send; Run sends it and returns a latency.Log. Record and Attach also record the server. There are three engines. Two
// of them write prepared bytes and parse answers strictly, with their own parser: epoll, for Linux without TLS, drives many connections
// from one thread; portable has a goroutine for each connection. The third is net/http, for HTTP/2 and proxies.
package load

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/latency"
)

// A Plan is what to send, how often, and how long.
type Plan struct {
	Targets []Target
	Agent   string // User-Agent, unless a target has one

	Rate   float64         // requests a second by a schedule; 0 sends when an answer came
	Stages []latency.Stage // a schedule whose rate changes; instead of Rate and Duration

	Conns    int           // connections, or requests at the same time with HTTP/2; 0 means 10
	Threads  int           // of the epoll engine; 0 is up to it
	Number   int64         // requests; 0 is as many as there is time for
	Duration time.Duration // 0 with a Number is no limit, else 10s
	Warmup   time.Duration // before, at the same rate; does not count

	Timeout        time.Duration // of a request, connecting included; 0 means 30s
	ConnectTimeout time.Duration // 0 means 10s, or the Timeout when that is shorter
	Stalled        bool          // Timeout is how long nothing may come on any connection, whatever a request takes
	Grace          time.Duration // how long answers are waited for in the end; 0 means 5s, or the Timeout when that is shorter

	Engine      string // Epoll, Portable, NetHTTP; "" chooses
	NoKeepAlive bool   // a connection for each request
	HTTP10      bool   // send HTTP/1.0
	HTTP2       bool
	TLS         *tls.Config // nil means the usual
	Proxy       *url.URL
	Via         string // host:port to connect to instead of that of the targets, without a word: what is sent says where it is to go
	From        string // address of this machine, or its name, to connect from; "" leaves that to the system
	Window      int    // bytes of the buffers of sockets; 0 leaves them to the system
	AnyHost     bool   // also such that is outside this machine and private networks
	Expect      Expect
	MaxBody     int64                    // bytes; a longer body is an error; 0 is no limit
	Marks       bool                     // the log shall say how many requests had been answered by when
	StopAt      func(latency.Cause) bool // reports whether a request without an answer ends the run at once; nil is never

	// Heard is called with each piece of an answer as it is read, one at a time; nil for nobody. begins says that it is the first of an
	// answer, conn is the number of the connection. Of the engines, only Portable keeps what it reads for so long.
	Heard func(conn int, begins bool, piece []byte)
	Each  func(*Outcome)    // is called for every request that counts, one at a time; nil for nobody
	Row   func(latency.Row) // is called about once a second; nil for nobody
	First func(*First)      // is called with the first answer; nil for nobody
}

// First is what is known of the first answer.
type First struct {
	Server string // field of its header
	Body   int64
	TLS    *tls.ConnectionState
}

// The engines.
const (
	Epoll    = "epoll"
	Portable = "portable"
	NetHTTP  = "net/http"
)

// Engines are those that there are on this system.
func Engines() []string {
	if hasEpoll {
		return []string{Epoll, Portable, NetHTTP}
	}
	return []string{Portable, NetHTTP}
}

// A Target is a request.
type Target struct {
	Method string // "" means GET
	URL    *url.URL
	Header []Field // in the order in which they are sent
	Body   []byte
	Wire   []byte // the whole request as it is to be sent, instead of what the others say; nil makes it of them
}

// A Field is a line of a header.
type Field struct{ Name, Value string }

// Expect says which answers are good. The zero Expect takes statuses from 200 to 399.
type Expect struct {
	Status []StatusRange // any of them
	Length int64         // of the body; only with HasLength
	Body   []byte        // the whole body; nil is any

	HasLength bool
	Same      bool // the length of the first answer
}

// A StatusRange are statuses from From to To.
type StatusRange struct{ From, To int }

// good reports whether a status is expected.
func (e *Expect) good(status int) bool {
	if len(e.Status) == 0 {
		return status >= 200 && status <= 399
	}
	return slices.ContainsFunc(e.Status, func(r StatusRange) bool { return status >= r.From && status <= r.To })
}

// ParseStatus reads statuses as they are expected: 200,3xx.
func ParseStatus(text string) ([]StatusRange, error) {
	var out []StatusRange
	for word := range strings.SplitSeq(text, ",") {
		class, isClass := strings.CutSuffix(word, "xx")
		n, err := strconv.Atoi(class)
		switch {
		case err == nil && isClass && n >= 1 && n <= 5:
			out = append(out, StatusRange{100 * n, 100*n + 99})
		case err == nil && !isClass && n >= 100 && n <= 999:
			out = append(out, StatusRange{n, n})
		default:
			return nil, fmt.Errorf("%q is not a status; want such as 200, 2xx or 200,404", word)
		}
	}
	return out, nil
}

// Limits on what can be asked for.
const (
	MaxConns    = 100_000
	MaxDuration = 24 * time.Hour
	MaxRate     = 10_000_000
)

// Check says what about a plan cannot be.
func (p Plan) Check() error {
	_, err := p.withDefaults()
	return err
}

// withDefaults returns p with what was left to us filled in, or says what cannot be.
func (p Plan) withDefaults() (Plan, error) {
	switch {
	case len(p.Targets) == 0:
		return p, errors.New("no requests to send")
	case p.Conns < 0 || p.Conns > MaxConns:
		return p, fmt.Errorf("%d connections: want 1 to %d", p.Conns, MaxConns)
	case !(p.Rate >= 0 && p.Rate <= MaxRate):
		return p, fmt.Errorf("a rate of %v: want a number of requests a second, %d at most", p.Rate, MaxRate)
	case p.Via != "" && p.Proxy != nil:
		return p, errors.New("a proxy and another address to connect to cannot be used together")
	case p.Number < 0:
		return p, fmt.Errorf("%d requests: want a positive number", p.Number)
	case p.Duration < 0 || p.Warmup < 0 || p.Timeout < 0 || p.Duration > MaxDuration || p.Warmup > MaxDuration || p.Timeout > MaxDuration:
		return p, fmt.Errorf("the time is negative or longer than %v", MaxDuration)
	case len(p.Stages) > 0 && (p.Rate > 0 || p.Duration > 0):
		return p, errors.New("stages set the rate and the time themselves")
	}
	length := time.Duration(0)
	for _, s := range p.Stages {
		if length += s.For; s.For <= 0 || length > MaxDuration {
			return p, fmt.Errorf("stages of %v: want at most %v in all", length, MaxDuration)
		}
	}
	if p.Conns == 0 {
		p.Conns = 10
	}
	if p.Number > 0 && p.Rate == 0 && len(p.Stages) == 0 {
		p.Conns = int(min(int64(p.Conns), p.Number))
	}
	if p.Duration == 0 && len(p.Stages) == 0 && p.Number == 0 {
		p.Duration = 10 * time.Second
	}
	if p.Timeout == 0 {
		p.Timeout = 30 * time.Second
	}
	if p.ConnectTimeout == 0 {
		p.ConnectTimeout = min(10*time.Second, p.Timeout)
	}
	if p.Grace == 0 {
		p.Grace = min(5*time.Second, p.Timeout)
	}
	if p.TLS == nil {
		p.TLS = &tls.Config{}
	}
	for i := range p.Targets {
		if err := p.Targets[i].check(); err != nil {
			return p, err
		}
	}
	return p, p.chooseEngine()
}

func (t *Target) check() error {
	u := t.URL
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return fmt.Errorf("%s: want a URL such as http://localhost:8080/", u)
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("%s: no such port: %s", u, port)
		}
	}
	return nil
}

// host returns host:port of a target.
func host(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// chooseEngine finds the engine that can do what is asked, and is the fastest of them.
func (p *Plan) chooseEngine() error {
	first := p.Targets[0].URL
	manyHosts, secure := false, false
	for _, t := range p.Targets {
		manyHosts = manyHosts || t.URL.Scheme != first.Scheme || host(t.URL) != host(first)
		secure = secure || t.URL.Scheme == "https"
	}
	why := ""
	switch {
	case p.HTTP2:
		why = "HTTP/2"
	case p.Proxy != nil:
		why = "a proxy"
	case manyHosts:
		why = "targets on several hosts"
	}
	switch p.Engine {
	case "":
		switch {
		case why != "":
			p.Engine = NetHTTP
		case secure || !hasEpoll:
			p.Engine = Portable
		default:
			p.Engine = Epoll
		}
	case NetHTTP:
	case Epoll, Portable:
		switch {
		case why != "":
			return fmt.Errorf("%s needs the engine %s, not %s", why, NetHTTP, p.Engine)
		case p.Engine == Epoll && !hasEpoll:
			return fmt.Errorf("the engine %s needs Linux; the engines for %s are %s", p.Engine, runtime.GOOS, strings.Join(Engines(), ", "))
		case p.Engine == Epoll && secure:
			return fmt.Errorf("the engine %s has no TLS; %s has", p.Engine, Portable)
		}
	default:
		return fmt.Errorf("unknown engine %q; the engines are %s", p.Engine, strings.Join(Engines(), ", "))
	}
	if p.Heard != nil && p.Engine != Portable {
		return fmt.Errorf("the engine %s cannot print what it reads; use %s", p.Engine, Portable)
	}
	if p.Engine == NetHTTP && p.HTTP10 {
		return fmt.Errorf("the engine %s sends no HTTP/1.0", NetHTTP)
	}
	if p.Threads == 0 {
		p.Threads = max(1, runtime.GOMAXPROCS(0)/2)
	}
	p.Threads = min(p.Threads, p.Conns)
	return nil
}
