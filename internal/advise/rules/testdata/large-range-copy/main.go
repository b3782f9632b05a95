package main

import "fmt"

type large struct {
	name string
	n    int
	rest [20]int
}

func sum(list []large) (n int) {
	for _, x := range list { // cost: [cpu] runtime.duffcopy; want
		n += x.n + len(x.name)
	}
	return n
}

func changed(list []large) (n int) {
	for i, x := range list { // cost: [cpu] runtime.duffcopy; want
		list[i].n++
		n += x.n
	}
	return n
}

func dropped(list []large) (n int) {
	for _, x := range list { // cost: [cpu] runtime.duffcopy; want
		list = nil
		n += x.n
	}
	return n
}

func main() {
	list := []large{{name: "a", n: 1}, {n: 2}}
	fmt.Println(sum(list), changed(list), sum(list), sum(nil), dropped(list))
}

// Nothing is copied.
func byIndex(list []large) (n int) {
	for i := range list { // cost: [cpu]
		n += list[i].n
	}
	return n
}
