package duel

import (
	"math/rand/v2"
	"testing"
)

// Every layout is used once before one is used again, in another order each time.
func TestDeal(t *testing.T) {
	d := &duel{rand: rand.New(rand.NewPCG(1, 2))}
	r := &row{old: make([]*program, 7), new: make([]*program, 7)}
	together := make(map[[2]int]bool)
	for range 4 {
		var olds, news [7]int
		for range 7 {
			lots := d.draw(r)
			olds[lots.old]++
			news[lots.new]++
			together[[2]int{lots.old, lots.new}] = true
		}
		if want := [7]int{1, 1, 1, 1, 1, 1, 1}; olds != want || news != want {
			t.Errorf("of 7 pairs, the layouts have %v and %v", olds, news)
		}
	}
	if len(together) < 15 {
		t.Errorf("only %d layouts met", len(together))
	}
	if lots := d.draw(&row{}); lots.old != 0 || lots.new != 0 {
		t.Errorf("%+v of a row without programs", lots)
	}
}
