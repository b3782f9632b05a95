package main

import "fmt"

type node struct{ left, right *node }

// Most objects are made here, and little CPU is spent on it.
func tree(depth int) *node {
	if depth == 0 {
		return nil
	}
	n := &node{} // cost: [alloc_objects*30000], [alloc_space*900000]; want
	n.left, n.right = tree(depth-1), tree(depth-1)
	return n
}

func (n *node) count() int {
	if n == nil {
		return 0
	}
	return 1 + n.left.count() + n.right.count()
}

// There are others.
func other() *node {
	n := &node{} // cost: [alloc_objects*2000]
	return n
}

func main() { fmt.Println(tree(3).count(), other().count()) }
