//go:build !linux

package perf

import (
	"context"
	"fmt"
	"runtime"
)

// Record is there for Linux only.
func Record(ctx context.Context, pid int, opt Options) (Outcome, error) {
	return Outcome{}, fmt.Errorf("%w: this is %s, but only Linux supports it;  "+
		"to record a program that serves net/http/pprof, give its address", ErrUnsupported, runtime.GOOS)
}
