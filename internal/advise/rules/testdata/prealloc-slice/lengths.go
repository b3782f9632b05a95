package main

import "io"

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
