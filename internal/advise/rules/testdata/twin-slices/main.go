package main

import "fmt"

type point []float64

type box struct{ p, q point }

func around(p point) box {
	dim := len(p)
	var b box
	b.p = make([]float64, dim) // cost: runtime.makeslice runtime.mallocgc; want
	b.q = make([]float64, dim) // cost: runtime.makeslice runtime.mallocgc
	for i := range p {
		b.p[i], b.q[i] = p[i]-1, p[i]+1
	}
	return b
}

func twoOnALine(n int) (x, y []int) {
	a, b := make([]int, n+1), make([]int, n+1) // cost: runtime.makeslice runtime.mallocgc; want
	a[n], b[0] = 1, 2
	return append(a, 3), append(b, 4)
}

func literal(n int) *box {
	return &box{
		p: make(point, n), // cost: runtime.makeslice runtime.mallocgc; want
		q: make(point, n), // cost: runtime.makeslice runtime.mallocgc
	}
}

func declared(list []string) ([]string, []string) {
	names := make([]string, len(list))  // cost: runtime.makeslice runtime.mallocgc; want
	values := make([]string, len(list)) // cost: runtime.makeslice runtime.mallocgc
	for i, s := range list {
		names[i], values[i] = s, s+s
	}
	return names, values
}

// The second has the length of the first.
func shorter(a []int) ([]int, []int) {
	a = make([]int, len(a))  // cost: runtime.makeslice runtime.mallocgc
	b := make([]int, len(a)) // cost: runtime.makeslice runtime.mallocgc
	return a, b
}

func otherTypes(n int) ([]int, []uint) {
	a := make([]int, n)  // cost: runtime.makeslice runtime.mallocgc
	b := make([]uint, n) // cost: runtime.makeslice runtime.mallocgc
	return a, b
}

// Twice a byte may be less than that.
func small(n uint8) ([]int, []int) {
	a := make([]int, n) // cost: runtime.makeslice runtime.mallocgc
	b := make([]int, n) // cost: runtime.makeslice runtime.mallocgc
	return a, b
}

func next() int { count++; return count }

var count int

func counted() ([]int, []int) {
	a := make([]int, next()) // cost: runtime.makeslice runtime.mallocgc
	b := make([]int, next()) // cost: runtime.makeslice runtime.mallocgc
	return a, b
}

// Only one of them is on the heap.
func onStack(n int) []int {
	a := make([]int, n) // cost: runtime.makeslice runtime.mallocgc
	b := make([]int, n)
	copy(b, a)
	return a
}

func panics(n int) (text any) {
	defer func() { text = recover() }()
	twoOnALine(n)
	return nil
}

func main() {
	fmt.Println(around(point{1, 2, 3}), around(nil).p == nil)
	x, y := twoOnALine(2)
	fmt.Println(x, y, cap(around(point{1}).p))
	fmt.Println(*literal(2), literal(0).p == nil)
	fmt.Println(declared([]string{"a", "b"}))
	fmt.Println(shorter([]int{1}))
	fmt.Println(otherTypes(1))
	fmt.Println(small(2))
	fmt.Println(counted())
	fmt.Println(onStack(1), panics(-5), panics(1<<62))
	more()
}

// One of them is on the stack.
func fixed(i int) ([]int, int) {
	a, b := make([]int, 4), make([]int, 4) // cost: runtime.makeslice runtime.mallocgc
	b[i] = 1
	return a, b[0]
}

type sized struct {
	list []int
	n    int
}

type pair struct {
	in   sized
	rest []int
}

// The second length is that of the new struct.
func replaced(p *pair) {
	p.in = sized{list: make([]int, p.in.n), n: 7} // cost: runtime.makeslice runtime.mallocgc
	p.rest = make([]int, p.in.n)                  // cost: runtime.makeslice runtime.mallocgc
}

func replacedByName(s sized) ([]int, []int) {
	p := &s
	s = sized{list: make([]int, p.n), n: 2} // cost: runtime.makeslice runtime.mallocgc
	rest := make([]int, p.n)                // cost: runtime.makeslice runtime.mallocgc
	return p.list, rest
}

// What is returned would keep the memory of both.
func oneStays(list []int) []int {
	seen := make([]bool, len(list)) // cost: runtime.makeslice runtime.mallocgc; want
	odd := make([]bool, len(list))  // cost: runtime.makeslice runtime.mallocgc
	for i, n := range list {
		seen[i], odd[i] = n > 0, n%2 == 1
	}
	flags = odd
	return list[:len(seen)]
}

var flags []bool

// Both patches declare a variable.
func four(n int) (a, b []int, c, d []string) {
	a = make([]int, n)    // cost: runtime.makeslice runtime.mallocgc; want
	b = make([]int, n)    // cost: runtime.makeslice runtime.mallocgc
	c = make([]string, n) // cost: runtime.makeslice runtime.mallocgc; want
	d = make([]string, n) // cost: runtime.makeslice runtime.mallocgc
	return a, b, c, d
}

func more() {
	p := &pair{in: sized{n: 3}}
	replaced(p)
	fmt.Println(len(p.in.list), len(p.rest))
	a, b := replacedByName(sized{n: 3})
	fmt.Println(len(a), len(b), oneStays([]int{1, 2}), flags)
	fmt.Println(four(2))
}
