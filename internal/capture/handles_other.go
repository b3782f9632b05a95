//go:build unix && !linux

package capture

import "os"

// knowsHandlers tells that the system does not say which signals a process has handlers for.
const knowsHandlers = false

func handles(int, os.Signal) bool { return false }
