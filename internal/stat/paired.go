package stat

import (
	"math"
	"slices"
)

// SignedRank returns the two-sided p-value of Wilcoxon's signed rank test: how often differences as one-sided as ds would
// come from a distribution that is symmetric around zero. It is exact, with ties too; differences of zero are left out.
//
// Where old and new take turns in random order and nothing changed, each difference is as likely as its opposite, so the
// test promises what it says for any kind of noise.
func SignedRank(ds []float64) float64 {
	ranks, up := signedRanks(ds)
	if len(ranks) == 0 {
		return 1
	}
	below := rankSums(ranks)
	all := 0
	for _, r := range ranks {
		all += r
	}
	return min(1, 2*min(below[up], below[all-up]))
}

// signedRankAbove returns the one-sided p-value that the middle of ds is above zero.
func signedRankAbove(ds []float64) float64 {
	ranks, up := signedRanks(ds)
	all := 0
	for _, r := range ranks {
		all += r
	}
	return rankSums(ranks)[all-up]
}

// signedRanks returns twice the rank of each difference, so that ties have whole ones, and the sum of those above zero.
func signedRanks(ds []float64) (ranks []int, up int) {
	ds = slices.DeleteFunc(slices.Clone(ds), func(d float64) bool { return d == 0 })
	slices.SortFunc(ds, func(a, b float64) int { return compare(math.Abs(a), math.Abs(b)) })
	ranks = make([]int, len(ds))
	for i := 0; i < len(ds); {
		j := i
		for j < len(ds) && math.Abs(ds[j]) == math.Abs(ds[i]) {
			j++
		}
		for k := i; k < j; k++ {
			ranks[k] = i + j + 1 // twice the mean of i+1 … j
			if ds[k] > 0 {
				up += ranks[k]
			}
		}
		i = j
	}
	return ranks, up
}

// rankSums returns the chance that the ranks of a random half add up to at most each sum.
func rankSums(ranks []int) []float64 {
	all := 0
	for _, r := range ranks {
		all += r
	}
	chance := make([]float64, all+1)
	chance[0] = 1
	top := 0
	for _, r := range ranks {
		top += r
		for s := top; s >= 0; s-- {
			c := chance[s] / 2
			if s >= r {
				c += chance[s-r] / 2
			}
			chance[s] = c
		}
	}
	for s := 1; s <= all; s++ {
		chance[s] += chance[s-1]
	}
	return chance
}

// Middle returns the Hodges–Lehmann estimate of the middle of ds, the median of the means of all its pairs, and the interval
// that holds it with a confidence of level: the values that SignedRank would not refuse. Too few for that make it infinite.
func Middle(ds []float64, level float64) (mid, lo, hi float64) {
	n := len(ds)
	if n == 0 {
		return math.NaN(), math.Inf(-1), math.Inf(1)
	}
	means := make([]float64, 0, n*(n+1)/2)
	for i, a := range ds {
		for _, b := range ds[i:] {
			means = append(means, (a+b)/2)
		}
	}
	slices.Sort(means)
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i + 1
	}
	below := rankSums(ranks)
	k := 0 // so many of the means lie outside on each side
	for k < len(below) && below[k] <= (1-level)/2 {
		k++
	}
	mid = median(means)
	if k == 0 {
		return mid, math.Inf(-1), math.Inf(1)
	}
	return mid, means[k-1], means[len(means)-k]
}

func median(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Median returns the middle of xs.
func Median(xs []float64) float64 {
	xs = slices.Clone(xs)
	slices.Sort(xs)
	return median(xs)
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
