package main

import (
	"fmt"
	"strconv"
	"strings"
)

const width = 12

func line(s string) string {
	dashes := strings.Repeat("-", width) // cost: strings.Repeat; want
	return dashes + s + dashes
}

func header(s string) string {
	return strconv.FormatInt(width*100, 16) + s // cost: strconv.FormatInt; want
}

// indent depends on its argument.
func indent(n int, s string) string {
	return strings.Repeat(" ", n) + s // cost: strings.Repeat
}

type config struct {
	size  int
	names []string
}

func defaults() *config { return &config{size: width, names: []string{"a", "b"}} }

func run(s string) int {
	c := defaults() // cost: main.defaults runtime.newobject; want
	return len(s) + c.size + len(c.names)
}

var counted int

func count() string { counted++; return strings.Repeat("x", 3) } // cost: strings.Repeat; want

var title = strings.ToUpper("title") // cost: strings.ToUpper

func main() {
	fmt.Println(line("a"), header("b"), indent(2, "c"), run("d"), count(), title, counted)
}
