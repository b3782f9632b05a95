//go:build unix

package capture

import (
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// gather is for how long what comes is let come. The runtime writes a line about a garbage collection in some sixty
// pieces. If we were waiting for the next one each time, to wake us would cost the program more than to write it.
const gather = 3 * time.Millisecond

// enough is what need not grow: a line about a garbage collection has 200 bytes, and a program that writes all its output here would have to wait
// for room.
const enough = 4096

// A pipe is what a program writes its standard error to. It is none of os.Pipe, whose reader is always waiting: the
// poller of our own runtime is.
type pipe struct {
	fd       int
	in       *os.File
	screen   *os.File // the terminal that it stands for; nil for a pipe
	deadline atomic.Pointer[time.Time]
	unread   atomic.Bool // nobody wants what comes
	closed   atomic.Bool
}

func newPipe() (*pipe, error) {
	var fds [2]int
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := syscall.Pipe(fds[:]); err != nil {
		return nil, os.NewSyscallError("pipe", err)
	}
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	return &pipe{fd: fds[0], in: os.NewFile(uintptr(fds[1]), "stderr")}, nil
}

func (p *pipe) Read(b []byte) (int, error) {
	const look = 50 * time.Millisecond // for the deadline
	for {
		if p.unread.Load() {
			return 0, unix.EPIPE
		}
		ready := []unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, int(look.Milliseconds()))
		switch end := p.deadline.Load(); {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, os.NewSyscallError("poll", err)
		case n > 0:
		case end != nil && time.Now().After(*end):
			return 0, os.ErrDeadlineExceeded
		default:
			continue
		}
		if ready[0].Revents&unix.POLLHUP == 0 && p.waiting() < enough {
			time.Sleep(gather)
		}
		n, err = unix.Read(p.fd, b)
		switch {
		case err == unix.EINTR, err == unix.EAGAIN:
			continue
		case err == unix.EIO && p.screen != nil: // nobody has the terminal any more
			return 0, io.EOF
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// endAt makes reading end then, whoever may still have the other end.
func (p *pipe) endAt(t time.Time) { p.deadline.Store(&t) }

// hangUp makes reading end.
func (p *pipe) hangUp() { p.unread.Store(true) }

func (p *pipe) Close() error {
	if p.closed.Swap(true) {
		return nil
	}
	return unix.Close(p.fd)
}
