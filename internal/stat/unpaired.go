package stat

import (
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// UnpairedAlpha is the level at which Unpaired calls a change. It is benchstat's.
const UnpairedAlpha = 0.05

// Unpaired compares measurements that were not taken in pairs, all above zero: Mann and Whitney's test, and the interval of
// the ratio that goes with it. A change below the share within counts as none. It cannot see that the machine was another
// while one side ran.
func Unpaired(olds, news []float64, within float64) Comparison {
	c := Comparison{N: min(len(olds), len(news)), P: 1, Verdict: Undecided}
	a, b := logs(olds), logs(news)
	diffs := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			diffs = append(diffs, y-x)
		}
	}
	slices.Sort(diffs)
	lo, hi := math.Inf(-1), math.Inf(1)
	if k := fewestOutside(len(a), len(b), UnpairedAlpha/2); k > 0 {
		lo, hi = diffs[k-1], diffs[len(diffs)-k]
	} else {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%d and %d measurements are too few to tell a change from noise; 6 of each are enough", len(a), len(b)))
	}
	mid := median(diffs)
	c.Ratio, c.Lo, c.Hi = math.Exp(mid), math.Exp(lo), math.Exp(hi)
	if r, err := stats.MannWhitneyUTest(a, b, stats.LocationDiffers); err == nil {
		c.P = r.P
	} // all equal: 1
	limit := math.Log1p(within)
	switch {
	case -limit < lo && hi < limit:
		c.Verdict = Same
	case c.P < UnpairedAlpha && lo > 0 && mid >= limit:
		c.Verdict = Higher
	case c.P < UnpairedAlpha && hi < 0 && mid <= -limit:
		c.Verdict = Lower
	}
	return c
}

// fewestOutside returns how many of the differences between n and m values lie outside of their interval on each side.
func fewestOutside(n, m int, tail float64) int {
	if n == 0 || m == 0 {
		return 0
	}
	if n > 50 || m > 50 { // U is as good as normal
		mean, sd := float64(n*m)/2, math.Sqrt(float64(n*m*(n+m+1))/12)
		return max(0, int(mean+quantile(tail)*sd))
	}
	u := stats.UDist{N1: n, N2: m}
	k := 0
	for k < n*m && u.CDF(float64(k)) <= tail {
		k++
	}
	return k
}

func logs(xs []float64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = math.Log(x)
	}
	return out
}
