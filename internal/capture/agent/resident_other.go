//go:build !linux

package agent

import (
	"time"
	"unsafe"
)

// A residence finds out how much of the heap of Go is resident. Only Linux says so.
type residence struct{}

func (*residence) look(unsafe.Pointer, uint64, time.Duration, bool) (int64, bool) { return 0, false }
