//go:build !unix || linux

package capture

import (
	"strconv"

	"github.com/hone-perf/hone/internal/capture/agent"
)

// processOf returns a process to be asked about.
func processOf(pid int) *agent.Process { return agent.Of(strconv.Itoa(pid)) }

// asksPS tells that the recorder inside a program cannot say how much memory is resident, and that ps can.
const asksPS = false
