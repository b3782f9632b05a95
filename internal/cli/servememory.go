package cli

import (
	"context"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"time"
)

const (
	// serveMemory is how much memory hone serve takes before it collects garbage more often than usual. With its program and the catalog, which are
	// mapped from files, that is 256 MB.
	serveMemory = 184 << 20
	// leastRoom is the garbage that may always pile up beside what is in use: a quarter of that, and this.
	leastRoom = 32 << 20
	lookEvery = 5 * time.Second // at how much is in use
)

// beforeCollecting is how much garbage there may be for 100 bytes in use, as long as all of it is within the limit. When this was chosen, receiving
// profiles took a tenth more CPU time with 100.
const beforeCollecting = 200

// boundMemory keeps garbage from taking as much memory as there is, unless the environment says how much there may be. A server whose
// memory follows how fast profiles come in would need much more than it uses.
func boundMemory(ctx context.Context, sys *System) {
	if sys.Env("GOGC") != "" || sys.Env("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(beforeCollecting) // commands do not collect before there is something worth it: see collectLater
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

// memoryLimit returns the limit for so much memory in use. It leaves room, or a large fleet would collect garbage all the time.
func memoryLimit(live uint64) int64 { return max(serveMemory, int64(live+live/4)+leastRoom) }
