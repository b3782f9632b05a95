//go:build !linux

package perf

import (
	"context"
	"fmt"
	"runtime"
)

// Record is there for Linux only.
func Record(ctx context.Context, pid int, opt Options) (Outcome, error) {
	return Outcome{}, fmt.Errorf("%w: this is %s, and only Linux offers what it takes; "+
		"a program that serves net/http/pprof can be recorded by its address", ErrUnsupported, runtime.GOOS)
}
