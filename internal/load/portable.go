package load

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// readBuffer is how much is read at once. Most answers fit.
const readBuffer = 16 << 10

// restAfter is how long nothing is tried after a connection could not be opened, in a closed loop.
const restAfter = 10 * time.Millisecond

// workers runs work once for each connection, with a tally that few share, and waits for all.
func (r *run) workers(work func(i int, t *tally)) {
	var all sync.WaitGroup
	for i := range r.plan.Conns {
		all.Go(func() { work(i, r.tallies[i%len(r.tallies)]) })
	}
	all.Wait()
}

// portable is the engine for every system: a goroutine for each connection.
func (r *run) portable(ctx context.Context) error {
	secure := r.secureConfig()
	r.workers(func(i int, t *tally) {
		c := &client{r: r, t: t, number: i, secure: secure, buf: make([]byte, readBuffer)}
		c.answer.maxBody, c.answer.old = r.plan.MaxBody, r.plan.HTTP10
		stop := context.AfterFunc(ctx, c.cut)
		defer stop()
		defer c.drop()
		for {
			k, ok := r.ticket(ctx)
			if !ok {
				return
			}
			if !c.do(ctx, &k) && r.schedule == nil && r.plan.StopAt == nil {
				sleepUntil(ctx, time.Now().Add(restAfter))
			}
		}
	})
	return nil
}

// secureConfig returns how connections are to be secured, nil when they are not.
func (r *run) secureConfig() *tls.Config {
	if r.plan.Targets[0].URL.Scheme != "https" {
		return nil
	}
	c := r.plan.TLS.Clone()
	if c.ServerName == "" {
		c.ServerName = r.where.name
	}
	c.NextProtos = []string{"http/1.1"}
	return c
}

// A client has one connection at a time, and sends one request after another.
type client struct {
	r      *run
	t      *tally
	number int
	secure *tls.Config

	mu   sync.Mutex // of conn, which is closed by others when the run is cut
	conn net.Conn

	answer   answer
	buf      []byte
	deadline time.Duration // of conn
	idle     time.Duration // since when nothing is under way
	server   string
	out      Outcome
}

// cut closes the connection, whatever is under way.
func (c *client) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		c.conn.Close()
	}
}

func (c *client) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// do sends a request and counts what comes of it. It reports whether there was a connection.
func (c *client) do(ctx context.Context, k *ticket) bool {
	const doubtful = 100 * time.Millisecond
	o := &c.out
	*o = Outcome{Due: k.due, Began: c.r.now()}
	if c.conn != nil && o.Began-c.idle > doubtful && !c.alive() {
		c.drop()
	}
	o.Connected = o.Began
	if c.conn == nil {
		if at, err := c.dial(ctx, k); err != nil {
			if c.r.cutting.Load() {
				return true // nobody waits for it
			}
			o.End = c.r.now()
			if at == securing {
				o.Reason = err.Error()
			}
			c.t.Lock()
			c.t.failed(k, o, causeOf(err, at), false)
			c.t.Unlock()
			return false
		}
	}
	c.t.Lock()
	c.t.sending(k, o.Connected)
	c.t.Unlock()
	wrote, received, at, err := c.exchange(k)
	o.End = c.r.now()
	if o.First == 0 {
		o.First = o.End
	}
	keep := err == nil && c.answer.reusable() && !c.r.plan.NoKeepAlive
	o.Status, o.Header, o.Body, o.KeptAlive = c.answer.Status, c.answer.Header, c.answer.Body, keep
	if err == nil && c.r.plan.First != nil {
		c.first()
	}
	c.t.Lock()
	c.t.traffic(k, received, wrote)
	switch {
	case err == nil:
		c.t.answered(k, o, c.answer.Differs)
	case c.r.cutting.Load():
		c.t.unfinished(k, o.End)
	default:
		c.t.failed(k, o, causeOf(err, at), true)
	}
	c.t.Unlock()
	if !keep {
		c.drop()
	}
	c.idle = o.End
	return true
}

func (c *client) alive() bool {
	if t, ok := c.conn.(*tls.Conn); ok {
		return alive(t.NetConn())
	}
	return alive(c.conn)
}

