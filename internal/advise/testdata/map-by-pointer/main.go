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

func main() {
	b := &block{out: []*block{{Name: 1}}}
	fmt.Println(number(b, map[*block]int{}, 1), names(nil))
}
