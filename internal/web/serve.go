package web

import (
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

// Listen opens a socket at an address, on a free port of this machine if addr is "". Other machines can reach it only
// if remote is true: without it, the error for their addresses is a *RemoteError.
func Listen(addr string, remote bool) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if addr == "" {
		host, port, err = "", "0", nil
	}
	if err != nil {
		return nil, fmt.Errorf("listening at %s: %w", addr, err)
	}
	if host == "" || host == "localhost" {
		host = "127.0.0.1"
	}
	ip := net.ParseIP(host)
	switch {
	case ip != nil && ip.IsLoopback():
	case !remote:
		return nil, &RemoteError{addr}
	case ip != nil && ip.IsUnspecified():
		return nil, fmt.Errorf("listening at %s: give the address at which other machines reach this one", addr)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("listening at %s: %w", addr, errors.Unwrap(err))
	}
	return l, nil
}

// HostsOf returns the host names of a server at l.
func HostsOf(l net.Listener) []string {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	hosts := []string{l.Addr().String()}
	if a, ok := l.Addr().(*net.TCPAddr); ok && a.IP.IsLoopback() {
		for _, name := range []string{"127.0.0.1", "localhost", "::1"} {
			hosts = append(hosts, net.JoinHostPort(name, port))
		}
	}
	return hosts
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
