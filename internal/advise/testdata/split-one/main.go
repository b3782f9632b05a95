package main

import (
	"fmt"
	"strings"
)

func first(s string) string {
	x := strings.Split(s, ",")[0] // cost: strings.Split strings.genSplit; want
	return x
}

func given(s, sep string) string {
	x := strings.Split(s, sep)[0] // cost: strings.Split strings.genSplit; want
	return x
}

func each(s string) (n int) {
	for _, part := range strings.Split(s, ",") { // cost: strings.Split strings.genSplit; want
		n += len(part)
	}
	for _, part := range strings.Fields(s) { // cost: strings.Fields; want
		n += len(part)
	}
	return n
}

func count(s string) int {
	return 2 * len(strings.Split(s, "ab")) // cost: strings.Split strings.genSplit; want
}

func all(s string) []string {
	return strings.Split(s, ",") // cost: strings.Split strings.genSplit
}

func main() {
	for _, s := range []string{"", ",", "a", "a,b", "ab,abab ,", " a b "} {
		fmt.Printf("%q %q %d %d %q\n", first(s), given(s, "b"), each(s), count(s), all(s))
	}
}
