//go:build unix

package duel

import (
	"os"
	"runtime"
	"syscall"
)

// maxRSS returns the most memory that a process had, in bytes.
func maxRSS(p *os.ProcessState) int64 {
	u, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) << 10
}
