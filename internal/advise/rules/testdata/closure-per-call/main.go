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

func main() {
	add(2)
	none()
	fmt.Println(kept[0]())
}
