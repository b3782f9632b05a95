package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"time"
)

// A RemoteError says that other machines could reach an address.
type RemoteError struct{ Addr string }

func (e *RemoteError) Error() string {
	return "listening at " + e.Addr + ": other machines could reach that"
}

// A NamelessError says that a server at an address would not know its own name. All addresses of this machine are no name.
type NamelessError struct{ Addr string }

func (e *NamelessError) Error() string {
	return "listening at " + cmp.Or(e.Addr, "all addresses") + ": by which name do browsers reach that?"
}

// Listen opens a socket at an address, on a free port if addr is "". Other machines can reach it only if remote is true: without it, the error
// for their addresses is a *RemoteError. Without a host, addr is about this machine alone; if remote is true, about all of its addresses.
//
// names are the names of the server, see HostsOf. A server at all addresses needs one: without it, the error is a *NamelessError.
func Listen(addr string, remote bool, names ...string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if addr == "" {
		host, port, err = "", "0", nil
	}
	if err != nil {
		return nil, fmt.Errorf("listening at %s: %w", addr, err)
	}
	if host == "" && !remote || host == "localhost" {
		host = "127.0.0.1"
	}
	ip := net.ParseIP(host)
	switch {
	case ip != nil && ip.IsLoopback():
	case !remote:
		return nil, &RemoteError{addr}
	case len(names) == 0 && (host == "" || ip != nil && ip.IsUnspecified()):
		return nil, &NamelessError{addr}
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("listening at %s: %w", addr, errors.Unwrap(err))
	}
	return l, nil
}

// HostsOf returns the names of a server at l, without ports: those that the user gave, or its address. Every server also has the names of
// this machine, such as localhost, which only this machine can mean.
func HostsOf(l net.Listener, names ...string) []string {
	if len(names) > 0 {
		return names
	}
	host, _, _ := net.SplitHostPort(l.Addr().String())
	return []string{host}
}

// Serve answers requests at l until ctx ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if s.adviser != nil {
		// Close the adviser first: some of the last requests may be waiting for findings.
		defer context.AfterFunc(ctx, s.adviser.stop)()
		defer s.adviser.close()
	}
	srv := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      5 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	go func() { // not waited for, like computations of requests when the server ends
		select {
		case <-s.opened:
			s.mu.RLock()
			page := s.first
			s.mu.RUnlock()
			s.prepare(ctx, page)
		case <-ctx.Done():
		}
	}()
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if srv.Shutdown(last) != nil {
			srv.Close()
		}
	})
	err := srv.Serve(l)
	if !stop() {
		<-ended
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// OpenBrowser shows a URL to the user.
func OpenBrowser(ctx context.Context, url string) error {
	var cmd *exec.Cmd
	switch runtime.GOOS {
	case "darwin":
		cmd = exec.CommandContext(ctx, "open", url)
	case "windows":
		cmd = exec.CommandContext(ctx, "rundll32", "url.dll,FileProtocolHandler", url)
	default:
		cmd = exec.CommandContext(ctx, "xdg-open", url)
	}
	return cmd.Run()
}
