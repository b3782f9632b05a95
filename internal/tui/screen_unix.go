//go:build unix

package tui

import (
	"os"
	"os/signal"
	"syscall"
)

// keyboard is where keys are read from when standard input is something else.
const keyboard = "/dev/tty"

// endSignals are those that end a program.
var endSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// showSequences makes a terminal do what escape sequences say. It returns what undoes that.
func showSequences(*os.File) (undo func(), err error) { return func() {}, nil }

// watchSize tells when the size of the terminal may have changed, until the function it returns is called.
func watchSize(changed chan<- os.Signal) (stop func()) {
	signal.Notify(changed, syscall.SIGWINCH)
	return func() { signal.Stop(changed) }
}
