package main

import (
	"fmt"
	"sync"
)

type pair struct{ a, b int }

func take(v any) bool { return v != nil }

func give(n int, p *pair) bool {
	return take(n) && // cost: runtime.convT64 runtime.mallocgc; want
		take(p) // cost:
}

func listed(list []any, n int) []any {
	return append(list, n) // cost: runtime.convT64 runtime.mallocgc; want
}

func without(set map[any]bool, n int) int {
	delete(set, n) // cost: runtime.convT64 runtime.mallocgc
	return len(set)
}

func main() { fmt.Println(give(1000, &pair{}), listed(nil, 2), without(map[any]bool{2: true}, 2)) }

// pool-non-pointer speaks of this.
func pooled(pool *sync.Pool, b []byte) {
	pool.Put(b) // cost: runtime.convTslice runtime.mallocgc
}

// A pointer needs no memory to be in an interface.
func givePointer(p *pair) bool {
	return take(p) // cost: [alloc_space]
}
