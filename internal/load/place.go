package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A place is where requests go.
type place struct {
	name string         // of the host
	addr netip.AddrPort // one of its addresses; not for the net/http engine, which looks itself

	local netip.Addr // to connect from; the zero Addr is any

	mu    sync.Mutex
	tls   string // version and cipher, once known
	notes []string
}

// A PublicError says that a host is outside this machine and private networks, so that somebody else may be
// answerable for it.
type PublicError struct {
	Host string
	Addr netip.Addr
}

func (e *PublicError) Error() string {
	if e.Addr.IsValid() && e.Addr.String() != e.Host {
		return fmt.Sprintf("%s is %s, which is outside this machine and private networks", e.Host, e.Addr)
	}
	return e.Host + " is outside this machine and private networks"
}

// findPlace finds the addresses of all targets, and makes sure that they may be loaded.
func findPlace(ctx context.Context, p *Plan) (*place, error) {
	ctx, cancel := context.WithTimeout(ctx, p.ConnectTimeout)
	defer cancel()
	first := p.Targets[0].URL
	out := &place{name: first.Hostname()}
	if p.From != "" {
		if err := out.from(ctx, p.From); err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	for i := range p.Targets {
		u := p.Targets[i].URL
		if seen[host(u)] {
			continue
		}
		seen[host(u)] = true
		addrs, err := lookUp(ctx, u)
		if err != nil {
			if p.Proxy != nil && p.AnyHost || p.Via != "" {
				continue // who is there may know
			}
			return nil, err
		}
		for _, a := range addrs {
			if !p.AnyHost && !ours(a.Addr()) {
				return nil, &PublicError{u.Hostname(), a.Addr()}
			}
		}
		if i == 0 && p.Via == "" {
			out.take(ctx, addrs, p.Engine)
		}
	}
	if p.Via != "" {
		via := &url.URL{Scheme: "http", Host: p.Via}
		out.name = via.Hostname()
		addrs, err := lookUp(ctx, via)
		if err != nil {
			return nil, err
		}
		for _, a := range addrs {
			if !p.AnyHost && !ours(a.Addr()) {
				return nil, &PublicError{via.Hostname(), a.Addr()}
			}
		}
		out.take(ctx, addrs, p.Engine)
	}
	return out, nil
}

// take takes the first of several addresses, or one that can be connected to.
func (w *place) take(ctx context.Context, addrs []netip.AddrPort, engine string) {
	w.addr = addrs[0]
	if len(addrs) > 1 && engine != NetHTTP {
		w.choose(ctx, addrs)
	}
}

// A FromError says that nothing can be connected from an address.
type FromError struct {
	From string
	Err  error
}

func (e *FromError) Error() string { return "connecting from " + e.From + ": " + e.Err.Error() }

func (e *FromError) Unwrap() error { return e.Err }

// from finds the address to connect from, and makes sure that this machine has it.
func (w *place) from(ctx context.Context, name string) error {
	addrs, err := lookUp(ctx, &url.URL{Scheme: "http", Host: net.JoinHostPort(strings.Trim(name, "[]"), "1")})
	if err != nil {
		return err
	}
	w.local = addrs[0].Addr()
	l, err := net.Listen("tcp", netip.AddrPortFrom(w.local, 0).String())
	if err != nil {
		return &FromError{name, err}
	}
	return l.Close()
}

// A NoHostError says that nobody knows a name.
type NoHostError struct{ Name string }

func (e *NoHostError) Error() string { return e.Name + ": no such host" }

// dialer returns what opens connections.
func (w *place) dialer() *net.Dialer {
	d := &net.Dialer{}
	if w.local.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(w.local, 0))
	}
	return d
}

// tune sets what a plan says about a connection.
func (p *Plan) tune(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok && p.Window > 0 {
		t.SetReadBuffer(p.Window)
		t.SetWriteBuffer(p.Window)
	}
}

// lookUp returns the addresses of the host of a URL.
func lookUp(ctx context.Context, u *url.URL) ([]netip.AddrPort, error) {
	name, portName, err := net.SplitHostPort(host(u))
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portName, 10, 16)
	if err != nil {
		return nil, err
	}
	list, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		var dns *net.DNSError
		if errors.As(err, &dns) && dns.IsNotFound {
			return nil, &NoHostError{name}
		}
		return nil, fmt.Errorf("looking up %s: %w", name, err)
	}
	var out []netip.AddrPort
	for _, a := range list {
		out = append(out, netip.AddrPortFrom(a.Unmap(), uint16(port)))
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no address", name)
	}
	return out, nil
}

// ours reports whether an address is of this machine or of a private network.
func ours(a netip.Addr) bool {
	return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsUnspecified()
}

// choose takes the first of several addresses that can be connected to: localhost is often two, and a server listens on
// one of them.
func (w *place) choose(ctx context.Context, addrs []netip.AddrPort) {
	for _, a := range addrs {
		d := net.Dialer{Timeout: time.Second}
		c, err := d.DialContext(ctx, "tcp", a.String())
		if err != nil {
			continue
		}
		c.Close()
		w.addr = a
		w.notes = append(w.notes, fmt.Sprintf("%s has %d addresses; hone opened a connection without a request to choose %s", w.name, len(addrs), a.Addr()))
		return
	}
}

// secured is told how a connection is secured.
func (w *place) secured(how string) {
	w.mu.Lock()
	w.tls = how
	w.mu.Unlock()
}
