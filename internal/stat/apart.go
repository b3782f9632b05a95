package stat

import (
	"math"
	"slices"
)

// Apart compares values some of which are zero, such as allocations that are gone: those have no ratio, and what has no ratio
// cannot be judged pair by pair. It sees a change only where every value of one side is beyond all of the other, by more
// than either side varies, and the order would be chance at most once in a hundred.
func Apart(olds, news []float64) Comparison {
	c := Comparison{Ratio: math.NaN(), Hi: math.Inf(1), P: 1, N: min(len(olds), len(news)), Verdict: Undecided}
	if c.N == 0 {
		return c
	}
	c.Ratio = Median(news) / Median(olds)
	lowOld, highOld := slices.Min(olds), slices.Max(olds)
	lowNew, highNew := slices.Min(news), slices.Max(news)
	if lowOld < 0 || lowNew < 0 {
		return c
	}
	varies := max(highOld-lowOld, highNew-lowNew)
	// Of all orders that the values could be in, one has them apart this way and one the other way.
	p := 2 / ways(len(olds), len(news))
	if p > 0.01 {
		return c
	}
	switch {
	case lowOld-highNew > varies:
		c.Verdict = Lower
	case lowNew-highOld > varies:
		c.Verdict = Higher
	default:
		return c
	}
	c.P, c.Lo = p, lowNew/highOld
	if lowOld > 0 {
		c.Hi = highNew / lowOld
	}
	return c
}

// ways is in how many orders n values of one kind and m of another can come.
func ways(n, m int) float64 {
	w := 1.0
	for i := 1; i <= m; i++ {
		w = w * float64(n+i) / float64(i)
	}
	return w
}
