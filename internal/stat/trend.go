package stat

import (
	"math"
	"slices"
)

// A Trend is how values change from one to the next, whatever their distribution is.
type Trend struct {
	Slope  float64 // Theil–Sen: the median of the slopes between all pairs of values
	Lo, Hi float64 // with 95 % confidence
	P      float64 // of a rise as clear as this by chance, by Mann and Kendall
}

// TrendOf returns the trend of values at equal distances. There should be ten at least.
func TrendOf(values []float64) Trend {
	n := len(values)
	var slopes []float64
	s := 0
	for i := range n {
		for j := i + 1; j < n; j++ {
			d := values[j] - values[i]
			slopes = append(slopes, d/float64(j-i))
			switch {
			case d > 0:
				s++
			case d < 0:
				s--
			}
		}
	}
	if len(slopes) == 0 {
		return Trend{P: 1}
	}
	slices.Sort(slopes)
	// Values that are equal make the variance of S smaller.
	variance := float64(n * (n - 1) * (2*n + 5))
	sorted := slices.Sorted(slices.Values(values))
	for i := 0; i < n; {
		j := i
		for j < n && sorted[j] == sorted[i] {
			j++
		}
		t := j - i
		variance -= float64(t * (t - 1) * (2*t + 5))
		i = j
	}
	sigma := math.Sqrt(max(variance, 0) / 18)
	out := Trend{Slope: slopes[len(slopes)/2], P: 1}
	if sigma > 0 && s != 0 {
		z := (float64(s) - math.Copysign(1, float64(s))) / sigma
		out.P = math.Erfc(z/math.Sqrt2) / 2
	}
	const z95 = 1.96
	c := z95 * sigma
	at := func(rank float64) float64 {
		return slopes[min(max(int(math.Round(rank)), 0), len(slopes)-1)]
	}
	out.Lo = at((float64(len(slopes)) - c) / 2)
	out.Hi = at((float64(len(slopes))+c)/2 + 1)
	return out
}
