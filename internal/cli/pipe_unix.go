//go:build !windows

package cli

import (
	"errors"
	"syscall"
)

// isBrokenPipe reports whether the reader of a pipe has gone away.
func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
