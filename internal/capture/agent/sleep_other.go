//go:build !linux

package agent

import "time"

func sleep(d time.Duration) { time.Sleep(d) }
