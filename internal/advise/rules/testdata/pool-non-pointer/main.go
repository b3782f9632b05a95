package main

import (
	"fmt"
	"sync"
)

var pool = sync.Pool{New: func() any { return make([]byte, 0, 64) }}

func use(s string) int {
	b := pool.Get().([]byte)
	b = append(b[:0], s...)
	n := len(b)
	pool.Put(b) // cost: runtime.convTslice runtime.mallocgc; want
	return n
}

func main() {
	fmt.Println(use("x"))
	more()
	puts()
}

var pointers = sync.Pool{New: func() any { return new([]byte) }}

// A pointer needs no memory to be in an interface.
func usePointer(s string) int {
	b := pointers.Get().(*[]byte)
	*b = append((*b)[:0], s...)
	n := len(*b)
	pointers.Put(b) // cost: [cpu] sync.(*Pool).Put
	return n
}

var lists = sync.Pool{
	New: func() any {
		return make([]int, 0, 8)
	},
}

func sum(list []int, twice bool) int {
	part := lists.Get().([]int)[:0]
	for _, n := range list {
		part = append(part, n, n)
	}
	all := 0
	for _, n := range part {
		all += n
	}
	if twice {
		lists.Put(part) // cost: runtime.convTslice runtime.mallocgc; want
		return 2 * all
	}
	lists.Put(part[:0]) // cost: runtime.convTslice runtime.mallocgc
	return all
}

func deferred(n int) int {
	list := lists.Get().([]int)
	defer func() {
		lists.Put(list)
	}()
	list = append(list[:0], n)
	return len(list)
}

var handed = sync.Pool{New: func() any { return make([]byte, 8) }}

func take() []byte { return handed.Get().([]byte) }

func give(b []byte) {
	handed.Put(b) // cost: runtime.convTslice runtime.mallocgc; want
}

func more() {
	b := take()
	give(b)
	fmt.Println(sum([]int{1, 2}, true), sum([]int{3}, false), sum(nil, false), deferred(1), len(b), usePointer("y"))
}

// Each of the arrays that it puts needs a pointer of its own.
func putsTwice(s string) int {
	buf := several.Get().([]byte)[:0]
	buf = append(buf, s...)
	several.Put(buf) // cost: runtime.convTslice runtime.mallocgc; want
	buf = make([]byte, 0, 8)
	several.Put(buf) // cost: runtime.convTslice runtime.mallocgc
	return len(s)
}

var several = sync.Pool{New: func() any { return make([]byte, 0, 4) }}

// One pointer must not be put for each element.
func putsInLoop(n int) (sum int) {
	p := pairs.Get().(pair)
	defer func() {
		for i := 0; i < n; i++ {
			pairs.Put(p) // cost: runtime.convT runtime.mallocgc; want
		}
	}()
	p.a++
	return p.a + p.b
}

type pair struct{ a, b int }

var pairs = sync.Pool{New: func() any { return pair{} }}

// Only one Put of each path is reached.
func putsOnce(list []string) (n int) {
	for _, s := range list {
		buf := once.Get().([]byte)[:0]
		if s == "" {
			once.Put(buf) // cost: runtime.convTslice runtime.mallocgc; want
			continue
		}
		buf = append(buf, s...)
		if n += len(buf); n > 5 {
			once.Put(buf) // cost: runtime.convTslice runtime.mallocgc
			return n
		}
		switch len(s) {
		case 1:
			once.Put(buf) // cost: runtime.convTslice runtime.mallocgc
		default:
			once.Put(buf[:cap(buf)]) // cost: runtime.convTslice runtime.mallocgc
		}
	}
	return n
}

var once = sync.Pool{New: func() any {
	// enough for most of them
	return make([]byte, 0, 16)
}}

// The second Put is reached from the first.
func putsAndBreaks(list []string) (n int) {
	buf := broken.Get().([]byte)[:0]
	switch {
	case len(list) > 1:
		broken.Put(buf) // cost: runtime.convTslice runtime.mallocgc; want
		if list[0] == "" {
			break
		}
		return 1
	default:
		buf = append(buf, 'x')
	}
	broken.Put(buf) // cost: runtime.convTslice runtime.mallocgc
	return 2
}

var broken = sync.Pool{New: func() any { return make([]byte, 0, 16) }}

func puts() {
	fmt.Println(putsTwice("a"), putsInLoop(2), putsOnce([]string{"", "a", "bb", "ccc"}), putsAndBreaks(nil), putsAndBreaks([]string{"", ""}))
}
