package render

import (
	"math"
	"strings"

	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// delta prints a difference with its sign.
func delta(d report.Delta) string {
	s := unit.Measured(d.V, d.Unit)
	if d.V > 0 {
		s = "+" + s
	}
	return s
}

// interval prints where a change lies.
func (f *formatter) interval(i report.Interval) string {
	if i.Lo <= 0 || math.IsInf(i.Hi, 1) {
		return "-"
	}
	lo, hi := unit.Relative(i.Lo), unit.Relative(i.Hi)
	if strings.HasSuffix(lo, "%") && strings.HasSuffix(hi, "%") {
		lo = strings.TrimSuffix(lo, "%")
	}
	return lo + " " + f.glyphs.dots + " " + hi
}
