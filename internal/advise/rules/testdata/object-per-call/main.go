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

// It is the literal that is called often.
func maker(parent int) func(int) *loop {
	return func(header int) *loop {
		return &loop{header, parent} // cost: [alloc_objects*3000] runtime.newobject; want
	}
}

func main() {
	fmt.Println(maker(1)(2).parent)
	var l *list[int]
	fmt.Println(newLoop(1).header, l.push(1).v)
}

// One now and then is what memory is for.
func seldom(header int) *loop {
	return &loop{header: header} // cost: [alloc_objects] runtime.newobject
}
