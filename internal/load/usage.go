package load

import (
	"runtime"
	"time"
)

// A usage is what this process has used so far.
type usage struct {
	cpu   time.Duration
	gcs   uint32
	pause time.Duration
}

func usageNow() usage {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{cpuTime(), m.NumGC, time.Duration(m.PauseTotalNs)}
}

// used fills in what was used since some time.
func (r *run) used(began usage) {
	now := usageNow()
	r.health.CPU, r.health.Procs = now.cpu-began.cpu, float64(runtime.GOMAXPROCS(0))
	r.health.GCs, r.health.Pause = int(now.gcs-began.gcs), now.pause-began.pause
}
