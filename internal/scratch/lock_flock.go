//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package scratch

import (
	"os"
	"syscall"
)

// hold makes a lock that is held until the file is closed, or the process ends.
func hold(name string) (*os.File, error) {
	f, err := os.OpenFile(name+"-new", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	// Where files cannot be locked, nothing is swept: abandoned says no as well.
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		err = os.Rename(name+"-new", name)
		if err != nil {
			f.Close()
			return nil, err
		}
	}
	return f, nil
}

// abandoned reports whether there is a lock that nobody holds.
func abandoned(name string) bool {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
