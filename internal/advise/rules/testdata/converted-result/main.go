package main

import (
	"bytes"
	"fmt"
)

func quoted(s string) string {
	b := make([]byte, 0, len(s)+2)
	b = append(b, '"')
	b = append(b, s...)
	b = append(b, '"')
	return string(b)
}

func sum(b []byte) (n int) {
	for _, c := range b {
		n += int(c)
	}
	return n
}

func write(s string) int {
	return sum([]byte(quoted(s))) // cost: runtime.stringtoslicebyte; want
}

// shown is also called for its text.
func shown(s string) string {
	var b bytes.Buffer
	b.WriteString(s)
	return b.String()
}

func show(s string) int {
	text := shown(s)
	n := sum([]byte(text)) // cost: runtime.stringtoslicebyte; want
	return n + len(shown(s))
}

type name struct{ text string }

func (n name) bytes() []byte { return []byte(n.text) }

func (n name) String() string {
	return string(n.bytes()) // cost: runtime.slicebytetostring; want
}

// fixed does not copy anything.
func fixed(n int) string {
	if n > 0 {
		return "more"
	}
	return "none"
}

func sumFixed(n int) int {
	return sum([]byte(fixed(n))) // cost: runtime.stringtoslicebyte
}

type point struct{ x, y int }

func corner(i int) any {
	if i == 0 {
		return point{}
	}
	return point{i, i} // cost: runtime.convT; want
}

func edge(i int) any { return point{i, 0} } // cost: runtime.convT

func main() {
	fmt.Println(write("a"), show("b"), sumFixed(1), name{"c"}, corner(2).(point).x, edge(3))
}
