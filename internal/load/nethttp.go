package load

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"
)

// netHTTP is the engine for what the others cannot do: HTTP/2, proxies, many hosts. It takes three times the CPU.
func (r *run) netHTTP(ctx context.Context) error {
	p := &r.plan
	d := r.where.dialer()
	transport := &http.Transport{
		TLSClientConfig: p.TLS.Clone(), DisableCompression: true, DisableKeepAlives: p.NoKeepAlive,
		MaxIdleConnsPerHost: p.Conns, MaxResponseHeaderBytes: maxHeader,
		TLSHandshakeTimeout: p.ConnectTimeout, Protocols: new(http.Protocols),
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, p.ConnectTimeout)
			defer cancel()
			began := r.now()
			if p.Via != "" {
				addr = p.Via
			}
			c, err := d.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			p.tune(c)
			now := r.now()
			t := r.tallies[0]
			t.Lock()
			t.opened(&ticket{counts: now >= p.Warmup}, now-began)
			t.Unlock()
			return &counted{Conn: c, r: r}, nil
		},
	}
	transport.Protocols.SetHTTP1(!p.HTTP2)
	transport.Protocols.SetHTTP2(p.HTTP2)
	transport.Protocols.SetUnencryptedHTTP2(p.HTTP2)
	if p.Proxy != nil {
		transport.Proxy = http.ProxyURL(p.Proxy)
	}
	defer transport.CloseIdleConnections()
	r.workers(func(_ int, t *tally) {
		w := &roundTripper{r: r, t: t, transport: transport, buf: make([]byte, readBuffer)}
		for {
			k, ok := r.ticket(ctx)
			if !ok {
				return
			}
			if !w.do(ctx, &k) && r.schedule == nil {
				sleepUntil(ctx, time.Now().Add(restAfter))
			}
		}
	})
	return nil
}

// A counted connection counts its bytes.
type counted struct {
	net.Conn
	r *run
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.count(int64(n), 0)
	return n, err
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.count(0, int64(n))
	return n, err
}

func (c *counted) count(received, wrote int64) {
	t := c.r.tallies[0]
	t.Lock()
	t.traffic(&ticket{counts: c.r.now() >= c.r.plan.Warmup}, received, wrote)
	t.Unlock()
}

// A roundTripper sends one request after another.
type roundTripper struct {
	r         *run
	t         *tally
	transport *http.Transport
	buf       []byte
}

// A progress says how far a request has come. The transport tells it from several goroutines.
type progress struct {
	phase     atomic.Int32
	connected atomic.Int64
	first     atomic.Int64
}

func (r *run) trace(p *progress) *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		TLSHandshakeStart: func() { p.phase.CompareAndSwap(int32(connecting), int32(securing)) },
		GotConn: func(httptrace.GotConnInfo) {
			p.connected.Store(int64(r.now()))
			p.phase.Store(int32(waiting))
		},
		GotFirstResponseByte: func() {
			p.first.Store(int64(r.now()))
			p.phase.Store(int32(reading))
		},
	}
}

// do sends a request and counts what comes of it. It reports whether there was a connection.
func (w *roundTripper) do(ctx context.Context, k *ticket) bool {
	r := w.r
	o := Outcome{Due: k.due, Began: r.now()}
	var far progress
	ctx, cancel := context.WithTimeout(ctx, r.plan.Timeout)
	defer cancel()
	ctx = httptrace.WithClientTrace(ctx, r.trace(&far))
	// The transport says nothing before there is an answer or none: whether it was sent is known then.
	w.t.Lock()
	w.t.busy++
	w.t.Unlock()
	res, differs, err := w.exchange(ctx, k, &o)
	o.End = r.now()
	at := phase(far.phase.Load())
	o.Connected, o.First = max(time.Duration(far.connected.Load()), o.Began), time.Duration(far.first.Load())
	w.t.Lock()
	defer w.t.Unlock()
	w.t.busy--
	if at >= waiting {
		w.t.sending(k, o.Connected)
	}
	switch {
	case err == nil:
		o.Status = res.StatusCode
		if res.TLS != nil {
			r.where.secured(res.Proto + ", " + tls.VersionName(res.TLS.Version) + ", " + tls.CipherSuiteName(res.TLS.CipherSuite))
		}
		w.t.answered(k, &o, differs)
	case r.cutting.Load() && at < waiting:
	case r.cutting.Load():
		w.t.unfinished(k, o.End)
	default:
		w.t.failed(k, &o, causeOfTransport(err, at), at >= waiting)
		return at >= waiting
	}
	return true
}

