package main

import "fmt"

var kept []func() int

func keep(f func() int) { kept = append(kept, f) }

func add(n int) {
	keep(func() int { return n }) // cost: runtime.newobject runtime.mallocgc; want
}

func none() {
	keep(func() int { return 1 }) // cost: runtime.newobject runtime.mallocgc
}

func adder(n int) func(int) int {
	return func(m int) int { return n + m } // cost: runtime.newobject runtime.mallocgc; want
}

type step struct{ run func() int }

func stepOf(n int) *step {
	s := new(step)
	s.run = func() int { return n } // cost: runtime.newobject runtime.mallocgc; want
	return s
}

func main() {
	fmt.Println(adder(1)(2), stepOf(3).run())
	add(2)
	none()
	fmt.Println(kept[0]())
}
