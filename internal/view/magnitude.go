package view

import "math"

// A magnitude returns |v|. No int64 is that of −2⁶³.
type magnitude func(v int64) int64

// magnitude returns the magnitude that counts for a question: abs, or that of pprof.
func (m measure) magnitude() magnitude {
	if m.wraps {
		return wrappingAbs
	}
	return abs
}

// abs returns |v|, or the nearest there is.
func abs(v int64) int64 {
	if v < 0 {
		return max(-v, -(v + 1))
	}
	return v
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

// difference returns to-from, or the nearest there is.
func difference(from, to int64) int64 {
	d := to - from
	switch {
	case from < 0 && to >= 0 && d < 0:
		return math.MaxInt64
	case from >= 0 && to < 0 && d >= 0:
		return math.MinInt64
	}
	return d
}
