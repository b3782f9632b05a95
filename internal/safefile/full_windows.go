package disk

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/hone-perf/hone/internal/store"
)

const (
	errorHandleDiskFull = syscall.Errno(39)
	errorDiskFull       = syscall.Errno(112)
)

// full says that the store is full where that is what an error means.
func full(err error) error {
	if errors.Is(err, errorDiskFull) || errors.Is(err, errorHandleDiskFull) {
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	}
	return err
}

// syncDir does nothing: folders can't be synced here.
func syncDir(string) error { return nil }
