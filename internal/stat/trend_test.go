package stat

import (
	"math"
	"slices"
	"testing"
)

func TestTrend(t *testing.T) {
	line := func(slope float64) []float64 {
		var out []float64
		for i := range 24 {
			out = append(out, slope*float64(i)+math.Sin(float64(i)*2.3))
		}
		return out
	}
	if tr := TrendOf(line(1)); tr.P > 1e-6 || tr.Lo > 1 || tr.Hi < 1 || tr.Lo < 0.8 || tr.Hi > 1.2 {
		t.Errorf("of a rise: %+v", tr)
	}
	if tr := TrendOf(line(-1)); tr.P < 0.999 || tr.Slope > -0.8 {
		t.Errorf("of a fall: %+v", tr)
	}
	if tr := TrendOf(line(0)); tr.P < 0.01 || tr.Lo > 0 || tr.Hi < 0 {
		t.Errorf("of nothing: %+v", tr)
	}
	for _, values := range [][]float64{nil, {1}, slices.Repeat([]float64{3}, 20)} {
		if tr := TrendOf(values); tr.P != 1 || tr.Slope != 0 {
			t.Errorf("of %v: %+v", values, tr)
		}
	}
}
