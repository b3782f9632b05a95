package main

import "fmt"

type loop struct{ header, parent int }

func newLoop(header int) *loop {
	return &loop{header: header} // cost: [alloc_objects*3000] runtime.newobject; want
}

type list[T any] struct {
	v    T
	next *list[T]
}

func (l *list[T]) push(v T) *list[T] {
	return &list[T]{v, l} // cost: [alloc_objects*3000] runtime.newobject; want
}

func main() {
	var l *list[int]
	fmt.Println(newLoop(1).header, l.push(1).v)
}
