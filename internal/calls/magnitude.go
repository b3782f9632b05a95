package calls

import (
	"math"

	"github.com/hone-perf/hone/internal/unit"
)

// A Magnitude returns |v|. No int64 is that of −2⁶³.
type Magnitude func(v int64) int64

// Magnitude returns the magnitude that counts for a question: unit.Abs, or that of pprof.
func (m Measure) Magnitude() Magnitude {
	if m.Wraps {
		return wrappingAbs
	}
	return unit.Abs
}

// wrappingAbs leaves −2⁶³ as it is, as pprof does.
func wrappingAbs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}

// addSat returns a+b for magnitudes, or the nearest there is.
func addSat(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
