package cost

import "math"

// believed is the share that a cost has to have for sure to be worth a word, unless as much is not asked for: half of the usual --min. All of
// that would leave out what is as large as was asked for, where samples tell its size only roughly; two to four samples of some hundred are
// never enough.
const believed = 0.005

// Share returns the largest part of anything that a cost is, of those that are no matter of chance.
func (c *Costs) Share(v *Cost) (most float64) {
	for m := range Metric(NumMetrics) {
		if part := c.Part(v, m); part > most && c.Surely(v, m) >= min(c.least, believed) {
			most = part
		}
	}
	return most
}

// Surely returns which part of all there is of a metric a cost is at least, with a confidence of 95%: the lower bound of what would
// be counted if no metric were sampled. A sample of the heap stands for thousands of small objects, and one of CPU time for 10 ms, so
// a few samples can be a large part of a short run by chance alone. One sample is always chance, however few there are: any line that
// ran may get one.
func (c *Costs) Surely(v *Cost, m Metric) float64 {
	x, rest, spread := float64(v[m]), float64(c.Total[m]-v[m]), c.Spread(v, m)
	if x <= 0 || rest <= 0 || c.Total[m] <= 0 {
		if x*x < chance*spread {
			return 0
		}
		return c.Part(v, m)
	}
	// The bounds of the two amounts make one of what they are to each other, as their variances would: the method of Zou and Donner.
	off := 0.0
	if spread > 0 {
		n := x * x / spread // as many samples of equal weight would be as uncertain
		if n < chance {
			return 0
		}
		off = math.Log(n / leastMean(n))
	}
	if spread = c.Spread(&c.Total, m) - spread; spread > 0 {
		n := rest * rest / spread
		off = math.Hypot(off, math.Log(mostMean(n)/n))
	}
	odds := x / rest * math.Exp(-off)
	return odds / (1 + odds)
}

// chance is how many samples say nothing: one, and some that weigh next to nothing beside it.
const chance = 1.5

// Spread returns the variance of an amount that samples tell of, each of which stands for more; 0 where all was counted.
func (c *Costs) Spread(v *Cost, m Metric) float64 {
	switch m {
	case CPU:
		return float64(v[CPU]) * float64(c.sample)
	case ObjectsMade:
		return float64(v[ObjectsMadeSpread])
	case BytesMade:
		return float64(v[bytesMadeSpread]) * spreadUnit
	case InUse:
		return float64(v[InUseSpread]) * spreadUnit
	}
	return 0
}

// leastMean and mostMean are the least and the largest mean of what happens by chance and happened n times, with a confidence of 95%
// each: bounds of a Poisson distribution, in the approximation of Wilson and Hilferty.
func leastMean(n float64) float64 {
	root := 1 - 1/(9*n) - quantile95/(3*math.Sqrt(n))
	return n * max(root*root*root, 0)
}

func mostMean(n float64) float64 {
	root := 1 - 1/(9*(n+1)) + quantile95/(3*math.Sqrt(n+1))
	return (n + 1) * root * root * root
}

// quantile95 is the 95th percentile of the normal distribution.
const quantile95 = 1.645
