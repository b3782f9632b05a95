package stat

import (
	"math"
	"testing"
)

func TestApart(t *testing.T) {
	tests := []struct {
		name       string
		olds, news []float64
		verdict    Verdict
		lo, hi     float64
	}{
		{"allocations that are gone", []float64{95, 96, 95, 95, 95}, []float64{0, 0, 0, 0, 0}, Lower, 0, 0},
		{"new ones", []float64{0, 0, 0, 0, 1}, []float64{95, 95, 96, 95, 95}, Higher, 95, math.Inf(1)},
		{"too few to tell", []float64{95, 96, 95, 95}, []float64{0, 0, 0, 0}, Undecided, 0, math.Inf(1)},
		{"closer than either varies", []float64{5, 9, 5, 6, 7}, []float64{0, 1, 2, 1, 2}, Undecided, 0, math.Inf(1)},
		{"one among the others", []float64{95, 0, 95, 95, 95, 95}, []float64{0, 0, 0, 0, 0, 0}, Undecided, 0, math.Inf(1)},
		{"below zero", []float64{-1, -1, -1, -1, -2}, []float64{5, 5, 5, 5, 5}, Undecided, 0, math.Inf(1)},
		{"nothing", nil, nil, Undecided, 0, math.Inf(1)},
	}
	for _, tt := range tests {
		c := Apart(tt.olds, tt.news)
		if c.Verdict != tt.verdict || c.Lo != tt.lo || c.Hi != tt.hi {
			t.Errorf("%s: Apart(%v, %v) = %s in %v to %v; want %s in %v to %v", tt.name, tt.olds, tt.news, c.Verdict, c.Lo, c.Hi, tt.verdict, tt.lo, tt.hi)
		}
		if c.Verdict.Changed() != (c.P < 0.01) {
			t.Errorf("%s: %s with p = %v", tt.name, c.Verdict, c.P)
		}
	}
}

// Strays do not make zeros undecided, as long as they are few and on both sides alike.
func TestZeros(t *testing.T) {
	with := func(n int, most float64, strays ...float64) []float64 {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = most
		}
		for i, x := range strays {
			xs[3+2*i] = x
		}
		return xs
	}
	tests := []struct {
		name       string
		olds, news []float64
		want       Verdict
	}{
		{"one stray", with(20, 0, 16), with(20, 0), Same},
		{"three of twenty", with(20, 0, 16, 3), with(20, 0, 2000), Same},
		{"as large as that in few pairs", with(9, 0, 16), with(9, 0), Undecided},
		{"many on one side", with(40, 0), with(40, 0, 9, 9, 9, 9, 9, 9, 9), Undecided},
		{"zero now and then", with(20, 48, 0), with(20, 48), Same},
		{"another value", with(20, 48, 0), with(20, 52), Undecided},
		{"none but one", with(20, 24), with(20, 0, 3), Lower},
		{"nothing", nil, nil, Undecided},
	}
	for _, tt := range tests {
		c := Plan{}.Zeros(tt.olds, tt.news)
		if c.Verdict != tt.want || c.Verdict == Same && (c.Ratio != 1 || c.Lo != 1 || c.Hi != 1) {
			t.Errorf("%s: Zeros(%v, %v) = %+v, want %s", tt.name, tt.olds, tt.news, c, tt.want)
		}
	}
}
