package main

import "fmt"

func rounds(lists [][]int) (sum int) {
	for _, list := range lists {
		var odd []int // want
		for _, x := range list {
			if x%2 == 1 {
				odd = append(odd, x) // cost: runtime.growslice runtime.mallocgc
			}
		}
		sum = 10*sum + len(odd)
	}
	return sum
}

// kept is a list that lives on.
func kept(lists [][]int) (out [][]int) {
	for _, list := range lists {
		var odd []int
		for _, x := range list {
			odd = append(odd, x) // cost: runtime.growslice runtime.mallocgc
		}
		out = append(out, odd)
	}
	return out
}

func short(n int) (sum int) {
	var path []int // want
	for n > 1 {
		path = append(path, n) // cost: runtime.growslice runtime.mallocgc
		n /= 2
	}
	for _, x := range path {
		sum += x
	}
	return sum
}

func main() {
	lists := [][]int{{1, 2, 3}, {2}, {5}}
	fmt.Println(rounds(lists), kept(lists), short(100), short(1<<40))
}
