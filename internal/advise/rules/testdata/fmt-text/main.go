package main

import (
	"fmt"
	"os"
	"time"
)

type id string

type level int

func (l level) String() string { return "level" }

type point struct{ x, y int }

func key(name string, n int) string {
	return fmt.Sprintf("%s[%d]", name, n) // cost: fmt.Sprintf fmt.(*pp).doPrintf, runtime.convTstring runtime.mallocgc; want
}

func many(a id, b []byte, n uint8, r rune, ok bool, x float64, q string) string {
	s := fmt.Sprintf("%s-%s-%x", a, b, n)              // cost: fmt.Sprintf fmt.(*pp).doPrintf; want
	s += fmt.Sprintf("%c%t %.2f %q%%", r, ok, x, q)    // cost: fmt.Sprintf fmt.newPrinter; want
	s += "<" + fmt.Sprint(n) + ">" + fmt.Sprint(q+"!") // cost: fmt.Sprint fmt.(*pp).doPrint; want
	return s
}

func sum(a, b string) string {
	return a + fmt.Sprintf("%s/%s", b+"?", "const") + b // cost: fmt.Sprintf fmt.(*pp).doPrintf; want
}

// What types print by themselves is left to fmt.
func itself(l level, p point, err error, v any) string {
	s := fmt.Sprintf("%s %d", l, 1)       // cost: fmt.Sprintf fmt.(*pp).doPrintf; want
	s += fmt.Sprintf("%v", p)             // cost: fmt.Sprintf fmt.(*pp).doPrintf; want
	s += fmt.Sprintf("%v %v", err, v)     // cost: fmt.Sprintf fmt.(*pp).doPrintf; want
	s += fmt.Sprintf("%5d|%-3s", 12, "a") // cost: fmt.Sprintf fmt.(*pp).doPrintf; want
	return s
}

func duration(d time.Duration) string {
	return fmt.Sprintf("took %s", d) // cost: fmt.Sprintf fmt.(*pp).doPrintf; want
}

// What the method costs would stay.
func slow(l level) string {
	return fmt.Sprintf("%v", l) // cost: fmt.Sprintf fmt.(*pp).handleMethods main.level.String
}

func written(s string) {
	os.Stdout.Write([]byte(fmt.Sprintf("%s\n", s))) // cost: fmt.Sprintf fmt.(*pp).doPrintf
}

func long(a, b, c, d, e string) string {
	return fmt.Sprintf("%s.%s.%s.%s.%s", a, b, c, d, e) // cost: fmt.Sprintf fmt.(*pp).doPrintf; want
}

func anything(v any, e fmt.Stringer) string {
	s := fmt.Sprint(v)          // cost: fmt.Sprint fmt.(*pp).doPrint; want
	s += fmt.Sprintf("%v", v)   // cost: fmt.Sprintf fmt.(*pp).doPrintf
	s += fmt.Sprintf("%5v", v)  // cost: fmt.Sprintf fmt.(*pp).doPrintf; want
	s += fmt.Sprint(e)          // cost: fmt.Sprint fmt.(*pp).doPrint; want
	return s + fmt.Sprint(v, v) // cost: fmt.Sprint fmt.(*pp).doPrint; want
}

func generic[T any](v T) string {
	return fmt.Sprint(v) // cost: fmt.Sprint fmt.(*pp).doPrint; want
}

// The list grows on the same line, by more than a number in a box takes.
func listed(list []string, n int) []string {
	list = append(list, fmt.Sprint(n))     // cost: [alloc_space@16]; want
	list = append(list, fmt.Sprint(n, n))  // cost: [alloc_space@17]
	list = append(list, fmt.Sprint(list))  // cost: [alloc_space@32]; want
	return append(list, fmt.Sprint(&list)) // cost: [alloc_space@16]
}

// A method formats it, which + does not call.
type place int

func (p place) Format(s fmt.State, verb rune) { fmt.Fprintf(s, "%d%c", int(p), verb) }

func placed(p place) string {
	return fmt.Sprintf("%+n", p) // cost: fmt.Sprintf fmt.(*pp).doPrintf; want
}

func passed(args ...any) string {
	return fmt.Sprintln(args...) // cost: fmt.Sprintln fmt.(*pp).doPrintln
}

func main() {
	fmt.Println(anything(color(1), level(1)), anything(color(7), level(1)), kindOf(color(7)))
	for _, v := range []any{nil, "a", true, 1, int64(-2), uint64(3), id("b"), level(1), 1.5, []byte("c"), os.ErrExist, 'd', 1e21, &point{1, 2}} {
		fmt.Println(anything(v, level(2)), generic(v))
	}
	fmt.Print(passed(1, "a"), placed(2))
	fmt.Println(len(listed(nil, 300)))
	for _, n := range []int{-1, 0, 7, 123456789} {
		fmt.Println(key("a", n), key("", n))
	}
	for _, x := range []float64{0, -0.005, 1.5, 1e30} {
		fmt.Println(many("i", []byte("xy"), 200, 'ä', x > 1, x, "say \"hi\"\n"), many("", nil, 0, -1, false, x, ""))
	}
	fmt.Println(sum("a", "b"), itself(3, point{1, 2}, nil, 4), duration(1500*time.Millisecond), slow(1), long("a", "b", "", "d", "e"))
	written("done")
}

// A color has a method that panics for some of them, of which fmt makes a text.
type color int

var colors = [...]string{"red", "green"}

func (c color) String() string { return colors[c] }

func kindOf(v any) int {
	switch v.(type) {
	case color:
		return 1
	}
	return 0
}
