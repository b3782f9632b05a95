//go:build unix

package race

import (
	"os"
	"syscall"
)

// askToEnd asks a program to end. The race detector writes its reports as they come, so nothing is lost when it does not.
func askToEnd(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
