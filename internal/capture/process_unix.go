//go:build unix && !linux

package capture

import (
	"strconv"
	"time"

	"github.com/hone-perf/hone/internal/capture/agent"
)

// processOf returns a process to be asked about, at most twice a second.
func processOf(pid int) *agent.Process {
	p := agent.Of(strconv.Itoa(pid))
	var (
		at      time.Time
		rss     int64
		cpu     float64
		threads int
	)
	p.Ask = func() (int64, float64, int) {
		if time.Since(at) > time.Second/2 {
			rss, cpu, threads = askPS(pid)
			at = time.Now()
		}
		return rss, cpu, threads
	}
	return p
}

// asksPS tells that the recorder inside a program cannot say how much memory is resident, and that ps can.
const asksPS = true
