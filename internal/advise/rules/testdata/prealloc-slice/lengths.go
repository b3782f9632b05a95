package main

import (
	"fmt"
	"io"
	"sort"
)

// The code does not say how many tokens there are, but the profile says how large their arrays were; and whoever calls looks only at the elements.
func tokens(text string) ([]int, error) {
	var out []int
scan:
	for {
		switch r := next(&text); {
		case r == 0:
			break scan
		case r == '?':
			return out, io.ErrUnexpectedEOF
		case r < 'a':
			out = append(out, 'a') // cost: runtime.growslice, [alloc_objects*90@32]
		default:
			out = append(out, int(r)) // cost: [cpu*9] runtime.growslice, [alloc_objects*900@8], [alloc_objects*900@16], [alloc_objects*810@32], [alloc_objects*800@64], [alloc_objects*50@128]; want
		}
	}
	out = append(out, -1)
	return out, nil
}

func next(text *string) (r byte) {
	if *text != "" {
		r, *text = (*text)[0], (*text)[1:]
	}
	return r
}

func last(text string) int {
	list, err := tokens(text)
	if err != nil {
		return len(list)
	}
	for _, t := range list {
		if t == 'x' {
			return t
		}
	}
	return list[len(list)-1]
}

// Who calls may see whether it is nil.
func Large(text string) []int {
	var out []int
	for text != "" {
		if r := next(&text); r > 'm' {
			out = append(out, int(r)) // cost: runtime.growslice, [alloc_objects*900@8], [alloc_objects*900@16], [alloc_objects*900@32], [alloc_objects*50@64]; want
		}
	}
	return out
}

// Most have one element or two, so room for more would take more memory.
func Small(text string) []int {
	var out []int
	for text != "" {
		out = append(out, int(next(&text))) // cost: runtime.growslice, [alloc_objects*900@8], [alloc_objects*700@16], [alloc_objects*90@32], [alloc_objects*50@64]; want
	}
	return out
}

// The line also makes elements, which are as large as some of the arrays.
func boxed(text string) (n int) {
	var out []any
	for text != "" {
		out = append(out, int(next(&text))<<9) // cost: runtime.growslice, [alloc_objects*900@16], [alloc_objects*900@32], [alloc_objects*900@64], [alloc_objects*50@128]; want
	}
	keep = out
	return len(out)
}

var keep []any

// Two lists that begin with the same elements have an array each.
func forked(text string) (a, b []int) {
	out := []int{}
	for text != "" {
		out = append(out, int(next(&text))) // cost: runtime.growslice, [alloc_objects*900@8], [alloc_objects*900@16], [alloc_objects*900@32], [alloc_objects*50@64]; want
	}
	a = append(out, 1)
	b = append(out, 2)
	return a, b
}

// Its capacity is asked for.
func spare(text string) int {
	var out []int
	for text != "" {
		out = append(out, int(next(&text))) // cost: runtime.growslice, [alloc_objects*900@8], [alloc_objects*900@16], [alloc_objects*900@32], [alloc_objects*50@64]; want
	}
	return cap(out) - len(out)
}

// What is appended to it elsewhere is in another array.
func noted(list []int) []int {
	out := []int{}
	note(out)
	for _, n := range list {
		if n > 1 {
			out = append(out, n) // cost: runtime.growslice; want
		}
	}
	return out
}

var notes [][]int

func note(l []int) {
	l = append(l, 100)
	notes = append(notes, l)
}

// Who gets it when it is complete only reads it.
func totaled(text string) (n int) {
	out := []int{}
	for text != "" {
		out = append(out, int(next(&text))) // cost: runtime.growslice, [alloc_objects*900@8], [alloc_objects*900@16], [alloc_objects*900@32], [alloc_objects*50@64]; want
	}
	sort.Ints(out)
	return total(out) + total(out[:1])
}

func total(l []int) (n int) {
	for _, v := range l {
		n += v
	}
	return n + len(l)
}

func lengths() {
	fmt.Println(forkedRows([][]int{{1, 2}, {3}}))
	fmt.Println(forked(""))
	fmt.Println(forked("ab"))
	fmt.Println(spare(""), noted([]int{1, 2, 3}), notes, totaled("abc"))
}

// forkedRows has lists of its own in both results.
func forkedRows(rows [][]int) (a, b []int) {
	var list []int
	for _, row := range rows {
		for _, x := range row {
			list = append(list, x+1) // cost: runtime.growslice runtime.mallocgc; want
		}
	}
	a = append(list, 1)
	b = append(list, 2)
	return a, b
}
