package main

import "fmt"

func sets(n int) int {
	list := make([]map[int]bool, n)
	for i := range list {
		list[i] = make(map[int]bool) // cost: runtime.makemap_small; want
		list[i][i] = true            // cost: [cpu] runtime.mapassign_fast64
	}
	return len(list)
}

func words(m map[string]bool) bool {
	return m["x"] // cost: runtime.mapaccess1_faststr
}

type node struct {
	edges map[*node]bool
	seen  int
}

func newNode() *node {
	return &node{
		edges: make(map[*node]bool), // cost: runtime.makemap_small
	}
}

func (n *node) connect(to *node) {
	n.edges[to] = true // cost: [cpu*3] runtime.mapassign_fast64ptr; want
	n.seen += len(to.edges)
}

func (n *node) count() (sum int) {
	if n.edges[n] {
		sum = 100
	}
	for to := range n.edges {
		sum += 1 + len(to.edges)
	}
	return sum
}

// Members of this one are taken out again.
func without(list []uint8) int {
	m := make(map[uint8]bool)
	for _, x := range list {
		m[x] = true // cost: runtime.mapassign; want
	}
	delete(m, 3)
	return len(m)
}

// And this one is somebody else's.
func given(m map[rune]struct{}, r rune) {
	m[r] = struct{}{} // cost: runtime.mapassign_fast32; want
}

func main() {
	hard()
	a, b := newNode(), newNode()
	a.connect(b)
	a.connect(b)
	b.connect(b)
	m := map[rune]struct{}{}
	given(m, 'x')
	fmt.Println(sets(3), words(nil), a.count(), b.count(), a.seen, without([]uint8{1, 1, 3}), len(m))
}
