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

// An outer variable has the same name.
func itself(m map[string]int) int {
	if len(m) > 0 {
		m := make(map[string]int)
		for k, v := range m { // cost:
			m[k] = v // cost: runtime.mapassign_faststr internal/runtime/maps.(*Map).growToSmall runtime.mallocgc
		}
		return len(m)
	}
	return -1
}

// There is room for both, which a clone of one of them has not.
func both(a, b map[string]int) map[string]int {
	m := make(map[string]int, len(a)+len(b))
	for k, v := range a { // cost:
		m[k] = v // cost: runtime.mapassign_faststr internal/runtime/maps.(*Map).growToSmall runtime.mallocgc
	}
	for k, v := range b {
		m[k] += v
	}
	return m
}

func explained(from map[string]int) map[string]int {
	m := map[string]int{}    // a copy, since others have it
	for k, v := range from { // cost: ; want
		// Values are numbers,
		// so that they need no copies.
		m[k] = v // cost: runtime.mapassign_faststr internal/runtime/maps.(*Map).growToSmall runtime.mallocgc
	}
	return m
}

func main() {
	for _, from := range []map[string]int{nil, {}, {"a": 1}, {"a": 1, "b": -2}} {
		m := (&registry{from}).all()
		m["y"]++
		fmt.Println(m, from, from == nil, sized(from), other(from) == nil, some(from), merged(from, m), itself(m), both(from, m), explained(from))
	}
}
