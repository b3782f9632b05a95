package main

import (
	"fmt"
	"sort"
)

type item struct {
	name string
	n    int
	f    float64
}

type byN []item

func (l byN) Len() int           { return len(l) }
func (l byN) Less(i, j int) bool { return l[i].n < l[j].n }
func (l byN) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }

type byName []item

func (b byName) Len() int           { return len(b) }
func (b byName) Less(x, y int) bool { return b[x].name < b[y].name }
func (b byName) Swap(x, y int)      { b[y], b[x] = b[x], b[y] }

func more(list []item) {
	sort.Stable(byName(list)) // cost: sort.Stable sort.stable; want
	sort.Sort(odd(list))      // cost: sort.Sort sort.pdqsort; want
	sort.Sort(first(list))    // cost: sort.Sort sort.pdqsort; want
}

type first []item // of which only two are looked at

func (f first) Len() int           { return min(2, len(f)) }
func (f first) Less(i, j int) bool { return f[i].n < f[j].n }
func (f first) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }

// These sort a field.
type table struct {
	list []item
	up   bool
}

func (t table) Len() int           { return len(t.list) }
func (t table) Less(i, j int) bool { return t.up && t.list[i].n < t.list[j].n }
func (t table) Swap(i, j int)      { t.list[i], t.list[j] = t.list[j], t.list[i] }

type tree struct{ list []item }

func (t *tree) Len() int           { return len(t.list) }
func (t *tree) Less(i, j int) bool { return t.list[i].n < t.list[j].n }
func (t *tree) Swap(i, j int)      { t.list[i], t.list[j] = t.list[j], t.list[i] }

func fields(list []item) {
	sort.Sort(table{list, true}) // cost: sort.Sort sort.pdqsort; want
	sort.Sort(&tree{list})       // cost: sort.Sort sort.pdqsort; want
}

type odd []item // tells what it swaps

func (o odd) Len() int           { return len(o) }
func (o odd) Less(x, y int) bool { return o[x].n < o[y].n }
func (o odd) Swap(x, y int) {
	fmt.Println(x, y)
	o[y], o[x] = o[x], o[y]
}

func sorted(list []item, words []string) {
	sort.Slice(words, func(i, j int) bool { return words[i] < words[j] })              // cost: sort.Slice sort.pdqsort_func; want
	sort.Slice(list, func(i, j int) bool { return list[i].n > list[j].n })             // cost: sort.Slice sort.pdqsort_func; want
	sort.SliceStable(list, func(a, b int) bool { return list[a].name < list[b].name }) // cost: sort.SliceStable sort.stable_func; want
	sort.Slice(list, func(i, j int) bool { return list[i].f < list[j].f })             // cost: sort.Slice sort.pdqsort_func; want
	sort.Sort(byN(list))                                                               // cost: sort.Sort sort.pdqsort; want
}

func main() {
	list := []item{{"b", 1, 3}, {"a", 2, 2}, {"b", 3, 1}, {"a", 4, 0}}
	words := []string{"x", "a", "m", "a"}
	sorted(list, words)
	fmt.Println(list, words)
	more(list)
	fields(list)
	fmt.Println(list)
}

// Ints knows the type of its elements.
func numbers(list []int) {
	sort.Ints(list) // cost: [cpu] sort.Ints slices.pdqsortOrdered[go.shape.int]
}
