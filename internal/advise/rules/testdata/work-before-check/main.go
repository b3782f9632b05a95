package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

func upper(s string) string {
	out := make([]byte, 0, 2*len(s)) // cost: runtime.makeslice; want
	if s == "" {
		return s
	}
	for i := range len(s) {
		out = append(out, s[i]&^32, ' ')
	}
	return string(out)
}

func runes(s string) int {
	list := []rune(s) // cost: runtime.stringtoslicerune; want
	n := len(s)
	if n == 1 || strings.HasPrefix(s, " ") {
		return n
	}
	return len(list) * 2
}

// negative may ask for less than nothing.
func negative(n int) []int {
	list := make([]int, n) // cost: runtime.makeslice; want
	if n < 0 {
		return nil
	}
	return list
}

func changed(b []byte) string {
	s := string(b) // cost: runtime.slicebytetostring; want
	if len(b) > 3 {
		b[0] = 'x'
		return "long"
	}
	return s
}

// failed returns early only with an error.
func failed(s string) ([]byte, error) {
	out := make([]byte, len(s)) // cost: runtime.makeslice
	if s == "" {
		return nil, errors.New("no text")
	}
	copy(out, s)
	return out, nil
}

// needed looks at it.
func needed(s string) []byte {
	out := make([]byte, len(s)) // cost: runtime.makeslice
	if copy(out, s) == 0 {
		return nil
	}
	return out
}

// traced makes a text that is only needed now and then.
func traced(name string, n int) int {
	text := strings.ToUpper(name) + strconv.Itoa(n) // cost: strings.ToUpper, strconv.Itoa; want
	n *= 2
	if n > 100 {
		fmt.Println(text)
	}
	return n
}

func quoted(name string, debug bool) string {
	text := strings.ToUpper(name) + "!" // cost: strings.ToUpper; want
	out := name
	if debug {
		out += text
	}
	return out
}

// both needs it on both ways.
func both(name string, debug bool) string {
	text := strings.ToUpper(name) // cost: strings.ToUpper
	if debug {
		return text
	} else {
		name += text
	}
	return name
}

func main() {
	hard()
	b, err := failed("b")
	fmt.Println(upper("abc"), runes("héé"), len(negative(2)), changed([]byte("ab")), b, err, needed("d"))
	fmt.Println(traced("t", 3), traced("t", 60), quoted("q", true), quoted("q", false), both("b", true), both("b", false))
}
