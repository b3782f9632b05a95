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

// strayP is the p-value below which values that differ now and then are no chance.
const strayP = 0.05

// Zeros compares pairs some of which have zeros, in the order in which they were measured. Where they are not Apart, they can still be the same:
// no bytes but for a few strays, which the runtime allocated during some run of either side, are none on both sides. So the interval of the
// middle difference has to be as small as Within allows, which is zero for zeros, and what lies outside of it must not be of one side.
func (p Plan) Zeros(olds, news []float64) Comparison {
	p = p.resolve()
	c := Apart(olds, news)
	n := c.N
	if c.Verdict != Undecided || n == 0 {
		return c
	}
	ds := make([]float64, n)
	for i := range ds {
		ds[i] = news[i] - olds[i]
	}
	if SignedRank(ds) < strayP {
		return c
	}
	slices.Sort(ds)
	// A pair is as likely to be below the middle as above it, so the number of those below is that of heads in n throws of a coin.
	k, chance, below := 0, math.Ldexp(1, -n), 0.0 // k lie outside on each side
	for k < n/2 && below+chance <= (1-p.Level())/2 {
		below += chance
		k++
		chance *= float64(n-k+1) / float64(k)
	}
	base := Median(olds)
	if most := p.Within * base; k == 0 || ds[k-1] < -most || ds[n-k] > most {
		return c
	}
	c.Verdict, c.Ratio, c.Lo, c.Hi = Same, 1, 1, 1
	if base > 0 {
		c.Ratio, c.Lo, c.Hi = 1+median(ds)/base, 1+ds[k-1]/base, 1+ds[n-k]/base
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
