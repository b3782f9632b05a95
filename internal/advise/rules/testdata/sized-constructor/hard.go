package main

import "fmt"

type row struct{ cells []int }

func newRow() *row { return &row{} }

// newRowSize is a row of n zeros.
func newRowSize(n int) *row { return &row{make([]int, n)} }

func (r *row) add(x int) { r.cells = append(r.cells, x) }

func rowOf(list []int) int {
	r := newRow()
	for _, x := range list {
		r.add(x) // cost: [alloc_space] main.(*row).add runtime.growslice
	}
	return len(r.cells)
}

func hard() { fmt.Println(rowOf([]int{1, 2})) }
