package load

import (
	"time"

	"golang.org/x/sys/unix"
)

// coarse is how late a timer of Go may be: it waits in epoll, which counts milliseconds.
const coarse = 2 * time.Millisecond

// fineSleep sleeps as precisely as the system can.
func fineSleep(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	for unix.Nanosleep(&t, &t) == unix.EINTR {
	}
}
