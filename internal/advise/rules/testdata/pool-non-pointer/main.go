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

func main() { fmt.Println(use("x")) }

var pointers = sync.Pool{New: func() any { return new([]byte) }}

// A pointer needs no memory to be in an interface.
func usePointer(s string) int {
	b := pointers.Get().(*[]byte)
	*b = append((*b)[:0], s...)
	n := len(*b)
	pointers.Put(b) // cost: [cpu] sync.(*Pool).Put
	return n
}
