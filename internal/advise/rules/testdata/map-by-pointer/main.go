package main

import "fmt"

type block struct {
	Name int
	out  []*block
}

func number(b *block, numbers map[*block]int, n int) int {
	numbers[b] = n // cost: runtime.mapassign_fast64ptr; want
	for _, o := range b.out {
		if numbers[o] == 0 { // cost: runtime.mapaccess1_fast64
			n = number(o, numbers, n+1)
		}
	}
	return n
}

func names(m map[string]int) int {
	return m["x"] // cost: runtime.mapaccess1_faststr
}

type item struct{ Index int }

// Somebody else could see what is in this one, and it is looked through.
func weights(items []*item) map[*item]float64 {
	w := make(map[*item]float64)
	for _, x := range items {
		w[x] = 1 // cost: runtime.mapassign_fast64ptr; want
	}
	for x := range w {
		w[x] *= 2
	}
	return w
}

func main() {
	hard()
	// Numbers that are taken, below zero and far away are places as good as others.
	far := &block{Name: 1 << 40}
	again := &block{Name: 1, out: []*block{far, {Name: -1}}}
	b := &block{out: []*block{{Name: 1}, again, {Name: 2, out: []*block{again, far, nil}[:2]}}}
	numbers := make(map[*block]int)
	n := number(b, numbers, 1)
	fmt.Println(n, numbers[b], numbers[far], numbers[again], numbers[b.out[2]], numbers[nil], numbers[new(block)], names(nil), len(weights(nil)))
}
