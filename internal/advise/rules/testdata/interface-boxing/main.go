package main

import "fmt"

type pair struct{ a, b int }

func take(v any) bool { return v != nil }

func give(n int, p *pair) bool {
	return take(n) && // cost: runtime.convT64 runtime.mallocgc; want
		take(p) // cost:
}

func main() { fmt.Println(give(1000, &pair{})) }

// A pointer needs no memory to be in an interface.
func givePointer(p *pair) bool {
	return take(p) // cost: [alloc_space]
}
