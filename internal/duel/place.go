package duel

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// place copies a program, so that it lies elsewhere in memory: all runs of a file share the pages that hold its code, and
// where those happen to lie makes programs that are the same differ by up to a percent, each time in the same direction.
func (d *duel) place(p *program) (*program, func(), error) {
	from, err := os.Open(p.file)
	if err != nil {
		return nil, nil, err
	}
	defer from.Close()
	// A program that is open for writing does not start, and a process that is being started has all that is open.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	to, err := os.CreateTemp(d.dir, "*"+filepath.Ext(p.file))
	if err != nil {
		return nil, nil, err
	}
	remove := func() { os.Remove(to.Name()) }
	// It is written rather than cloned, or the pages would be the same.
	_, err = io.Copy(struct{ io.Writer }{to}, struct{ io.Reader }{from})
	if err := errors.Join(err, to.Chmod(0o700), to.Close()); err != nil {
		remove()
		return nil, nil, fmt.Errorf("copying a program: %w", err)
	}
	copied := *p
	copied.file = to.Name()
	return &copied, remove, nil
}
