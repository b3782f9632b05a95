package main

import (
	"fmt"
	"strings"
)

func method(s string) bool {
	return strings.ToLower(s) == "get" // cost: strings.ToLower; want
}

func not(s string) bool {
	return "CLOCE" != strings.ToUpper(s) // cost: strings.ToUpper; want
}

// ſ folds to s.
func special(s string) bool {
	return strings.ToLower(s) == "yes" // cost: strings.ToLower; want
}

func both(a, b string) bool {
	return strings.ToLower(a) == strings.ToLower(b) // cost: strings.ToLower; want
}

func main() {
	for _, s := range []string{"", "get", "GeT", "gett", "gët", "cloce", "YEſ", "yes", "CLOCE"} {
		fmt.Println(method(s), not(s), special(s), both(s, "GET"))
	}
}

// The text is kept, and not only compared.
func lower(s string) string {
	return strings.ToLower(s) // cost: [cpu] strings.ToLower
}
