package unit

import "math"

// Abs returns |v|, or the nearest there is: no int64 is that of −2⁶³.
func Abs(v int64) int64 {
	if v < 0 {
		return max(-v, -(v + 1))
	}
	return v
}

// Difference returns to-from, or the nearest there is.
func Difference(from, to int64) int64 {
	d := to - from
	switch {
	case from < 0 && to >= 0 && d < 0:
		return math.MaxInt64
	case from >= 0 && to < 0 && d >= 0:
		return math.MinInt64
	}
	return d
}
