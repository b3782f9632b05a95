package duel

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// What disturbs both sides does not count, and what a program does now and then counts in full.
func TestInStep(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sides := func(n int, cost func(side, i int) float64) (a, b []turn) {
		speed := 1.0
		for i := range n {
			if r.IntN(20) == 0 {
				speed = 0.5 + r.Float64() // the neighbor comes and goes
			}
			one := func(side int) turn {
				c := cost(side, i) * speed * (1 + 0.02*r.NormFloat64())
				if r.IntN(10) == 0 { // another program had the core
					return turn{time.Duration(3e5 * c), 3 * time.Millisecond}
				}
				return turn{time.Duration(1e5 * c), time.Microsecond}
			}
			a, b = append(a, one(0)), append(b, one(1))
		}
		return a, b
	}
	for _, tt := range []struct {
		name string
		cost func(side, i int) float64
		want float64
	}{
		{"same", func(int, int) float64 { return 1 }, 1},
		{"more", func(side, _ int) float64 { return 1 + 0.05*float64(side) }, 1.05},
		{"now and then", func(side, i int) float64 {
			if i%20 == 7 {
				return 2 + 2*float64(side)
			}
			return 1
		}, (19.0 + 4) / (19 + 2)},
	} {
		a, b := sides(4000, tt.cost)
		ratio, ok := inStep(a, b)
		if !ok || math.Abs(ratio/tt.want-1) > 0.012 {
			t.Errorf("%s: %v, %v; want %v", tt.name, ratio, ok, tt.want)
		}
		if back, _ := inStep(b, a); math.Abs(back*ratio-1) > 1e-12 {
			t.Errorf("%s: %v one way and %v the other", tt.name, ratio, back)
		}
	}
	a, b := sides(100, func(int, int) float64 { return 1 })
	for i := range a {
		a[i].gap = time.Second // it was never left alone
	}
	if ratio, ok := inStep(a, b); !ok || math.Abs(ratio-1) > 0.3 {
		t.Errorf("disturbed all the time: %v, %v", ratio, ok)
	}
	for _, wrong := range [][2][]turn{{nil, nil}, {a[:9], b}, {a[:3], b[:3]}} {
		if ratio, ok := inStep(wrong[0], wrong[1]); ok {
			t.Errorf("%d and %d turns: %v", len(wrong[0]), len(wrong[1]), ratio)
		}
	}
}
