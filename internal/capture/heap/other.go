//go:build !linux || !(amd64 || arm64)

package heap

import (
	"context"
	"errors"

	"github.com/hone-perf/hone/internal/heapgraph"
)

func readProcess(context.Context, int, Options) (*heapgraph.Heap, error) {
	return nil, errors.New("this works on Linux only, on amd64 and arm64")
}
