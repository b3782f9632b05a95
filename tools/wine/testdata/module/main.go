// Words is a program to record: it puts numbers into strings for two seconds.
package main

import (
	"fmt"
	"strings"
	"time"
)

func words(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d ", i)
	}
	return b.String()
}

var kept []string

func main() {
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		kept = append(kept[:len(kept)%64], words(20_000))
	}
	fmt.Println("words:", len(kept) > 0)
}
