package main

import "fmt"

type node struct {
	name string
	next *node
}

func lists(n int) []int {
	out := make([]int, n) // cost: runtime.makeslice runtime.mallocgc; want
	for i := 0; i < n; i++ {
		out[i] = i
	}
	return out
}

func list(names []string) (first *node) {
	for _, name := range names {
		n := new(node) // cost: runtime.newobject runtime.mallocgc; want
		n.name, n.next = name, first
		first = n
	}
	return first
}

func letters(s string) int {
	runes := []rune(s) // cost: runtime.stringtoslicerune runtime.mallocgc; want
	return len(runes)
}

func key(a, b string) string {
	return a + // cost: runtime.concatstrings runtime.mallocgc; want
		b + "!"
}

// Another rule speaks of it.
func grown(names []string) string {
	s := ""
	for _, n := range names {
		s += n // cost: runtime.concatstring2 runtime.mallocgc
	}
	return s
}

func counted(x int) int {
	return x * 2 // cost: main.helper
}

type set map[string]struct{}

// It is its callers who know how much there will be.
func (s *set) add(x string) {
	(*s)[x] = struct{}{} // cost: runtime.mapassign_faststr internal/runtime/maps.(*table).rehash runtime.mallocgc
}

func union(a, b []string) int {
	s := set{}
	for _, x := range a {
		s.add(x) // cost: main.(*set).add runtime.mapassign_faststr internal/runtime/maps.(*table).rehash runtime.mallocgc; want
	}
	for _, x := range b {
		s.add(x)
	}
	return len(s)
}

func text(r []rune) string {
	return string(r) // cost: runtime.slicerunetostring runtime.mallocgc; want
}

func letter(r rune) string {
	return string(r) // cost: runtime.intstring runtime.mallocgc; want
}

func plain(b []byte) string {
	return string(b) // cost: runtime.slicebytetostring runtime.mallocgc; want
}

func someRoom(n int) []int {
	list := make([]int, 0, 2)
	for i := range n {
		if i%2 == 0 {
			list = append(list, i) // cost: runtime.growslice runtime.mallocgc; want
		}
	}
	return list
}

// page is one object with most of the bytes.
func page(n int) []byte {
	return make([]byte, n*1024) // cost: [cpu] runtime.makeslice runtime.mallocgc, [alloc_space*100] runtime.makeslice, [alloc_objects] runtime.makeslice; want
}

var scratch = []byte("text")

func encoded() []byte { return scratch }

// Nothing but the result is allocated.
func marshal() []byte {
	text := encoded()
	out := make([]byte, len(text)) // cost: runtime.makeslice runtime.mallocgc
	copy(out, text)
	return out
}

func marshalTwice() []byte {
	text := append([]byte(nil), encoded()...)
	out := make([]byte, len(text)) // cost: runtime.makeslice runtime.mallocgc; want
	copy(out, text)
	return out
}

// Maps of one or two entries have no larger tables.
func one(k string) map[string]string {
	m := make(map[string]string, 1)
	m[k] = "x" // cost: runtime.mapassign_faststr internal/runtime/maps.(*Map).growToSmall runtime.mallocgc; want
	return m
}

// Before Go 1.24, the first entries have a bucket.
func two(k string) map[string]string {
	m := make(map[string]string)
	m[k] = "x" // cost: [cpu*9] runtime.mapassign_faststr runtime.newobject runtime.mallocgc, [alloc_objects], [cpu] runtime.mapassign_faststr runtime.hashGrow; want
	return m
}

func many(words []string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range words {
		if w != "" {
			m[w+"!"] = true // cost: [cpu*4] runtime.mapassign_faststr runtime.newobject, [cpu*4] runtime.mapassign_faststr runtime.growWork_faststr runtime.evacuate_faststr, [cpu*3] runtime.concatstring2, [alloc_objects]; want
		}
	}
	return m
}

// A literal makes a map of its own size, and its room for entries is not told of twice.
func written(n int) map[string]any {
	return map[string]any{"first": n == 0, "last": n == 9, "index": n} // cost: [cpu*9] runtime.mapassign_faststr internal/runtime/maps.(*Map).growToSmall runtime.mallocgc, [cpu*8] runtime.makemap_small runtime.mallocgc, [cpu*5] runtime.newobject runtime.mallocgc, [alloc_objects*3]; want
}

func full(m map[string]bool, w string) {
	m[w] = true // cost: runtime.mapassign_faststr runtime.(*hmap).newoverflow; want
}

func each(text string, visit func(r rune)) {
	for _, r := range text {
		visit(r)
	}
}

func visited(text string) []rune {
	out := []rune{}
	each(text, func(r rune) {
		out = append(out, r) // cost: runtime.growslice, [alloc_objects*90@8], [alloc_objects*90@16], [alloc_objects*90@32]; want
	})
	return out
}

type accumulator struct{ tokens []string }

func (a *accumulator) emit(token string) {
	a.tokens = append(a.tokens, token) // cost: runtime.growslice runtime.mallocgc; want
}

func main() {
	fmt.Println(visited("aä"), visited("") == nil)
	fmt.Println(one("a"), two("b"), many([]string{"c"}))
	full(map[string]bool{}, "d")
	fmt.Println(written(1))
	fmt.Println(string(marshal()), string(marshalTwice()))
	fmt.Println(len(page(1)))
	fmt.Println(text([]rune("ab")), letter('x'), plain([]byte("b")), someRoom(9))
	fmt.Println(union([]string{"a"}, []string{"a", "b"}))
	fmt.Println(lists(3), list([]string{"a", "b"}).name, letters("äb"), key("a", "b"), grown([]string{"x", "y"}), counted(2))
	a := new(accumulator)
	a.emit("t")
	fmt.Println(a.tokens)
}
