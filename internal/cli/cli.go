// Package cli is the command line: commands, flags, and what they print where.
package cli

import (
	"context"
	"io"
	"os"

	"github.com/hone-perf/hone/internal/compat/pprof"
)

// A System is what a command may touch.
type System struct {
	In       io.Reader
	Out, Err io.Writer
	Env      func(string) string
}

// OS returns the real thing.
func OS() System {
	return System{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Getenv}
}

// Main runs the command that args ask for and returns its exit code.
func Main(ctx context.Context, sys System, args []string) int {
	if len(args) > 0 && args[0] == "pprof" {
		return pprof.Main(ctx, pprof.System(sys), args[1:])
	}
	return 2
}
