package main

import (
	"fmt"
	"reflect"
)

func length(v any) int {
	return reflect.ValueOf(v).Len() // cost: reflect.Value.Len; want
}

// What costs is the function that is called, and not package reflect.
func called(f any) {
	reflect.ValueOf(f).Call(nil) // cost: reflect.Value.Call reflect.Value.call main.work
}

func calledOften(f any) {
	reflect.ValueOf(f).Call(nil) // cost: reflect.Value.Call reflect.Value.call reflect.funcLayout sync.(*Pool).Get; want
}

func work() { fmt.Println("work") }

// made is of a type that is only known when the program runs.
func made(t reflect.Type) any {
	return reflect.New(t).Interface() // cost: reflect.New
}

func madeKnown(p point) any {
	return reflect.New(reflect.TypeOf(p)).Interface() // cost: reflect.New; want
}

type point struct {
	x, y int
	name string
}

type odd struct {
	x int
	_ int
}

type points []point

func sameList(a, b []int64) bool {
	return reflect.DeepEqual(a, b) // cost: reflect.DeepEqual; want
}

func otherBytes(a, b []byte) bool {
	return !reflect.DeepEqual(a, b) // cost: reflect.DeepEqual; want
}

func samePoints(a, b points) string {
	if reflect.DeepEqual(a, b) && len(a) < 5 { // cost: reflect.DeepEqual; want
		return "same"
	}
	return "other"
}

func sameMap(a, b map[string]point) bool {
	return reflect.DeepEqual(a, b) // cost: reflect.DeepEqual; want
}

func samePoint(a, b point) bool {
	return reflect.DeepEqual(a, b) // cost: reflect.DeepEqual; want
}

func sameMade(of func() []string, b []string) bool {
	return reflect.DeepEqual(of(), b) // cost: reflect.DeepEqual; want
}

// DeepEqual says of a list with a NaN that it is like itself, and follows pointers.
func sameFloats(a, b []float64) bool {
	return reflect.DeepEqual(a, b) // cost: reflect.DeepEqual; want
}

func samePointers(a, b *point) bool {
	return reflect.DeepEqual(a, b) // cost: reflect.DeepEqual; want
}

func sameOdd(a, b odd) bool {
	return reflect.DeepEqual(a, b) // cost: reflect.DeepEqual; want
}

func sameAny(a any, b []int) bool {
	return reflect.DeepEqual(a, b) // cost: reflect.DeepEqual; want
}

func equalLists() int { return 1 }

func compare() {
	for _, a := range [][]int64{nil, {}, {1}, {1, 2}} {
		for _, b := range [][]int64{nil, {}, {1}, {2, 1}} {
			fmt.Println(sameList(a, b))
		}
	}
	for _, a := range [][]byte{nil, {}, {1}} {
		for _, b := range [][]byte{nil, {}, {1}} {
			fmt.Println(otherBytes(a, b))
		}
	}
	for _, a := range []points{nil, {}, {{1, 2, "a"}}, {{1, 2, "b"}}} {
		for _, b := range []points{nil, {}, {{1, 2, "a"}}} {
			fmt.Println(samePoints(a, b))
		}
	}
	for _, a := range []map[string]point{nil, {}, {"a": {}}} {
		for _, b := range []map[string]point{nil, {}, {"a": {}}, {"a": {x: 1}}, {"b": {}}} {
			fmt.Println(sameMap(a, b))
		}
	}
	fmt.Println(samePoint(point{1, 2, "a"}, point{1, 2, "a"}), samePoint(point{1, 2, "a"}, point{1, 2, "b"}))
	for _, a := range [][]string{nil, {}, {"a"}} {
		for _, b := range [][]string{nil, {}, {"a"}} {
			fmt.Println(sameMade(func() []string { return a }, b))
		}
	}
	fmt.Println(sameFloats(nil, nil), samePointers(&point{}, &point{}), sameOdd(odd{}, odd{}), sameAny([]int{}, []int{}), equalLists())
}

func main() {
	hard()
	fmt.Println(made(reflect.TypeFor[int]()) != nil, madeKnown(point{}) != nil)
	fmt.Println(length("abc"))
	compare()
}

// Elements are compared as what they are.
func sameInts(a, b []int64) bool {
	for i := range a {
		if a[i] != b[i] { // cost: [cpu]
			return false
		}
	}
	return len(a) == len(b)
}
