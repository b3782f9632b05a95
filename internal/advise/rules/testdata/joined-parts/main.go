package main

import (
	"fmt"
	"strings"
)

func letters(s string) string {
	ret := []string{}
	for _, r := range s {
		if r < 'a' {
			ret = append(ret, string(r)) // cost: runtime.growslice runtime.mallocgc; want
			continue
		}
		ret = append(ret, strings.ToUpper(string(r))) // cost: runtime.growslice runtime.mallocgc
	}
	return strings.Join(ret, "") // cost: strings.Join runtime.mallocgc
}

func with(words []string, all bool) string {
	var (
		n = 0
	)
	var parts []string
	for _, w := range words {
		if all || w != "" {
			parts = append(parts, w, fmt.Sprint(n)) // cost: runtime.growslice runtime.mallocgc; want
			n++
		}
	}
	return "[" + strings.Join(parts, ", ") + "]" // cost: strings.Join runtime.mallocgc
}

func bytesToo(in [][]byte) string {
	list := make([]string, 0, len(in))
	for i := range in {
		list = append(list, string(in[i])) // cost: runtime.slicebytetostring runtime.mallocgc; want
	}
	return strings.Join(list, "") // cost: strings.Join runtime.mallocgc
}

func counted(in []string) string {
	var list []string
	for _, x := range in {
		if x != "" {
			list = append(list, x) // cost: runtime.growslice runtime.mallocgc
		}
	}
	if len(list) == 0 { // a list is needed for that
		return "none"
	}
	return strings.Join(list, ",") // cost: strings.Join runtime.mallocgc
}

func bracketed(in []string) string {
	var list []string
	for _, x := range in {
		list = append(list, "<"+x+">") // cost: runtime.growslice runtime.mallocgc; want
	}
	return strings.Join(list, " ") // cost: strings.Join runtime.mallocgc
}

func again(in []string) (out []string) {
	var list []string
	for _, x := range in {
		list = append(list, x)                    // cost: runtime.growslice runtime.mallocgc
		out = append(out, strings.Join(list, "")) // cost: strings.Join runtime.mallocgc
	}
	return out
}

// The first part is always there, so that all others follow one.
func fields(a, b int, more []int) string {
	list := make([]string, 0)
	list = append(list, fmt.Sprint(a)) // cost: runtime.growslice runtime.mallocgc; want
	list = append(list, fmt.Sprint(b)) // cost: runtime.growslice runtime.mallocgc
	for _, n := range more {
		list = append(list, fmt.Sprint(n)) // cost: runtime.growslice runtime.mallocgc
	}
	return strings.Join(list, " ") // cost: strings.Join runtime.mallocgc
}

// Here it is not.
func maybe(head string, more []string) string {
	var list []string
	if head != "" {
		list = append(list, head) // cost: runtime.growslice runtime.mallocgc; want
	}
	for _, x := range more {
		list = append(list, x) // cost: runtime.growslice runtime.mallocgc
	}
	return strings.Join(list, " ") // cost: strings.Join runtime.mallocgc
}

// shifted has another variable of the same name where it appends.
func shifted(in []string) string {
	var list []string
	for i, x := range in {
		i := i + 1
		list = append(list, fmt.Sprint(i)+x) // cost: runtime.growslice runtime.mallocgc; want
	}
	return strings.Join(list, ",") // cost: strings.Join runtime.mallocgc
}

// twice goes over the list once more.
func twice(in []string) string {
	var list []string
	rounds := 0
again:
	for _, x := range in {
		list = append(list, x) // cost: runtime.growslice runtime.mallocgc; want
	}
	if rounds++; rounds < 2 {
		goto again
	}
	return strings.Join(list, ",") // cost: strings.Join runtime.mallocgc
}

func explained(in []string) string {
	var list []string
	for _, x := range in {
		list = append(list, // cost: runtime.growslice runtime.mallocgc; want
			"a", // always
			x)
	}
	return strings.Join(list, "") // cost: strings.Join runtime.mallocgc
}

func main() {
	fmt.Println(shifted([]string{"a", "b"}), twice([]string{"a", "b"}), explained([]string{"b"}))
	fmt.Printf("%q %q\n", fields(1, 2, nil), fields(1, 2, []int{3, 4}))
	fmt.Printf("%q %q %q\n", maybe("", nil), maybe("a", nil), maybe("", []string{"b", "c"}))
	fmt.Println(bracketed(nil), bracketed([]string{"a", "", "b"}))
	fmt.Printf("%q %q %q\n", letters("a+b-c\xff"), letters(""), with([]string{"", "a", "", "b"}, true))
	fmt.Printf("%q %q\n", with([]string{"", "a", "", "b"}, false), with(nil, true))
	fmt.Printf("%q %q %q\n", bytesToo([][]byte{{'a'}, {0xff}, nil}), counted([]string{"", "x"}), again([]string{"a", "b"}))
}
