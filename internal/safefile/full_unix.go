//go:build unix

package disk

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/hone-perf/hone/internal/store"
)

// full says that the store is full where that is what an error means.
func full(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	}
	return err
}

// syncDir makes names in a folder stay.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
