//go:build unix

package safefile

import (
	"errors"
	"os"
	"syscall"
)

// IsFull reports whether an error says that there is no room left for a file.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// SyncDir makes the names of files in a folder stay.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
