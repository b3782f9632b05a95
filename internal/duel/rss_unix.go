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
	return peakBytes(u)
}

func peakBytes(u *syscall.Rusage) int64 {
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) << 10
}

// ownPeak returns the most memory that this process had.
func ownPeak() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return peakBytes(&u)
}
