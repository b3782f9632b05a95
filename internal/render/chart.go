package render

import (
	"math"
	"strconv"

	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// An axis maps amounts to places on a chart.
type axis struct {
	lo, hi float64
	ticks  []tick
}

// A tick is a labeled amount on an axis.
type tick struct {
	at   float64
	text string
}

// axisY returns the vertical axis, from zero, with about the given number of ticks.
func axisY(c *report.Chart, count int) axis {
	most := int64(0)
	for _, s := range c.Series {
		for _, p := range s.Points {
			most = max(most, p.Y)
		}
	}
	size, name := 1.0, ""
	switch {
	case c.Y != nil:
		size, name = unitOf(most, c.Y.Unit)
	case c.Whole > 0:
		size, name = float64(c.Whole)/100, "%"
	}
	const above = 1.04 // leave a little room at the top
	step := niceStep(float64(max(most, 1)) / size / float64(count))
	a := axis{hi: max(float64(most)*above, size*step/10)}
	for v := 0.0; v*size <= a.hi; v += step {
		a.ticks = append(a.ticks, tick{v * size, tickText(v, step, name)})
	}
	return a
}

// axisX returns the horizontal axis, with about the given number of ticks.
func axisX(c *report.Chart, count int) axis {
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	for _, s := range c.Series {
		if n := len(s.Points); n > 0 {
			lo, hi = min(lo, s.Points[0].X), max(hi, s.Points[n-1].X)
		}
	}
	switch {
	case c.From < c.To:
		lo, hi = c.From, c.To
	case lo > hi:
		lo, hi = 0, 1
	}
	a := axis{lo: float64(lo), hi: float64(hi)}
	if a.hi <= a.lo {
		a.hi = a.lo + max(1, math.Abs(a.lo)*1e-9)
	}
	for _, m := range c.Marks {
		a.ticks = append(a.ticks, tick{float64(m.At), m.Text})
	}
	if len(c.Marks) > 0 {
		return a
	}
	size, name := 1.0, ""
	if c.Count == "" && c.X != nil {
		size, name = unitOf(hi, c.X.Unit)
	}
	step := niceStep((a.hi - a.lo) / size / float64(count))
	if c.Count != "" {
		step = max(step, 1)
	}
	for v := math.Ceil(a.lo/size/step) * step; v*size <= a.hi+(a.hi-a.lo)*1e-6; v += step {
		a.ticks = append(a.ticks, tick{v * size, tickText(v, step, name)})
		if len(a.ticks) > 100 {
			break
		}
	}
	return a
}

// unitOf returns the unit that suits v, and its size.
func unitOf(v int64, from string) (size float64, name string) {
	const large = 1 << 50
	_, name = unit.Scale(max(v, 1), from, unit.Auto)
	x, _ := unit.Scale(large, from, name)
	if x <= 0 {
		return 1, name
	}
	return large / x, name
}

// niceStep returns the smallest round number that is not less than x.
func niceStep(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 0) {
		return 1
	}
	p := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 2.5, 5, 10} {
		if m*p >= x*0.9999 {
			return m * p
		}
	}
	return 10 * p
}

func tickText(v, step float64, name string) string {
	decimals := 0
	for s := step; decimals < 6 && math.Abs(s-math.Round(s)) > 1e-9*s; s *= 10 {
		decimals++
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if v == 0 {
		return "0"
	}
	return text + name
}

// columnsOf splits a part of an axis into n columns. It returns the largest amount in each, or NaN if a column has none.
func columnsOf(s *report.Series, a axis, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.NaN()
	}
	width := (a.hi - a.lo) / float64(n)
	column := func(x float64) int { return min(max(int((x-a.lo)/width), 0), n-1) }
	raise := func(i int, y float64) {
		if !(out[i] >= y) {
			out[i] = y
		}
	}
	for k, p := range s.Points {
		x, y := float64(p.X), float64(p.Y)
		raise(column(x), y)
		if s.Draw == report.Bars || k+1 == len(s.Points) {
			continue
		}
		q := s.Points[k+1]
		x2, y2 := float64(q.X), float64(q.Y)
		for i := column(x); i <= column(x2) && x2 > x; i++ {
			// A straight line is highest at one end of its part within the column.
			left := max(x, a.lo+float64(i)*width)
			right := min(x2, a.lo+float64(i+1)*width)
			raise(i, y+(y2-y)*(left-x)/(x2-x))
			raise(i, y+(y2-y)*(right-x)/(x2-x))
		}
	}
	return out
}
