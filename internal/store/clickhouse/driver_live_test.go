//go:build live && !nightly

package clickhouse

import (
	"testing"

	"github.com/hone-perf/hone/internal/testrun"
)

// TestDriver is in a file of the nightly run, because the driver takes 25 s of CPU time to compile.
func TestDriver(t *testing.T) { testrun.Nightly(t, "compiles the driver of ClickHouse") }
