package capture

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// knowsHandlers tells that the system says which signals a process has handlers for.
const knowsHandlers = true

// handles reports whether a process has a handler for a signal.
func handles(pid int, s os.Signal) bool {
	n, ok := s.(syscall.Signal)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if !ok || err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(text), "\nSigCgt:")
	line, _, _ := strings.Cut(after, "\n")
	mask, err := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
	return err == nil && mask>>(n-1)&1 == 1
}
