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
