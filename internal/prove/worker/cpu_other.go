//go:build !unix

package worker

import "time"

const hasCPUTime = false

func cpuTime() time.Duration { return 0 }
