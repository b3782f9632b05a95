//go:build unix

package maxrss

import (
	"os"
	"runtime"
	"syscall"
)

func ended(p *os.ProcessState) int64 {
	u, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return inBytes(u)
}

func usage(who int) int64 {
	var u syscall.Rusage
	if syscall.Getrusage(who, &u) != nil {
		return 0
	}
	return inBytes(&u)
}

func inBytes(u *syscall.Rusage) int64 {
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(u.Maxrss) // bytes here, kilobytes elsewhere
	}
	return int64(u.Maxrss) << 10
}
