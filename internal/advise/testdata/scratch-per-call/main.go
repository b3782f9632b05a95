package main

import (
	"fmt"
	"strings"
)

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

func reversed[T any](list []T, size int) {
	back := make([]T, size) // cost: runtime.makeslice runtime.mallocgc; want
	for i := range back {
		back[i] = list[len(list)-1-i]
	}
	copy(list, back)
}

// Rows of a table are never longer than the text.
func distance(a, b string) int {
	row := make([]uint16, len(a)+1) // cost: runtime.makeslice runtime.mallocgc; want
	for i := range row {
		row[i] = uint16(i)
	}
	for j := 1; j <= len(b); j++ {
		last := uint16(j)
		for i := 1; i <= len(a); i++ {
			now := row[i-1]
			if a[i-1] != b[j-1] {
				now = min(row[i-1], row[i], last) + 1
			}
			row[i-1], last = last, now
		}
		row[len(a)] = last
	}
	return int(row[len(a)])
}

func kept(size int) []bool {
	list := make([]bool, size) // cost: runtime.makeslice runtime.mallocgc
	return list
}

func main() {
	reversed([]int{1, 2}, 2)
	fmt.Println(count([][]int{{1}, {0}, nil}, 3), len(kept(2)))
	fmt.Println(distance("kitten", "sitting"), distance("", "ab"), distance(strings.Repeat("abc", 50), strings.Repeat("acb", 40)))
}
