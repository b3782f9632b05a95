package scrape

import (
	"context"
	"net"
	"net/netip"
	"sync"
)

// fakeNames is a name server.
type fakeNames struct {
	mu        sync.Mutex
	addresses []string
}

func (f *fakeNames) set(addresses ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.addresses = addresses
}

func (f *fakeNames) state() ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case len(f.addresses) == 0:
		return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
	case f.addresses[0] == "fail":
		return nil, &net.DNSError{Err: "server misbehaving", IsTemporary: true}
	}
	return f.addresses, nil
}

func (f *fakeNames) LookupSRV(context.Context, string, string, string) (string, []*net.SRV, error) {
	if _, err := f.state(); err != nil {
		return "", nil, err
	}
	return "", []*net.SRV{{Target: "p1.example.", Port: 8080}}, nil
}

func (f *fakeNames) LookupNetIP(context.Context, string, string) (out []netip.Addr, err error) {
	list, err := f.state()
	for _, a := range list {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, err
}
