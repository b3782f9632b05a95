package main

import "fmt"

// A map in an array would be nil.
func counters(out []*map[string]int) {
	for i := range out {
		out[i] = &map[string]int{} // cost: runtime.newobject
	}
}

func hard() {
	out := make([]*map[string]int, 2)
	counters(out)
	(*out[1])["x"]++
	fmt.Println(len(*out[0]), len(*out[1]))
}
