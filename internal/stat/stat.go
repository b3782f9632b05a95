// Package stat tells a change from noise. A Plan judges pairs of measurements that were taken side by side, and says when there are enough
// of them. Unpaired compares two sets that were taken at different times. Discoveries keeps false discoveries among many comparisons rare.
// All return a Comparison, which includes its doubts.
package stat

import (
	"math"
	"slices"
)

// A Verdict is what a comparison shows of the new value.
type Verdict string

// Verdicts. Whether a higher value is good depends on what it is.
const (
	Undecided Verdict = "undecided" // neither a change nor its absence is shown
	Same      Verdict = "same"      // a change, if any, is below the threshold
	Higher    Verdict = "higher"
	Lower     Verdict = "lower"
)

// Changed reports whether a change is shown.
func (v Verdict) Changed() bool { return v == Higher || v == Lower }

// A Comparison is what measurements say about new/old.
type Comparison struct {
	Ratio    float64 // of new to old
	Lo, Hi   float64 // the interval that holds it: 0 and infinite when nothing is known
	P        float64 // that no change looks like this, corrected for the looks; 0 when exact
	N        int     // pairs, or measurements of the smaller side
	Exact    bool    // nothing varied
	Verdict  Verdict
	Warnings []string
}

// Exactly compares values that are the same each time, such as allocations. ok is false when one of them varies, and when
// there are too few to tell.
func Exactly(olds, news []float64) (c Comparison, ok bool) {
	if len(olds) < 2 || len(news) < 2 || !constant(olds) || !constant(news) {
		return Comparison{}, false
	}
	before, after := olds[0], news[0]
	c = Comparison{Ratio: after / before, N: min(len(olds), len(news)), Exact: true, Verdict: Same}
	switch {
	case before == after:
		c.Ratio = 1
	case after > before:
		c.Verdict = Higher
	default:
		c.Verdict = Lower
	}
	c.Lo, c.Hi = c.Ratio, c.Ratio
	return c, true
}

func constant(xs []float64) bool {
	return !slices.ContainsFunc(xs, func(x float64) bool { return x != xs[0] })
}

// Discoveries reports which of the p-values stand when at most the share q of those that do may be false: the procedure of
// Benjamini and Hochberg.
func Discoveries(ps []float64, q float64) []bool {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return compare(ps[i], ps[j]) })
	last := -1
	for rank, i := range order {
		if ps[i] <= q*float64(rank+1)/float64(len(ps)) {
			last = rank
		}
	}
	stand := make([]bool, len(ps))
	for _, i := range order[:last+1] {
		stand[i] = true
	}
	return stand
}

// GeoMean returns the geometric mean of xs, which are above zero.
func GeoMean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(xs)))
}
