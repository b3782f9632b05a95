package storetest

import (
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/store"
)

// TestMemory holds the suite against itself.
func TestMemory(t *testing.T) {
	Run(t, func(_ *testing.T, now func() time.Time) store.Store {
		m := NewMemory()
		m.Now = now
		return m
	})
}
