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
