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

// forked has lists of its own in both results.
func forked(n int) (a, b []int) {
	var list []int
	for i := range n {
		list = append(list, i) // cost: runtime.growslice runtime.mallocgc
	}
	a = append(list, 1)
	b = append(list, 2)
	return a, b
}

// room depends on how the list grows.
func room(n int) int {
	var list []int
	for i := range n {
		list = append(list, i) // cost: runtime.growslice runtime.mallocgc
	}
	return cap(list)
}

func isNil(list []int) bool { return list == nil }

func none(n int) bool {
	var list []int
	for i := range n {
		list = append(list, i) // cost: runtime.growslice runtime.mallocgc
	}
	return isNil(list)
}

func total(list []int) (sum int) {
	for _, x := range list {
		sum += x
	}
	return sum
}

func summed(n int) int {
	var list []int // want
	for i := range n {
		list = append(list, i) // cost: runtime.growslice runtime.mallocgc
	}
	return total(list)
}

func main() {
	a, b := forked(3)
	fmt.Println(a, b, room(3), none(0), none(1), summed(3))
	lists := [][]int{{1, 2, 3}, {2}, {5}}
	fmt.Println(rounds(lists), kept(lists), short(100), short(1<<40))
}
