package main

import (
	"fmt"
	"math"
	"sort"
	"strings"
	"time"
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

// Two lists that belong together.
type columns struct {
	names []string
	ns    []int
}

func (c columns) Len() int           { return len(c.ns) }
func (c columns) Less(i, j int) bool { return c.ns[i] < c.ns[j] }
func (c columns) Swap(i, j int) {
	c.names[i], c.names[j] = c.names[j], c.names[i]
	c.ns[i], c.ns[j] = c.ns[j], c.ns[i]
}

type numbered struct{ columns }

func together(names []string, ns []int) {
	sort.Sort(columns{names, ns})              // cost: sort.Sort sort.pdqsort; want
	sort.Stable(&numbered{columns{names, ns}}) // cost: sort.Stable sort.stable; want
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

// These sort a field by another one.
type byDim struct {
	dim  int
	list [][]float64
}

func (s *byDim) Len() int           { return len(s.list) }
func (s *byDim) Less(i, j int) bool { return s.list[i][s.dim] < s.list[j][s.dim] }
func (s *byDim) Swap(i, j int)      { s.list[i], s.list[j] = s.list[j], s.list[i] }

func dims(dim int, list [][]float64) {
	sort.Sort(&byDim{dim, list})          // cost: sort.Sort sort.pdqsort; want
	sort.Sort(&byDim{dim: 1, list: list}) // cost: sort.Sort sort.pdqsort; want
	by := &byDim{0, list}
	sort.Stable(sort.Reverse(by)) // cost: sort.Stable sort.stable; want
}

type comparator func(a, b any) int

type sortable struct {
	values []any
	cmp    comparator
}

func (s sortable) Len() int           { return len(s.values) }
func (s sortable) Less(i, j int) bool { return s.cmp(s.values[i], s.values[j]) < 0 }
func (s sortable) Swap(i, j int) {
	values := s.values
	values[i], values[j] = values[j], values[i]
}

func compared(values []any, cmp comparator) {
	sort.Sort(sortable{values, cmp})               // cost: sort.Sort sort.pdqsort; want
	sort.Sort(sort.Reverse(sortable{values, cmp})) // cost: sort.Sort sort.pdqsort; want
}

type keyed struct {
	list []item
	key  func(item) string
}

func (s keyed) Len() int { return len(s.list) }
func (s keyed) Less(i, j int) bool {
	k, l := s.key, s.list
	a, b := k(l[i]), k(l[j])
	return a > b
}
func (s keyed) Swap(i, j int) { s.list[i], s.list[j] = s.list[j], s.list[i] }

func byKey(list []item, x string) (calls []string) {
	sort.Sort(keyed{list, func(i item) string { calls = append(calls, i.name); return x + strings.ToUpper(i.name) }}) // cost: sort.Sort sort.pdqsort; want
	return calls
}

// These are not to be sorted by a comparison of elements.
type twoLists struct{ a, b []int }

func (t twoLists) Len() int           { return len(t.a) }
func (t twoLists) Less(i, j int) bool { return t.a[i] < t.a[j] }
func (t twoLists) Swap(i, j int)      { t.a[i], t.a[j] = t.a[j], t.a[i]; t.b[i], t.b[j] = t.b[j], t.b[i] }

type otherKeys struct{ list, keys []int }

func (t otherKeys) Len() int           { return len(t.list) }
func (t otherKeys) Less(i, j int) bool { return t.keys[i] < t.keys[j] }
func (t otherKeys) Swap(i, j int)      { t.list[i], t.list[j] = t.list[j], t.list[i] }

type otherSides []item

func (o otherSides) Len() int           { return len(o) }
func (o otherSides) Less(i, j int) bool { return o[i].n < len(o[j].name) }
func (o otherSides) Swap(i, j int)      { o[i], o[j] = o[j], o[i] }

type scaled []item

func (s scaled) Len() int           { return len(s) }
func (s scaled) Less(i, j int) bool { return s[i].n*factor < s[j].n*factor }
func (s scaled) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }

var factor = -1

type cached struct {
	key  string
	seen int
}

func (c *cached) once() string { c.seen++; return c.key }

func never(list []item, numbers []int, factor int, cache []cached, dim int, points [][]float64) {
	sort.Sort(twoLists{numbers, numbers})                                                           // cost: sort.Sort sort.pdqsort; want
	sort.Sort(otherKeys{numbers, numbers})                                                          // cost: sort.Sort sort.pdqsort; want
	sort.Sort(otherSides(list))                                                                     // cost: sort.Sort sort.pdqsort; want
	sort.Sort(scaled(list))                                                                         // cost: sort.Sort sort.pdqsort; want
	sort.Slice(cache, func(i, j int) bool { return cache[i].once() < cache[j].once() })             // cost: sort.Slice sort.pdqsort_func; want
	sort.Slice(list, func(i, j int) bool { return numbers[i] < numbers[j] })                        // cost: sort.Slice sort.pdqsort_func; want
	sort.Slice(list, func(i, j int) bool { return list[i].n < list[i].n })                          // cost: sort.Slice sort.pdqsort_func; want
	sort.Slice(list, func(i, j int) bool { return list[i].n < list[j].n || list[i].f < list[j].f }) // cost: sort.Slice sort.pdqsort_func; want
	sort.Slice(numbers, func(i, j int) bool { return numbers[i]-i < numbers[j]-j })                 // cost: sort.Slice sort.pdqsort_func; want
	sort.Sort(&byDim{pick(&dim), points})                                                           // cost: sort.Sort sort.pdqsort; want
	change := func() int { dim = 1 - dim; return 0 }
	sort.Sort(&byDim{dim, points}) // cost: sort.Sort sort.pdqsort; want
	fmt.Println(numbers, factor, cache, dim, change())
}

func pick(dim *int) int { *dim++; return 0 }

func literals(list []item, order []int, a map[string]int, at []time.Time) {
	sort.Slice(list, func(i, j int) bool { return strings.ToLower(list[i].name) < strings.ToLower(list[j].name) }) // cost: sort.Slice sort.pdqsort_func; want
	sort.Slice(list, func(i, j int) bool { return a[list[j].name] < a[list[i].name] })                             // cost: sort.Slice sort.pdqsort_func; want
	sort.Slice(order, func(i, j int) bool { return list[order[i]].f > list[order[j]].f })                          // cost: sort.Slice sort.pdqsort_func; want
	sort.Slice(at, func(i, j int) bool { return at[i].After(at[j]) })                                              // cost: sort.Slice sort.pdqsort_func; want
	sort.Slice(list, func(i, j int) bool { return strings.Compare(list[i].name, list[j].name) == -1 })             // cost: sort.Slice sort.pdqsort_func; want
}

func byTwo(list []item, hits []*item) {
	sort.Slice(list, func(i, j int) bool { // cost: sort.Slice sort.pdqsort_func; want
		if list[i].n != list[j].n {
			return list[i].n > list[j].n
		}
		if a, b := list[i], list[j]; a.name != b.name {
			return a.name < b.name
		}
		return list[i].f < list[j].f
	})
	sort.SliceStable(hits, func(x, y int) bool { // cost: sort.SliceStable sort.stable_func; want
		p, q := hits[x], hits[y]
		if p.n != q.n {
			return p.n > q.n
		}
		if q.name != p.name {
			return p.name < q.name
		}
		return p.f < q.f
	})
	// That of other things than those that differ.
	sort.Slice(list, func(i, j int) bool { // cost: sort.Slice sort.pdqsort_func; want
		if list[i].n != list[j].n {
			return list[i].f < list[j].f
		}
		return list[i].name < list[j].name
	})
}

func listsOfSort(words []string, numbers []float64, ints []int) {
	sort.Sort(sort.StringSlice(words))                  // cost: sort.Sort sort.pdqsort; want
	sort.Sort(sort.Reverse(sort.StringSlice(words)))    // cost: sort.Sort sort.pdqsort; want
	sort.Sort(sort.Reverse(sort.Float64Slice(numbers))) // cost: sort.Sort sort.pdqsort; want
	sort.Stable(sort.IntSlice(ints))                    // cost: sort.Stable sort.stable; want
}

// many tells how lists are sorted that are longer than those that insertion sort does, with NaN and equal elements among them.
func many() {
	var list []item
	var points [][]float64
	var values []any
	var order []int
	var at []time.Time
	var words []string
	var numbers []float64
	state := uint32(7)
	for i := range 700 {
		state = state*1664525 + 1013904223
		n := int(state >> 24 & 63)
		f := float64(n)
		if n%9 == 0 {
			f = math.NaN()
		}
		list = append(list, item{string(rune('A' + n)), n, f})
		points = append(points, []float64{f, float64(n / 2), float64(i)})
		values = append(values, n*1000+i)
		order = append(order, i)
		at = append(at, time.Unix(int64(n), 0).UTC())
		words = append(words, fmt.Sprint(n))
		numbers = append(numbers, f)
	}
	numbersOf := func(values []any) (out []int) {
		for _, v := range values {
			out = append(out, v.(int))
		}
		return out
	}
	sorted(list, words)
	fmt.Println(list)
	more(list)
	fields(list)
	fmt.Println(list)
	dims(0, points)
	fmt.Println(points)
	calls := 0
	compared(values, func(a, b any) int { calls++; return a.(int)/1000 - b.(int)/1000 })
	fmt.Println(values, calls)
	fmt.Println(byKey(list, "x"), list)
	var hits []*item
	for i := range list {
		hits = append(hits, &list[len(list)-1-i])
	}
	byTwo(list, hits)
	for _, h := range hits {
		fmt.Print(*h, " ")
	}
	fmt.Println(list)
	literals(list, order, map[string]int{"A": 3, "B": 1}, at)
	fmt.Println(list, order, at)
	listsOfSort(words, numbers, numbersOf(values))
	fmt.Println(words, numbers)
	never(list, numbersOf(values), 1, []cached{{"b", 0}, {"a", 0}, {"c", 0}}, 0, points)
	fmt.Println(list, points)
}

func main() {
	many()
	list := []item{{"b", 1, 3}, {"a", 2, 2}, {"b", 3, 1}, {"a", 4, 0}}
	words := []string{"x", "a", "m", "a"}
	sorted(list, words)
	fmt.Println(list, words)
	more(list)
	fields(list)
	together(words, []int{3, 1, 2, 0})
	fmt.Println(list)
}

// Ints knows the type of its elements.
func numbers(list []int) {
	sort.Ints(list) // cost: [cpu] sort.Ints slices.pdqsortOrdered[go.shape.int]
}
