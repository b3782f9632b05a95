package main

import "fmt"

type set[T comparable] map[T]struct{}

func newSet[T comparable]() *set[T] {
	s := make(set[T])
	return &s
}

func newSetWithSize[T comparable](size int) *set[T] {
	s := make(set[T], size)
	return &s
}

func (s *set[T]) add(v T) { (*s)[v] = struct{}{} }

func (s *set[T]) has(v T) bool { _, ok := (*s)[v]; return ok }

func (s *set[T]) without(other *set[T]) *set[T] {
	out := newSet[T]()
	for v := range *s {
		if !other.has(v) {
			out.add(v) // cost: main.(*set[...]).add runtime.mapassign internal/runtime/maps.(*table).grow; want
		}
	}
	return out
}

func of(list []string) *set[string] {
	out := newSet[string]()
	n := len(list)
	for _, v := range list {
		out.add(v) // cost: main.(*set[...]).add runtime.mapassign internal/runtime/maps.(*table).grow; want
	}
	if n != len(list) {
		panic(n)
	}
	return out
}

func (s *set[T]) clear() { clear(*s) }

// A small set is cleared again and again.
func groups(list []string) (n int) {
	out := newSet[string]()
	for _, v := range list {
		out.add(v) // cost: main.(*set[...]).add runtime.mapassign internal/runtime/maps.(*table).grow; want
		if v == "" {
			n += len(*out)
			out.clear()
		}
	}
	return n
}

// upTo is not known to end.
func upTo(c chan int) *set[int] {
	out := newSet[int]()
	for v := range c {
		out.add(v) // cost: main.(*set[...]).add runtime.mapassign internal/runtime/maps.(*table).grow; want
	}
	return out
}

type list struct{ all []int }

func newList() *list { return &list{} }

func (l *list) add(v int) { l.all = append(l.all, v) }

// listOf calls a function that has no such twin.
func listOf(in []int) *list {
	out := newList()
	for _, v := range in {
		out.add(v) // cost: main.(*list).add runtime.growslice
	}
	return out
}

func main() {
	hard()
	fmt.Println(groups([]string{"a", "", "b"}))
	a, b := of([]string{"a", "b", "c"}), of([]string{"b"})
	c := make(chan int, 2)
	c <- 1
	c <- 1
	close(c)
	fmt.Println(len(*a.without(b)), len(*upTo(c)), listOf([]int{1, 2}).all)
}
