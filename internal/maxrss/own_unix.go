//go:build unix && !linux

package maxrss

import "syscall"

func own() int64 { return usage(syscall.RUSAGE_SELF) }
