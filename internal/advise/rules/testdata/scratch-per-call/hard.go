package main

import "fmt"

func largest(list []int) int {
	sorted := make([]int, len(list)) // cost: [alloc_space@64] runtime.makeslice, [alloc_objects@64] runtime.makeslice; want
	copy(sorted, list)               // it is not ours
	for i := range sorted {
		sorted[0] = max(sorted[0], sorted[i])
	}
	return sorted[0]
}

func hard() { fmt.Println(largest([]int{1, 3, 2})) }
