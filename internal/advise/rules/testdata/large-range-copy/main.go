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

type block struct {
	data [64]int
	n    int
}

func (b *block) count() int { return b.n }

// cut is a part of the copy.
func cut(list []block) (part []int) {
	for _, x := range list { // cost: [cpu] runtime.duffcopy; want
		part = x.data[:2]
	}
	return part
}

// bound has the copy for its receiver.
func bound(list []block) (count func() int) {
	for _, x := range list { // cost: [cpu] runtime.duffcopy; want
		count = x.count
	}
	return count
}

// cleared changes the elements by another name.
func cleared() (n int) {
	all := [2]block{{n: 1}, {n: 2}}
	list := all[:]
	for _, x := range list { // cost: [cpu] runtime.duffcopy; want
		all = [2]block{}
		n += x.n
	}
	return n
}

// counting writes to the copy.
func counting(list []block) (n int) {
	for _, x := range list { // cost: [cpu] runtime.duffcopy; want
		for x.n = range 3 {
			n += x.n
		}
	}
	return n
}

func main() {
	blocks := []block{{n: 1}, {n: 2}}
	cut(blocks)[0] = 7
	count := bound(blocks)
	blocks[1].n = 5
	fmt.Println(blocks[1].data[0], count(), cleared(), counting(blocks), blocks[1].n)
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
