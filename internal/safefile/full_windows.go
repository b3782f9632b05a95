package safefile

import (
	"errors"
	"syscall"
)

const (
	errorHandleDiskFull = syscall.Errno(39)
	errorDiskFull       = syscall.Errno(112)
)

// IsFull reports whether an error says that there is no room left for a file.
func IsFull(err error) bool {
	return errors.Is(err, errorDiskFull) || errors.Is(err, errorHandleDiskFull)
}

// SyncDir does nothing: folders can't be synced here.
func SyncDir(string) error { return nil }
