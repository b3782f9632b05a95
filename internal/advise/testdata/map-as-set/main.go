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

func main() { fmt.Println(sets(3), words(nil)) }
