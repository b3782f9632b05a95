package capture

import (
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// newTerminal returns a terminal of our own for a program whose standard error is a terminal, so that it writes colors and progress bars as it does
// without hone. It controls no process: keys, and signals from them, stay with the one that the user has. nil says that screen is no
// terminal, or that there can be no other one.
func newTerminal(screen *os.File) *pipe {
	mode, err := unix.IoctlGetTermios(int(screen.Fd()), unix.TCGETS)
	if err != nil {
		return nil
	}
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	in := programEnd(fd, mode)
	if in == nil {
		unix.Close(fd)
		return nil
	}
	p := &pipe{fd: fd, in: in, screen: screen}
	p.resize()
	return p
}

// programEnd returns the end of a terminal that a program writes to.
func programEnd(fd int, mode *unix.Termios) *os.File {
	n, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	if err != nil || unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0) != nil {
		return nil
	}
	in, err := os.OpenFile("/dev/pts/"+strconv.FormatUint(uint64(n), 10), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil
	}
	own := *mode
	own.Oflag &^= unix.OPOST // the terminal of the user does that
	own.Lflag &^= unix.ECHO
	if unix.IoctlSetTermios(int(in.Fd()), unix.TCSETS, &own) != nil {
		in.Close()
		return nil
	}
	return in
}

// resize gives the terminal of the program the size of the user's, and reports whether it had another.
func (p *pipe) resize() bool {
	size, err := unix.IoctlGetWinsize(int(p.screen.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return false
	}
	was, err := unix.IoctlGetWinsize(p.fd, unix.TIOCGWINSZ)
	return err == nil && *was != *size && unix.IoctlSetWinsize(p.fd, unix.TIOCSWINSZ, size) == nil
}

// follow changes the size of the program's terminal with that of the user's, until it is stopped.
func (p *pipe) follow(proc *os.Process) (stop func()) {
	if p.screen == nil {
		return func() {}
	}
	changes, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(changes, syscall.SIGWINCH)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-changes:
				if p.resize() {
					proc.Signal(syscall.SIGWINCH) // it may have asked for the size before
				}
			case <-done:
				return
			}
		}
	})
	return func() {
		signal.Stop(changes)
		close(done)
		running.Wait()
	}
}

// waiting returns how many bytes can be read at once, where that is known.
func (p *pipe) waiting() int {
	n, err := unix.IoctlGetInt(p.fd, unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return n
}
