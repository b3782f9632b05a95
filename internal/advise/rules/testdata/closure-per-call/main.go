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

type visitor interface{ each(visit func(int)) }

type holder struct{ list []int }

func (h *holder) each(visit func(int)) {
	for _, n := range h.list {
		visit(n)
	}
}

func newHolder(list []int) visitor { return &holder{list} }

func sum(list []int) (all int) {
	h := newHolder(list)
	h.each(func(n int) { all += n }) // cost: runtime.newobject runtime.mallocgc; want
	return all
}

func main() {
	fmt.Println(sum([]int{1, 2, 3}))
	fmt.Println(adder(1)(2), stepOf(3).run())
	add(2)
	none()
	fmt.Println(kept[0]())
}