// first tells about the first answer.
func (c *client) first() {
	c.r.first.Do(func() {
		f := &First{Server: c.server, Body: c.answer.Body}
		if t, ok := c.conn.(*tls.Conn); ok {
			s := t.ConnectionState()
			f.TLS = &s
		}
		c.r.plan.First(f)
	})
	c.answer.server = nil
}

// dial opens a connection. When it cannot, it says in which phase.
func (c *client) dial(ctx context.Context, k *ticket) (phase, error) {
	p := &c.r.plan
	ctx, cancel := context.WithTimeout(ctx, min(p.ConnectTimeout, p.Timeout))
	defer cancel()
	conn, err := c.r.where.dialer().DialContext(ctx, "tcp", c.r.where.addr.String())
	if err != nil {
		return connecting, err
	}
	p.tune(conn)
	conn = quick(conn)
	if c.secure != nil {
		t := tls.Client(conn, c.secure)
		if err := t.HandshakeContext(ctx); err != nil {
			conn.Close()
			if ctx.Err() != nil {
				err = ctx.Err() // rather than that the connection was closed for it
			}
			return securing, err
		}
		s := t.ConnectionState()
		c.r.where.secured(tls.VersionName(s.Version) + ", " + tls.CipherSuiteName(s.CipherSuite))
		conn = t
	}
	c.mu.Lock()
	c.conn = conn
	c.mu.Unlock()
	if c.r.cutting.Load() {
		return connecting, context.Canceled // which may have come before there was anything to close
	}
	c.deadline = 0
	if p.First != nil {
		c.answer.server = func(v []byte) { c.server = string(v) }
	}
	c.out.Connected = c.r.now()
	c.t.Lock()
	c.t.opened(k, c.out.Connected-c.out.Began)
	c.t.Unlock()
	return waiting, nil
}

// exchange writes a request and reads the answer.
func (c *client) exchange(k *ticket) (wrote, received int64, at phase, err error) {
	c.answer.reset(k.req.head, c.r.plan.Expect.Body)
	last := c.r.expires(c.out.Began)
	// Setting a deadline costs as much as the rest, so that one serves for many requests. One that comes too early is
	// set again; but an encrypted connection cannot go on after it was met while writing.
	if c.deadline < last && (c.secure != nil || c.deadline < c.out.Began+c.r.plan.Timeout/2) {
		c.extend(last)
	}
	var writeErr error
	for wire := k.req.wire; len(wire) > 0; {
		n, err := c.conn.Write(wire)
		wrote, wire = wrote+int64(n), wire[n:]
		if err != nil && !c.early(err) {
			// The answer may be there all the same: some servers do not read all before they refuse.
			if writeErr = err; errors.Is(err, os.ErrDeadlineExceeded) {
				return wrote, received, waiting, err
			}
			break
		}
	}
	for {
		n, err := c.conn.Read(c.buf)
		if n > 0 {
			c.r.hear()
			if c.r.plan.Heard != nil {
				c.r.each.Lock()
				c.r.plan.Heard(c.number, received == 0, c.buf[:n])
				c.r.each.Unlock()
			}
			received += int64(n)
			complete, bad := c.answer.read(c.buf[:n])
			if complete || bad != nil {
				return wrote, received, reading, bad
			}
			if c.out.First == 0 {
				c.out.First = c.r.now()
			}
		}
		switch {
		case err == nil, c.early(err):
			continue
		case isEnd(err) && c.answer.ended():
			return wrote, received, reading, nil
		case writeErr != nil && !c.answer.started():
			err = writeErr
		}
		at = waiting
		if c.answer.started() {
			at = reading
		}
		return wrote, received, at, err
	}
}

func (c *client) extend(last time.Duration) {
	c.deadline = last
	c.conn.SetDeadline(c.r.start.Add(last))
}

// early reports whether err is a deadline that came before the time was over, and extends it.
func (c *client) early(err error) bool {
	last := c.r.expires(c.out.Began)
	if !errors.Is(err, os.ErrDeadlineExceeded) || c.r.now() >= last {
		return false
	}
	c.extend(last)
	return true
}
