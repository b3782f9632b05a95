package main

import (
	"fmt"
	"strings"
)

func odd(s string) (out string) {
	defer func() {
		if recover() != nil {
			out = "panic"
		}
	}()
	return strings.NewReplacer("a").Replace(s) // cost: strings.NewReplacer; want
}

func hard() { fmt.Println(odd("a")) }
