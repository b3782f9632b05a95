package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A server is a program that serves a page.
type server struct {
	cmd     *exec.Cmd
	url     string
	started time.Time
	read    chan struct{} // closed when all that it prints was read
}

var address = regexp.MustCompile(`http://\S+`)

// startServer starts a program and waits until it prints its address.
func startServer(ctx context.Context, program string, args ...string) (*server, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = w, w
	s := &server{cmd: cmd, started: time.Now(), read: make(chan struct{})}
	err = cmd.Start()
	w.Close()
	if err != nil {
		r.Close()
		return nil, err
	}
	found := make(chan string, 1)
	var said strings.Builder
	go func() {
		defer close(s.read)
		defer r.Close()
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			if url := address.FindString(lines.Text()); url != "" {
				found <- url
				break
			}
			fmt.Fprintln(&said, lines.Text())
		}
		io.Copy(io.Discard, r) // so that it can go on printing
	}()
	select {
	case s.url = <-found:
		if err := s.reachable(ctx); err != nil {
			s.stop()
			return nil, err
		}
		return s, nil
	case <-s.read:
		return nil, fmt.Errorf("%s: %w: %s", program, errors.Join(ctx.Err(), cmd.Wait()), strings.TrimSpace(said.String()))
	}
}

// reachable waits until somebody listens: pprof prints its address before it does.
func (s *server) reachable(ctx context.Context) error {
	u, err := url.Parse(s.url)
	if err != nil {
		return err
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", u.Host)
		if err == nil {
			return c.Close()
		}
		if ctx.Err() != nil || time.Now().After(end) {
			return err
		}
	}
}

// stop ends the program.
func (s *server) stop() {
	s.cmd.Process.Kill()
	<-s.read
	s.cmd.Wait() // which says only that it was killed
}

// A usage is what a process has taken so far.
type usage struct {
	cpu       time.Duration
	rss, peak int64 // bytes
}

func (s *server) usage() (usage, error) {
	dir := "/proc/" + strconv.Itoa(s.cmd.Process.Pid)
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return usage{}, fmt.Errorf("what a server takes is known on Linux only: %w", err)
	}
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		return usage{}, err
	}
	return parseUsage(stat, status)
}

// parseUsage reads /proc/PID/stat and /proc/PID/status.
func parseUsage(stat, status []byte) (usage, error) {
	const tick = 10 * time.Millisecond // USER_HZ, which is 100 wherever Go runs
	var u usage
	// The name of the program, which may hold anything, ends with the last parenthesis.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return u, fmt.Errorf("stat has %d fields behind the name", len(fields))
	}
	for _, f := range fields[11:13] { // utime and stime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return u, fmt.Errorf("stat: %w", err)
		}
		u.cpu += time.Duration(n) * tick
	}
	for line := range strings.SplitSeq(string(status), "\n") {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		var to *int64
		switch f[0] {
		case "VmRSS:":
			to = &u.rss
		case "VmHWM:":
			to = &u.peak
		default:
			continue
		}
		n, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			return u, fmt.Errorf("status: %w", err)
		}
		*to = n << 10
	}
	if u.rss == 0 || u.peak == 0 {
		return u, errors.New("status does not say how much memory there is")
	}
	return u, nil
}
