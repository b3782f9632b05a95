package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/capture"
	"github.com/hone-perf/hone/internal/latency"
)

// ErrTaken is that something listens already where a server is to be started.
var ErrTaken = errors.New("another program already listens there, and would get the requests")

// A NotReadyError reports that a server which hone started did not answer.
type NotReadyError struct {
	Target string
	Ended  bool // since it ended
	Last   string
}

func (e *NotReadyError) Error() string {
	text := "the server did not answer at " + e.Target
	if e.Ended {
		text = "the server ended before it answered at " + e.Target
	}
	if e.Last != "" {
		text += " (" + e.Last + ")"
	}
	return text
}

// startTime is how long a server that was started has until it answers.
const startTime = time.Minute

// Record runs a server, waits until it answers, carries out a plan, and asks it to end. All that is recorded.
func Record(ctx context.Context, opt capture.Options, p Plan) (*capture.Recorded, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if p.listens(ctx) {
		return nil, fmt.Errorf("starting a server at %s: %w", p.Targets[0].URL.Host, ErrTaken)
	}
	opt.Every = p.every()
	opt.While = func(alive context.Context) (*latency.Log, error) {
		if err := p.await(alive); err != nil {
			return nil, err
		}
		return p.under(ctx, alive)
	}
	return capture.Record(ctx, opt)
}

// Attach carries out a plan while a server is asked for its profiles.
func Attach(ctx context.Context, opt capture.Options, from capture.Server, p Plan) (*capture.Recorded, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	opt.Every = p.every()
	opt.While = func(alive context.Context) (*latency.Log, error) { return p.under(ctx, alive) }
	return capture.Fetch(ctx, opt, from)
}

// under carries out a plan while a server lives.
func (p Plan) under(ctx, alive context.Context) (*latency.Log, error) {
	p.Marks = true
	l, err := Run(alive, p)
	if err == nil && alive.Err() != nil && ctx.Err() == nil {
		l.Stopped = ServerEnded
	}
	return l, err
}

// ServerEnded is why a run ended when its server did.
const ServerEnded = "the server ended"

// every is how often profiles are taken that count from the start: what a request costs is told by the first and the last
// of them that lie in the time that counts.
func (p Plan) every() time.Duration {
	length := p.Duration
	for _, s := range p.Stages {
		length += s.For
	}
	return min(max((length/20).Truncate(time.Second), time.Second), 5*time.Second)
}

// first returns a plan to send one request.
func (p Plan) first() Plan {
	p.Targets = p.Targets[:1]
	p.Rate, p.Stages, p.Conns, p.Number, p.Duration, p.Warmup, p.Grace = 0, nil, 1, 1, 0, 0, 0
	p.Each, p.Row, p.First, p.StopAt = nil, nil, nil, nil
	p.Timeout = 10 * time.Second
	return p
}

// listens reports whether something accepts connections where a plan sends.
func (p Plan) listens(ctx context.Context) bool {
	d := net.Dialer{Timeout: time.Second}
	c, err := d.DialContext(ctx, "tcp", host(p.Targets[0].URL))
	if err == nil {
		c.Close()
	}
	return err == nil
}

// await waits until a server answers.
func (p Plan) await(ctx context.Context) error {
	target := p.Targets[0].URL.Redacted()
	limit, stop := context.WithTimeout(ctx, startTime)
	defer stop()
	last := ""
	for {
		l, err := Run(limit, p.first())
		if err != nil {
			return err
		}
		if l.Answered > 0 {
			return nil
		}
		for cause := range l.Errors {
			last = string(cause)
		}
		select {
		case <-limit.Done():
			return &NotReadyError{target, ctx.Err() != nil, last}
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// portMark stands for a free port, in a URL and in the arguments of a server.
const portMark = "{port}"

// WithPort puts one free port of this machine where words have the mark.
func WithPort(words []string) ([]string, error) {
	port := ""
	out := make([]string, len(words))
	for i, w := range words {
		if out[i] = w; !strings.Contains(w, portMark) {
			continue
		}
		if port == "" {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return nil, fmt.Errorf("looking for a free port: %w", err)
			}
			port = strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
			l.Close()
		}
		out[i] = strings.ReplaceAll(w, portMark, port)
	}
	return out, nil
}
