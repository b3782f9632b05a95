//go:build unix && !linux

package capture

import "os"

func newTerminal(*os.File) *pipe { return nil }

func (p *pipe) follow(*os.Process) (stop func()) { return func() {} }

// waiting returns how many bytes can be read at once, where that is known.
func (p *pipe) waiting() int { return 0 }
