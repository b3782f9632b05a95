package cli

import (
	"context"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"time"
)

const (
	// serveMemory is the memory limit of hone serve, unless its live heap needs more. Together with the program and the catalog, which are mapped
	// from files, it makes 256 MB.
	serveMemory = 184 << 20
	// leastRoom is added to the live heap and a quarter of it: garbage may always grow by that much.
	leastRoom = 32 << 20
	lookEvery = 5 * time.Second // interval of reading the live heap
)

// beforeCollecting is GOGC while the heap is within the limit. When it was chosen, receiving profiles took a tenth more CPU time with 100.
const beforeCollecting = 200

// boundMemory sets the memory limit from the live heap, unless GOGC or GOMEMLIMIT is set. With GOGC alone, the heap would grow with the rate of
// uploads, far beyond what the server needs.
func boundMemory(ctx context.Context, sys *System) {
	if sys.Env("GOGC") != "" || sys.Env("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(beforeCollecting) // collectLater has turned the collector off, which suits commands that end soon
	live := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		runtimemetrics.Read(live)
		debug.SetMemoryLimit(memoryLimit(live[0].Value.Uint64()))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// memoryLimit returns the limit for a live heap. It leaves room for garbage, or the server of a large fleet would collect all the time.
func memoryLimit(live uint64) int64 { return max(serveMemory, int64(live+live/4)+leastRoom) }
