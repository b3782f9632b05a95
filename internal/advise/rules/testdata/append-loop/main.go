package main

import "fmt"

type named []int

func all(out, in []int) []int {
	for _, x := range in { // cost: ; want
		out = append(out, x) // cost: runtime.growslice runtime.mallocgc
	}
	return out
}

func twice(list named) named {
	for _, x := range list { // cost: ; want
		list = append(list, x)
	}
	return list
}

func others(out []any, in []int) []any {
	for _, x := range in { // cost:
		out = append(out, x)
	}
	return out
}

func main() {
	fmt.Println(all(nil, nil) == nil, all([]int{1}, []int{2, 3}), twice(named{1, 2}), others(nil, []int{1}))
}
