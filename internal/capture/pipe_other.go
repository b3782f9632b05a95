//go:build !unix

package capture

import (
	"os"
	"time"
)

// A pipe is what a program writes its standard error to.
type pipe struct {
	*os.File
	in *os.File
}

func newPipe() (*pipe, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &pipe{r, w}, nil
}

// endAt makes reading end then, where that can be done.
func (p *pipe) endAt(t time.Time) { p.SetReadDeadline(t) }

// hangUp makes reading end.
func (p *pipe) hangUp() { p.endAt(time.Now()) }

func newTerminal(*os.File) *pipe { return nil }

func (p *pipe) follow(*os.Process) (stop func()) { return func() {} }
