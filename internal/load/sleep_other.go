//go:build !linux

package load

import "time"

// coarse is nothing where timers of Go are as precise as the system can.
const coarse = 0

func fineSleep(d time.Duration) { time.Sleep(d) }
