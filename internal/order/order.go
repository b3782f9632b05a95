// Package order sorts slices of structs with the same machine code for all element types. slices.SortFunc has a copy for each.
package order

import "slices"

// Stable sorts list as slices.SortStableFunc does: values that compare calls equal keep their order.
//
// The compiler makes the sort of package slices anew for each type of struct, 5 to 25 kB in the program. Stable sorts the
// places of the values, which are ints whatever the type, and then moves each value once. It needs room for a copy of list. Where lists
// are long or sorted often, and for pointers, strings and numbers, whose sorts are shared, package slices is the better choice.
func Stable[E any](list []E, compare func(a, b E) int) {
	from := places(len(list), func(i, j int) int { return compare(list[i], list[j]) })
	was := slices.Clone(list)
	for i, j := range from {
		list[i] = was[j]
	}
}

// places returns the numbers below n in order. It is no part of Stable, of which the program has a copy for each type, a hundred.
func places(n int, compare func(i, j int) int) []int {
	from := make([]int, n)
	for i := range from {
		from[i] = i
	}
	slices.SortStableFunc(from, compare)
	return from
}

// manyFirst is from how many values on First sorts all of them.
const manyFirst = 1 << 10

// First returns the n values of list that come first, in order; all of them where n is negative. It does not sort the others, of which there may
// be hundreds of thousands. No two values may be equal. The list is changed.
func First[E any](list []E, n int, compare func(a, b E) int) []E {
	if n == 0 {
		return nil
	}
	if n < 0 || n > manyFirst {
		Stable(list, compare)
		if n > 0 && n < len(list) {
			list = list[:n]
		}
		return list
	}
	first := make([]E, 0, n+1)
	for _, v := range list {
		if len(first) == n && compare(first[n-1], v) < 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(first, v, compare)
		first = slices.Insert(first, at, v)
		first = first[:min(len(first), n)]
	}
	return first
}
