package main

import (
	"fmt"
	"slices"
	"strings"
)

type kind struct {
	name string
	size int
}

func month(n int) string {
	months := map[int]string{ // cost: runtime.makemap_small; want
		1: "January",
		2: "February",
	}
	if m, ok := months[n]; ok {
		return m
	}
	return "none"
}

func known(s string) bool {
	return slices.Contains([]string{"a", "b", "c"}, s) // cost: runtime.newobject; want
}

func sizes(name string) (n int) {
	kinds := []kind{{"small", 1}, {"large", 100}} // cost: runtime.newobject; want
	for _, k := range kinds {
		if k.name == name {
			n += k.size
		}
	}
	return n + count(kinds)
}

func count(list []kind) int {
	n := len(list)
	for i := range list {
		n += list[i].size
	}
	return n
}

// words are changed by some callers.
func words() []string {
	list := []string{"x", "y"} // cost: runtime.newobject; want
	return list
}

func shuffled() string {
	list := []string{"x", "y", "z"} // cost: runtime.newobject; want
	slices.Reverse(list)
	return strings.Join(list, "")
}

// raised changes a part of an element.
func raised(by int) (n int) {
	kinds := []kind{{"small", 1}, {"large", 100}} // cost: runtime.newobject; want
	kinds[0].size += by
	for _, k := range kinds {
		n += k.size
	}
	return n
}

// groups leads to lists that others could change.
func groups(k string) []int {
	m := map[string][]int{"a": {1, 2}} // cost: runtime.makemap_small; want
	return m[k]
}

// kept is there to be changed by who gets it.
func kept() []string {
	return []string{"x"} // cost: runtime.newobject
}

// counted changes what an element points at.
func counted() (n int) {
	list := []*kind{{"a", 1}, {"b", 2}} // cost: runtime.newobject; want
	for _, k := range list {
		k.size++
		n += k.size
	}
	return n
}

// marked changes a list in the map.
func marked() int {
	m := map[string][]int{"a": {1, 2}} // cost: runtime.makemap_small; want
	m["a"][0]++
	return m["a"][0]
}

func pointed() *int {
	list := []int{1, 2} // cost: runtime.newobject; want
	return &list[0]
}

// A lamp is shown before the program starts.
type lamp int

var lit = fmt.Sprint(lamp(1))

func (l lamp) String() string {
	names := map[lamp]string{0: "off", 1: "on"} // cost: runtime.makemap_small; want
	return names[l]
}

func main() {
	fmt.Println(lit != "?")
	*pointed()++
	fmt.Println(counted(), counted(), marked(), marked(), *pointed())
	w := words()
	kept()[0] = "changed"
	w[0] = "changed"
	fmt.Println(month(1), month(3), known("b"), known("d"), sizes("large"), w, words(), shuffled(), raised(1), raised(1), kept(), groups("a"))
}
