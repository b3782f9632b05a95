// Package order sorts lists of structs without machine code for each type of them.
package order

import "slices"

// Stable sorts list as slices.SortStableFunc does: values that compare calls equal keep their order.
//
// The compiler makes the sort of package slices anew for each type of struct, 5 to 25 kB in the program. Stable sorts the
// places of the values, which are ints whatever the type, and then moves each value once. It needs room for a copy of list. Where lists
// are long or sorted often, and for pointers, strings and numbers, whose sorts are shared, package slices is the better choice.
func Stable[E any](list []E, compare func(a, b E) int) {
	from := make([]int, len(list))
	for i := range from {
		from[i] = i
	}
	slices.SortStableFunc(from, func(i, j int) int { return compare(list[i], list[j]) })
	was := slices.Clone(list)
	for i, j := range from {
		list[i] = was[j]
	}
}
