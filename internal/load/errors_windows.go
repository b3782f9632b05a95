package load

import (
	"errors"

	"golang.org/x/sys/windows"
)

// Windows has numbers of its own for what happens to connections.

func isRefused(err error) bool { return errors.Is(err, windows.WSAECONNREFUSED) }

func isReset(err error) bool {
	return errors.Is(err, windows.WSAECONNRESET) || errors.Is(err, windows.WSAECONNABORTED)
}

func isNoPorts(err error) bool {
	return errors.Is(err, windows.WSAEADDRINUSE) || errors.Is(err, windows.WSAENOBUFS)
}
