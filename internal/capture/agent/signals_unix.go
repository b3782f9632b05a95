//go:build unix

package agent

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// ending are the signals that end a program which does not want them.
var ending = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// watchSignals writes the rest before a signal ends the program. When the program wants the signal itself, that is its
// business, and it ends by itself in the end.
func (r *recorder) watchSignals() {
	c := make(chan os.Signal, len(ending))
	for _, s := range ending {
		if !signal.Ignored(s) { // asking for one that is ignored would bring it back
			signal.Notify(c, s)
		}
	}
	r.hide(func() {
		for s := range c {
			if r.handlers != nil && r.handlers(s) > 1 {
				continue
			}
			r.end()
			signal.Reset(s)
			n := s.(syscall.Signal)
			syscall.Kill(syscall.Getpid(), n)
			time.Sleep(time.Second)
			os.Exit(128 + int(n)) // it is blocked
		}
	})
}

// wanted is how many of the signals we asked for ourselves.
func (r *recorder) wanted() int {
	n := 0
	for _, s := range ending {
		if !signal.Ignored(s) {
			n++
		}
	}
	return n
}
