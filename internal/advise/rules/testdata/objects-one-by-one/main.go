package main

import "fmt"

type node struct{ next, n int }

func nodes(size int) []*node {
	list := make([]*node, size)
	for i := range list {
		list[i] = new(node) // cost: runtime.newobject runtime.mallocgc; want
		list[i].n = i
	}
	return list
}

func literals(list []*node) {
	for i := range list {
		list[i] = &node{} // cost: runtime.newobject runtime.mallocgc; want
	}
}

func main() {
	hard()
	list := nodes(3)
	sum := 0
	for _, n := range list {
		sum += n.n
	}
	literals(list)
	fmt.Println(sum, *list[2], list[0] != list[1])
}

// They are all in one array.
func together(list []*node) {
	all := make([]node, len(list)) // cost: [cpu] runtime.makeslice runtime.mallocgc
	for i := range list {
		list[i] = &all[i] // cost: [cpu]
	}
}
