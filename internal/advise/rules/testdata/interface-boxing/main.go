package main

import "fmt"

type pair struct{ a, b int }

func take(v any) bool { return v != nil }

func give(n int, p *pair) bool {
	return take(n) && // cost: runtime.convT64 runtime.mallocgc; want
		take(p) // cost:
}

func main() { fmt.Println(give(1000, &pair{})) }
