//go:build !linux

package agent

import "time"

var began = time.Now()

// threadCPU returns time that has passed: what the CPU time of this thread is at most.
func threadCPU() int64 { return int64(time.Since(began)) }
