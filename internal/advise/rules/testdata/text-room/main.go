package main

import (
	"bytes"
	"fmt"
	"strings"
)

func upper(s string, n int) string {
	var b strings.Builder
	for i, r := range s {
		if i < n {
			b.WriteRune(r - 32) // cost: strings.(*Builder).WriteRune runtime.growslice runtime.mallocgc; want
		} else {
			b.WriteRune(r) // cost: strings.(*Builder).WriteRune runtime.growslice
		}
	}
	return b.String()
}

func quoted(s string) string {
	b := &bytes.Buffer{}
	b.WriteByte('"') // cost: bytes.(*Buffer).WriteByte bytes.(*Buffer).grow bytes.growSlice runtime.mallocgc; want
	for i := 0; i < len(s); i++ {
		b.WriteByte(s[i]) // cost: bytes.(*Buffer).WriteByte bytes.(*Buffer).grow bytes.growSlice
	}
	b.WriteByte('"')
	return b.String()
}

func numbers(list []int) string {
	b := strings.Builder{}
	for _, x := range list {
		fmt.Fprint(&b, x)
		b.WriteByte(' ') // cost: strings.(*Builder).WriteByte runtime.growslice runtime.mallocgc, [alloc_objects@32] strings.(*Builder).WriteByte, [alloc_objects@64] strings.(*Builder).WriteByte; want
	}
	return b.String()
}

func roomy(s string) string {
	var b strings.Builder
	b.Grow(2 * len(s))
	for _, r := range s {
		b.WriteRune(r) // cost: strings.(*Builder).WriteRune runtime.growslice
	}
	return b.String()
}

func raw(s string) []byte {
	var b bytes.Buffer
	for i := range len(s) {
		b.WriteByte(s[i] + 1) // cost: bytes.(*Buffer).WriteByte bytes.(*Buffer).grow bytes.growSlice
	}
	return b.Bytes()
}

// A copy that is made before anything is written has nothing of it.
func copied(s string) string {
	var a bytes.Buffer
	b := a
	for i := range len(s) {
		a.WriteByte(s[i]) // cost: bytes.(*Buffer).WriteByte bytes.(*Buffer).grow bytes.growSlice
	}
	b.WriteByte('-')
	return a.String() + b.String()
}

// A line is much shorter than the text.
func lines(s string) (out []string) {
	var b strings.Builder
	for _, r := range s {
		if r == '\n' {
			out = append(out, b.String())
			b.Reset()
			continue
		}
		b.WriteRune(r) // cost: strings.(*Builder).WriteRune runtime.growslice runtime.mallocgc; want
	}
	return append(out, b.String())
}

func firstWord(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == ' ' {
			break
		}
		b.WriteRune(r) // cost: strings.(*Builder).WriteRune runtime.growslice runtime.mallocgc; want
	}
	return b.String()
}

// The first array of a Buffer has room for 64 bytes, whatever is written first.
func name(s string) string {
	b := new(bytes.Buffer)
	for i := 0; i < len(s) && s[i] != ':'; i++ {
		b.WriteByte(s[i]) // cost: bytes.(*Buffer).WriteByte bytes.(*Buffer).grow runtime.mallocgc, [alloc_objects@64] bytes.(*Buffer).WriteByte bytes.(*Buffer).grow
	}
	return b.String()
}

func title(s string) string {
	b := new(bytes.Buffer)
	for _, r := range s {
		if r == ':' {
			break
		}
		b.WriteRune(r) // cost: [alloc_objects@64] bytes.(*Buffer).WriteRune bytes.(*Buffer).grow, [alloc_objects@128] bytes.(*Buffer).WriteRune bytes.(*Buffer).grow bytes.growSlice; want
	}
	return b.String()
}

func main() {
	hard()
	fmt.Println(name("a:b"), title("é:b"))
	fmt.Println(firstWord("a b"))
	fmt.Println(lines("a\nbc\n"))
	fmt.Println(copied("abc"))
	fmt.Println(upper("abc", 2), quoted("x"), numbers([]int{1, 2}), roomy("é"), raw("") == nil)
}
