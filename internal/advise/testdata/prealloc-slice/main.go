package main

import "fmt"

func fromNil(in []int) []int {
	var out []int
	for _, x := range in {
		out = append(out, 2*x) // cost: runtime.growslice runtime.mallocgc; want
	}
	return out
}

func fromEmpty(in map[string]int) int {
	list := []string{}
	for k := range in {
		list = append(list, k) // cost: runtime.growslice runtime.mallocgc; want
	}
	return len(list)
}

func fromMake(n int) (sum int) {
	list := make([]int, 0)
	for i := range n {
		list = append(list, i) // cost: runtime.growslice runtime.mallocgc; want
	}
	for _, x := range list {
		sum += x
	}
	return sum
}

func onto(out []string, in []int) []string {
	for _, x := range in {
		if x < 0 {
			return nil
		}
		out = append(out, fmt.Sprint(x)) // cost: runtime.growslice runtime.mallocgc; want
	}
	return out
}

func some(in []int) []int {
	var out []int
	for _, x := range in {
		if x%2 == 0 {
			continue
		}
		out = append(out, x) // cost: runtime.growslice runtime.mallocgc; want
	}
	return out
}

func roomy(in []int) []int {
	out := make([]int, 0, len(in))
	for _, x := range in {
		out = append(out, x+1) // cost: runtime.growslice runtime.mallocgc
	}
	return out
}

func main() {
	for _, in := range [][]int{nil, {}, {1}, {1, 2, 3, -4}} {
		out := fromNil(in)
		fmt.Println(out, out == nil, fromEmpty(map[string]int{"a": 1}), fromMake(len(in)-1), onto(nil, in) == nil, onto([]string{"x"}, in), some(in), roomy(in))
	}
}
