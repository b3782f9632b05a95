package main

import (
	"fmt"
	"strings"
)

// What is behind the label is reached with one part, too.
func jumps(s string) (out string) {
	defer func() {
		if recover() != nil {
			out = "panic"
		}
	}()
	parts := strings.Split(s, ":") // cost: strings.Split; want
	if len(parts) < 2 {
		goto done
	}
	out = parts[0]
done:
	out += parts[1]
	return
}

func howMany(s string) int {
	n := len(strings.Split(s, ",")) // cost: strings.Split; want
	return n
}

func hard() { fmt.Println(jumps("a"), jumps("a:b"), howMany(""), howMany("a,b")) }
