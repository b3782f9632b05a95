//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package safefile

import (
	"os"
	"syscall"
)

// Lock makes a file one that is not Abandoned until it is closed, or the process ends. Where files cannot be locked, none is ever abandoned.
func Lock(f *os.File) {
	syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// Abandoned reports whether there is a file that no process holds.
func Abandoned(name string) bool {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
