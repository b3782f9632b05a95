package source

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hone-perf/hone/internal/hint"
)

// usualStall is how long the body of an answer may stand still, beyond the time that the server was asked to record for.
const usualStall = 30 * time.Second

// A StalledError says that a server began to answer and then sent nothing more.
type StalledError struct {
	Host string
	For  time.Duration // without a byte
	Sent int64         // bytes before
}

func (e *StalledError) Error() string {
	return fmt.Sprintf("%s sent %d bytes of its answer and then nothing for %v", e.Host, e.Sent, e.For)
}

// Hint returns the next step.
func (e *StalledError) Hint() hint.Text {
	return hint.Text{"try again with a shorter time, or save the profile on the server's machine with curl -o FILE and open the file"}
}

// asked returns how long the server was asked to record.
func asked(u *url.URL) time.Duration {
	s, err := strconv.ParseInt(u.Query().Get("seconds"), 10, 32)
	if err != nil || s < 0 {
		return 0
	}
	return time.Duration(s) * time.Second
}

// A moving body is one that ends when it stands still for too long.
type moving struct {
	io.ReadCloser
	stop    context.CancelFunc // of the request
	timer   *time.Timer
	stalled atomic.Bool
	err     StalledError
}

func keepMoving(body io.ReadCloser, stop context.CancelFunc, u *url.URL, limit time.Duration) *moving {
	m := &moving{ReadCloser: body, stop: stop, err: StalledError{Host: u.Host, For: limit}}
	m.timer = time.AfterFunc(limit, func() {
		m.stalled.Store(true)
		stop()
	})
	return m
}

func (m *moving) Read(b []byte) (int, error) {
	n, err := m.ReadCloser.Read(b)
	m.err.Sent += int64(n)
	if n > 0 && !m.stalled.Load() {
		m.timer.Reset(m.err.For)
	}
	if err != nil && err != io.EOF && m.stalled.Load() {
		return n, &m.err
	}
	return n, err
}

func (m *moving) Close() error {
	m.timer.Stop()
	m.stop()
	return m.ReadCloser.Close()
}
