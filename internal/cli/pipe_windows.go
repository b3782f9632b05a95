package cli

import (
	"errors"
	"syscall"
)

// isBrokenPipe reports whether the reader of a pipe has gone away.
func isBrokenPipe(err error) bool {
	const errNoData = syscall.Errno(232)
	return errors.Is(err, syscall.ERROR_BROKEN_PIPE) || errors.Is(err, errNoData)
}
