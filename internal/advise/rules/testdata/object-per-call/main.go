package main

import (
	"fmt"
	"sync"
)

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

type table struct{ cells [1024]int }

func newTable() *table {
	return &table{} // cost: [alloc_objects*3000] runtime.newobject; want
}

type encoder interface{ encode() int }

type (
	fast struct{ cells [1024]int }
	slow struct{ cells [2048]int }
)

func (f *fast) encode() int { return len(f.cells) }
func (s *slow) encode() int { return len(s.cells) }

// It is told once, for the one that costs more.
func newEncoder(level int) encoder {
	switch level {
	case 1:
		return &fast{} // cost: [alloc_objects*2000] runtime.newobject
	default:
		return &slow{} // cost: [alloc_objects*3000] runtime.newobject; want
	}
}

type buffer struct{ b []byte }

// newBuffer is called as often as the pool is empty.
func newBuffer() *buffer {
	return &buffer{make([]byte, 0, 64)} // cost: [alloc_objects*3000] runtime.newobject
}

var buffers = sync.Pool{New: func() any { return newBuffer() }}

type stack[T any] interface {
	push(v T)
	size() int
}

type slice[T any] struct{ list []T }

func (s *slice[T]) push(v T)  { s.list = append(s.list, v) }
func (s *slice[T]) size() int { return len(s.list) }

// Its callers do not keep the object.
func newStack[T any]() stack[T] {
	return &slice[T]{} // cost: [alloc_objects*3000] runtime.newobject; want
}

func depth(text string) int {
	s := newStack[rune]()
	for _, r := range text {
		s.push(r)
	}
	return s.size()
}

// They keep this one.
func newKept(level int) encoder {
	return &fast{} // cost: [alloc_objects*3000] runtime.newobject; want
}

var kept []encoder

func keep(level int) {
	e := newKept(level)
	kept = append(kept, e)
}

// Or give it another type.
func newAny() encoder {
	return &fast{} // cost: [alloc_objects*3000] runtime.newobject; want
}

func either(level int) int {
	e := newAny()
	if level > 1 {
		e = newEncoder(level)
	}
	return e.encode()
}

func once() int {
	e := newAny()
	return e.encode()
}

func main() {
	fmt.Println(inferred(), tested())
	keep(1)
	fmt.Println(depth("abc"), len(kept), either(2), once())
	fmt.Println(len(newTable().cells), cap(buffers.Get().(*buffer).b))
	fmt.Println(maker(1)(2).parent)
	fmt.Println(newEncoder(1).encode(), newEncoder(2).encode())
	var l *list[int]
	fmt.Println(newLoop(1).header, l.push(1).v)
}

// One now and then is what memory is for.
func seldom(header int) *loop {
	return &loop{header: header} // cost: [alloc_objects] runtime.newobject
}

// The type of a result may be an argument that nobody writes down.
func newInferred() encoder {
	return &fast{} // cost: [alloc_objects*3000] runtime.newobject; want
}

func inferred() string {
	e := newInferred()
	if e.encode() < 0 {
		return ""
	}
	return fmt.Sprintf("%T", listOf(newInferred()))
}

func listOf[T any](all ...T) []T { return all }

// A test gives its variable other objects.
func newTested() encoder {
	return &fast{} // cost: [alloc_objects*3000] runtime.newobject; want
}

func tested() int {
	e := newTested()
	return e.encode()
}