// exchange sends a request and reads the whole answer.
func (w *roundTripper) exchange(ctx context.Context, k *ticket, o *Outcome) (*http.Response, bool, error) {
	req := k.req.httpRequest(&w.r.plan).WithContext(ctx)
	res, err := w.transport.RoundTrip(req)
	if err != nil {
		return nil, false, err
	}
	defer res.Body.Close()
	body := answer{maxBody: w.r.plan.MaxBody, expect: w.r.plan.Expect.Body, head: k.req.head}
	for {
		n, err := res.Body.Read(w.buf)
		if bad := body.body(w.buf[:n]); bad != nil {
			return nil, false, bad
		}
		switch {
		case err == io.EOF:
			body.finish()
			o.Body = body.Body
			return res, body.Differs, nil
		case err != nil:
			return nil, false, err
		}
	}
}

// httpRequest returns a request for the transport.
func (q *request) httpRequest(p *Plan) *http.Request {
	t := q.target
	out := &http.Request{Method: t.method(), URL: t.URL, Header: make(http.Header), Host: t.URL.Host}
	for _, f := range t.Header {
		if is([]byte(f.Name), "host") {
			out.Host = f.Value
		} else {
			out.Header.Add(f.Name, f.Value)
		}
	}
	if !t.has("User-Agent") {
		out.Header.Set("User-Agent", p.Agent)
	}
	if !t.has("Accept") {
		out.Header.Set("Accept", "*/*")
	}
	if u := t.URL.User; u != nil && !t.has("Authorization") {
		password, _ := u.Password()
		out.Header.Set("Authorization", BasicAuth(u.Username(), password))
		plain := *t.URL
		plain.User = nil
		out.URL = &plain
	}
	switch {
	case len(t.Body) > 0:
		// Without GetBody, it is not sent a second time when the connection breaks: every failure is to be counted.
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(t.Body)), int64(len(t.Body))
	case !p.HTTP2 && (out.Method == "GET" || out.Method == "HEAD" || out.Method == "OPTIONS" || out.Method == "TRACE"):
		out.Body = io.NopCloser(bytes.NewReader(nil)) // of which the same holds; it looks and sends none
	default:
		out.Body = http.NoBody
	}
	return out
}

// causeOfTransport says why the transport failed. Much of what it says has no type.
func causeOfTransport(err error, at phase) cause {
	var wrong *url.Error
	if errors.As(err, &wrong) {
		err = wrong.Err
	}
	text := err.Error()
	for _, known := range []struct {
		text string
		why  cause
	}{
		{"malformed HTTP", causeMalformed},
		{"malformed MIME", causeMalformed},
		{"malformed chunked", causeMalformed},
		{"invalid byte in chunk", causeMalformed},
		{"invalid Read on closed Body", causeOther},
		{"bad Content-Length", causeMalformed},
		{"Content-Length", causeMalformed},
		{"transfer encoding", causeMalformed},
		{"too many 1xx", causeMalformed},
		{"http: server response headers exceeded", causeTooLarge},
		{"server closed idle connection", causeClosedBefore},
		{"malformed", causeMalformed},
	} {
		if bytes.Contains([]byte(text), []byte(known.text)) {
			return known.why
		}
	}
	return causeOf(err, at)
}
