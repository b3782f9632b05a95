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

// overlapping reads elements that it has overwritten.
func overlapping() []int {
	out := make([]int, 0, 8)
	out = append(out, 1, 2, 3)
	in := out
	out = out[:1]
	for _, x := range in { // cost: ; want
		out = append(out, x)
	}
	return out
}

// room depends on how often append has made a larger array.
func room(in []int) (int, []int) {
	var out []int
	for _, x := range in { // cost: ; want
		out = append(out, x)
	}
	return cap(out), out
}

func explained(in []int) []int {
	var out []int
	for _, x := range in { // cost: ; want
		// The caller changes them.
		out = append(out, x) // so they are copied
	}
	return out
}

// called changes what its result is appended to.
func called() []int {
	out := []int{1}
	next := func() []int { out = append(out, 7); return []int{8, 9} }
	for _, x := range next() { // cost: ; want
		out = append(out, x)
	}
	return out
}

func main() {
	fmt.Println(len(overlapping()), explained([]int{1, 2}), called())
	_, list := room([]int{1, 2, 3, 4, 5})
	fmt.Println(list)
	fmt.Println(all(nil, nil) == nil, all([]int{1}, []int{2, 3}), twice(named{1, 2}), others(nil, []int{1}))
}
