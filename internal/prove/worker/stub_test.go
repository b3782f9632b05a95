package worker

import (
	"container/list"
	"reflect"
	"testing"
)

// TestOrder holds that functions which sort compare values by what they hold, and come to an end where values lead around in a circle.
func TestOrder(t *testing.T) {
	type node struct {
		next *node
		name string
		any  any
	}
	ring := func(name string, far string) *node {
		n := &node{name: name, next: &node{name: far}}
		n.next.next = n
		return n
	}
	l := list.New()
	first, second, again := l.PushBack(1), l.PushBack(2), list.New().PushBack(1)
	tests := []struct {
		name string
		a, b any
		want int
	}{
		{"numbers", 1, 2, -1},
		{"texts", "b", "a", 1},
		{"plain fields first", ring("b", "a"), ring("a", "b"), 1},
		{"what is behind a pointer", ring("a", "a"), ring("a", "b"), -1},
		{"equal circles", ring("a", "b"), ring("a", "b"), 0},
		{"elements of a list", first, second, -1},
		{"elements of two lists", second, again, 1},
		{"other types", node{any: 1}, node{any: "a"}, -1},
		{"nil", node{}, node{any: "a"}, 0},
	}
	for _, tt := range tests {
		if got := order(reflect.ValueOf(tt.a), reflect.ValueOf(tt.b), 0); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
	less := (&Run{table: &Table{}, places: places{Source: &Source{}}}).stub(reflect.TypeFor[func(a, b *list.Element) bool](), 2)
	if !less.Call([]reflect.Value{reflect.ValueOf(first), reflect.ValueOf(second)})[0].Bool() {
		t.Error("an element is not less than the next one")
	}
}
