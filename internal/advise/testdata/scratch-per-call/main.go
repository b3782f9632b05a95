package main

import "fmt"

func count(edges [][]int, size int) (n int) {
	seen := make([]bool, size) // cost: runtime.makeslice runtime.mallocgc; want
	todo := make([]int, size)  // cost: runtime.makeslice runtime.mallocgc
	todo = append(todo[:0], 0)
	for len(todo) > 0 {
		x := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[x] {
			continue
		}
		seen[x] = true
		n++
		todo = append(todo, edges[x]...)
	}
	return n
}

func kept(size int) []bool {
	list := make([]bool, size) // cost: runtime.makeslice runtime.mallocgc
	return list
}

func main() { fmt.Println(count([][]int{{1}, {0}, nil}, 3), len(kept(2))) }
