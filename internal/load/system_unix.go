//go:build unix

package load

import (
	"fmt"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the CPU time that this process has used.
func cpuTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// checkFiles makes sure that this process may open so many connections. The Go runtime has raised the limit as far as it
// can be.
func checkFiles(conns int) error {
	const others = 32
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return nil // then we shall see
	}
	if uint64(conns)+others > uint64(limit.Cur) {
		return fmt.Errorf("%d connections: this process may open %d files (ulimit -n), which allows %d", conns, limit.Cur, max(int64(limit.Cur)-others, 0))
	}
	return nil
}

// alive reports whether the other side has not closed an idle connection.
func alive(c net.Conn) bool {
	s, ok := c.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	open := true
	err = raw.Read(func(fd uintptr) bool {
		var b [1]byte
		n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		open = n > 0 || err == unix.EAGAIN
		return true
	})
	return err == nil && open
}
