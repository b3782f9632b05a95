package storetest

import (
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/store"
)

// TestMemory holds the suite against itself.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("is as much as a test of a real store; only tests use this one")
	}
	Run(t, func(_ *testing.T, now func() time.Time) store.Store {
		m := NewMemory()
		m.Now = now
		return m
	})
}
