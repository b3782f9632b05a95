package main

import "fmt"

type registry struct{ entries map[string]int }

func (r *registry) all() map[string]int {
	m := map[string]int{}
	for k, v := range r.entries { // cost: [cpu] runtime.mapIterNext; want
		m[k] = v // cost: runtime.mapassign_faststr internal/runtime/maps.(*Map).growToSmall runtime.mallocgc
	}
	return m
}

// A room is what the clone has, too.
func sized(from map[string]int) map[string]int {
	m := make(map[string]int, len(from)) // cost: runtime.makemap runtime.mallocgc
	for k, v := range from {             // cost: ; want
		m[k] = v // cost: runtime.mapassign_faststr
	}
	m["x"] = 1
	return m
}

type named map[string]int

// The copy would have another type.
func other(from named) map[string]int {
	m := map[string]int{}
	for k, v := range from { // cost:
		m[k] = v // cost: runtime.mapassign_faststr internal/runtime/maps.(*Map).growToSmall runtime.mallocgc
	}
	return m
}

// Some entries are left out, or changed.
func some(from map[string]int) map[string]int {
	m := map[string]int{}
	for k, v := range from { // cost:
		if v > 0 {
			m[k] = v // cost: runtime.mapassign_faststr internal/runtime/maps.(*Map).growToSmall runtime.mallocgc
		}
	}
	o := map[string]int{}
	for k, v := range from { // cost:
		o[k] = v + 1 // cost: runtime.mapassign_faststr internal/runtime/maps.(*Map).growToSmall runtime.mallocgc
	}
	fmt.Println(o)
	return m
}

// There is something in it before.
func merged(a, b map[string]int) map[string]int {
	m := map[string]int{"x": 1}
	for k, v := range a { // cost:
		m[k] = v // cost: runtime.mapassign_faststr internal/runtime/maps.(*Map).growToSmall runtime.mallocgc
	}
	for k, v := range b { // cost:
		m[k] = v // cost: runtime.mapassign_faststr internal/runtime/maps.(*Map).growToSmall runtime.mallocgc
	}
	return m
}

func main() {
	for _, from := range []map[string]int{nil, {}, {"a": 1}, {"a": 1, "b": -2}} {
		m := (&registry{from}).all()
		m["y"]++
		fmt.Println(m, from, from == nil, sized(from), other(from) == nil, some(from), merged(from, m))
	}
}
