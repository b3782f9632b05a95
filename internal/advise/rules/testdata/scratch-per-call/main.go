package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
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

type bus struct{ handlers map[string][]func(int) int }

// publish calls what there was before the first call.
func (b *bus) publish(topic string) (n int) {
	handlers := b.handlers[topic]
	all := make([]func(int) int, len(handlers)) // cost: runtime.makeslice runtime.mallocgc; want
	copy(all, handlers)                         // as they are now
	for i := range all {
		n += all[i](i)
	}
	return n
}

// half copies another list.
func half(list, other []int) (n int) {
	all := make([]int, len(list)) // cost: runtime.makeslice runtime.mallocgc; want
	copy(all, other)
	for _, v := range all {
		n += v
	}
	return n
}

// sums takes so much that both the stack and a pool have room for it.
func sums(list []int) int {
	sum := make([]int, len(list)) // cost: [alloc_space*200] runtime.makeslice runtime.mallocgc, [alloc_objects] runtime.makeslice runtime.mallocgc; want
	for i, x := range list {
		sum[i] = x
		if i > 0 {
			sum[i] += sum[i-1]
		}
	}
	return sum[len(sum)-1]
}

// table takes too much for the stack.
func table(a, b string) (n int) {
	last := make([]int, len(b)+1) // cost: [alloc_space*900] runtime.makeslice runtime.mallocgc, [alloc_objects] runtime.makeslice runtime.mallocgc; want
	for i := range a {
		for j := range b {
			if a[i] == b[j] {
				last[j+1]++
			}
			n = max(n, last[j]+last[j+1])
		}
	}
	return n
}

func walk(next map[string][]string, from string) (n int) {
	seen := make(map[string]bool)        // cost: [alloc_space*900] runtime.makemap_small runtime.mallocgc, [alloc_objects] runtime.makemap_small runtime.mallocgc
	todo := make([]string, 0, len(next)) // cost: [alloc_space*950] runtime.makeslice runtime.mallocgc, [alloc_objects] runtime.makeslice runtime.mallocgc; want
	todo = append(todo, from)
	for len(todo) > 0 {
		x := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !seen[x] {
			seen[x] = true
			n++
			todo = append(todo, next[x]...)
		}
	}
	return n
}

func states(list []string) int {
	seen := make(map[string]int, len(list)) // cost: [alloc_space*900] runtime.makemap runtime.mallocgc, [alloc_objects] runtime.makemap runtime.mallocgc; want
	for i, s := range list {
		seen[s] += i
	}
	return len(seen)
}

func kept(size int) []bool {
	list := make([]bool, size) // cost: runtime.makeslice runtime.mallocgc
	return list
}

func main() {
	hard()
	b := &bus{map[string][]func(int) int{}}
	add := func(i int) int { b.handlers["a"][0] = nil; return i + 1 }
	b.handlers["a"] = []func(int) int{add, add, add}
	fmt.Println(b.publish("a"), b.publish("b"), half([]int{1, 2, 3}, []int{4}), half(nil, []int{4}))
	fmt.Println(sums([]int{1, 2}))
	reversed([]int{1, 2}, 2)
	x := handedOn([]string{"a"}, 1)
	byMethod(x, 3)
	fmt.Println(x.rows, x.list, appended("a", nil), named(4), alias(4), declaredAlias(1), converted(1), trimmed(" a "), *address(1), started(2), returnedByCallee(3))
	for i, n := range throughIterator(1) {
		fmt.Println(i, n)
	}
	for range 2 {
		fmt.Println(table("abcab", "cab"), table("a", "abcdefgh"), table("abcdefgh", "b"))
		fmt.Println(walk(map[string][]string{"a": {"b", "c"}, "b": {"a"}}, "a"), walk(nil, "b"), states([]string{"x", "y", "x"}), states([]string{"z"}))
	}
	fmt.Println(inside([][]int{{1}, {0}, nil}, 3))
	fmt.Println(count([][]int{{1}, {0}, nil}, 3), len(kept(2)))
	fmt.Println(distance("kitten", "sitting"), distance("", "ab"), distance(strings.Repeat("abc", 50), strings.Repeat("acb", 40)))
}

type index struct {
	rows map[string]int
	list []int
}

func newIndex(rows map[string]int) *index { return &index{rows: rows} }

// What is handed on is kept.
func handedOn(names []string, n int) *index {
	rows := make(map[string]int, n) // cost: runtime.makemap runtime.mallocgc
	for i, name := range names {
		rows[name] = i
	}
	return newIndex(rows)
}

func (x *index) set(list []int) { x.list = list }

func byMethod(x *index, n int) {
	list := make([]int, n) // cost: runtime.makeslice runtime.mallocgc
	x.set(list)
}

// What is appended to it is returned with it.
func appended(prefix string, rest []byte) []byte {
	out := make([]byte, len(prefix), len(prefix)+len(rest)) // cost: runtime.makeslice runtime.mallocgc
	copy(out, prefix)
	return append(out, rest...)
}

func named(n int) (out []int) {
	list := make([]int, n) // cost: runtime.makeslice runtime.mallocgc
	out = list[:n/2]
	return
}

func alias(n int) []int {
	list := make([]int, n) // cost: runtime.makeslice runtime.mallocgc
	half := list[:n/2]
	return half
}

func declaredAlias(n int) any {
	list := make([]int, n) // cost: runtime.makeslice runtime.mallocgc
	var all any = list
	return all
}

type numbers []int

func converted(n int) numbers {
	list := make([]int, n) // cost: runtime.makeslice runtime.mallocgc
	return numbers(list)
}

func trimmed(text string) []byte {
	b := make([]byte, len(text)) // cost: runtime.makeslice runtime.mallocgc
	copy(b, text)
	return bytes.TrimSpace(b)
}

func throughIterator(n int) func(func(int, int) bool) {
	list := make([]int, n) // cost: runtime.makeslice runtime.mallocgc
	return slices.All(list)
}

func address(n int) *int {
	list := make([]int, n) // cost: runtime.makeslice runtime.mallocgc
	return &list[0]
}

func worker(list []int, done chan<- int) { done <- len(list) }

func started(n int) int {
	list := make([]int, n)    // cost: runtime.makeslice runtime.mallocgc
	done := make(chan int, n) // cost: runtime.makechan runtime.mallocgc
	go worker(list, done)
	return <-done
}

func grown(list []int, x int) []int { return append(list, x) }

func returnedByCallee(n int) []int {
	list := make([]int, 0, n) // cost: runtime.makeslice runtime.mallocgc
	list = grown(list, n)
	more := grown(list, 1)
	return more
}

// These stay: they are sorted, counted, copied, walked over by functions that keep nothing.
func total(list []int) (sum int) {
	for _, x := range list {
		sum += x
	}
	return sum
}

func visit(edges [][]int, seen []bool, at int) int {
	if seen[at] {
		return 0
	}
	seen[at] = true
	n := 1
	for _, to := range edges[at] {
		n += visit(edges, seen, to)
	}
	return n
}

func inside(edges [][]int, n int) (int, string) {
	seen := make([]bool, n)          // cost: runtime.makeslice runtime.mallocgc; want
	list := make([]int, 0, n)        // cost: runtime.makeslice runtime.mallocgc
	names := make(map[int]string, n) // cost: runtime.makemap runtime.mallocgc
	counted := visit(edges, seen, 0)
	for i := range n {
		list = grown(list, n-i)
		names[i] = strings.Repeat("x", i)
	}
	slices.Sort(list)
	best := slices.Max(list)
	keys := slices.Sorted(maps.Keys(names))
	return counted + total(list) + best, names[keys[1]]
}
