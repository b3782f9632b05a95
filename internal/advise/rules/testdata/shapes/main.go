package main

import (
	"errors"
	"fmt"
	"strings"
)

func returned(list []string) string {
	s := ""
	for _, x := range list {
		s += x // cost: runtime.concatstring2 runtime.mallocgc; want
	}
	return s
}

func declaredAbove(list []string) string {
	var s string // what comes of it
	n := 0
	for _, x := range list {
		n++
		s += x // cost: runtime.concatstring2 runtime.mallocgc; want
	}
	return fmt.Sprint(n, s)
}

func twice(list []string) (string, int) {
	s := ""
	for _, x := range list {
		s += x // cost: runtime.concatstring2 runtime.mallocgc; want
	}
	if strings.HasPrefix(s, "a") {
		s = strings.ToUpper(s)
	}
	return s, len(s)
}

func namedResult(list []string) (s string, err error) {
	for _, x := range list {
		if x == "" {
			return s, errors.New("empty")
		}
		s += x // cost: runtime.concatstring2 runtime.mallocgc; want
	}
	return
}

func notEmpty(list []string) string {
	s := "<"
	for _, x := range list {
		s += x // cost: runtime.concatstring2 runtime.mallocgc; want
	}
	s += ">"
	return s
}

func fromCall(list []string) string {
	s := strings.Repeat("-", len(list))
	for _, x := range list {
		s += x // cost: runtime.concatstring2 runtime.mallocgc; want
	}
	return s
}

func param(s string, list []string) string {
	for _, x := range list {
		s += x // cost: runtime.concatstring2 runtime.mallocgc; want
	}
	return s
}

func pair(list []string) string {
	s, n := "", 0
	for _, x := range list {
		n++
		s += x // cost: runtime.concatstring2 runtime.mallocgc; want
	}
	return s + fmt.Sprint(n)
}

func nested(rows [][]string) string {
	s := ""
	for i, row := range rows {
		if i > 0 {
			s += "\n"
		}
		for j, x := range row {
			if j > 0 {
				s += "\t"
			}
			s += x // cost: runtime.concatstring2 runtime.mallocgc; want
		}
	}
	return s
}

func perRow(rows [][]string) (out []string) {
	for _, row := range rows {
		line := ""
		for _, x := range row {
			line += x + "," // cost: runtime.concatstring3 runtime.mallocgc; want
		}
		out = append(out, line)
	}
	return out
}

func reset(rows [][]string) (out []string) {
	s := ""
	for _, row := range rows {
		for _, x := range row {
			s += x // cost: runtime.concatstring2 runtime.mallocgc; want
		}
		out = append(out, s)
		s = ""
	}
	return append(out, s)
}

func twoLoops(a, b []string) string {
	s := ""
	for _, x := range a {
		s += x // cost: runtime.concatstring2 runtime.mallocgc; want
	}
	s += "|"
	for _, x := range b {
		s += x
	}
	return s
}

func captured(list []string) string {
	s := ""
	show := func() string { return s }
	for _, x := range list {
		s += x // cost: runtime.concatstring2 runtime.mallocgc; want
	}
	return show()
}

func deferred(list []string) {
	s := ""
	defer func() { fmt.Printf("deferred %q\n", s) }()
	for _, x := range list {
		s += x // cost: runtime.concatstring2 runtime.mallocgc; want
	}
}

func deferredEarly(list []string) {
	s := "early"
	defer fmt.Printf("deferred %q\n", s)
	for _, x := range list {
		s += x // cost: runtime.concatstring2 runtime.mallocgc; want
	}
	fmt.Printf("%q\n", s)
}

func deferredInside(list []string) {
	s := ""
	for _, x := range list {
		s += x // cost: runtime.concatstring2 runtime.mallocgc; want
		defer fmt.Printf("inside %q\n", s)
	}
}

func compared(list []string) string {
	s := ""
	for _, x := range list {
		if s != "" && s != "ab" {
			s += ", "
		}
		if s == "" {
			s += "begin "
		}
		s = s + x // cost: runtime.concatstring2 runtime.mallocgc; want
	}
	return s
}

func formatted(list []string) string {
	s := ""
	for i, x := range list {
		s += fmt.Sprintf("%d=%s;", i, x) // cost: runtime.concatstring2 runtime.mallocgc; want
	}
	return s
}

func early(list []string) string {
	s := ""
	for i, x := range list {
		if i == 2 {
			return s
		}
		if x == "" {
			return "nothing"
		}
		s += x // cost: runtime.concatstring2 runtime.mallocgc; want
	}
	return "all of " + s
}

func pointed(list []string) string {
	s := ""
	p := &s
	for _, x := range list {
		s += x // cost: runtime.concatstring2 runtime.mallocgc; want
		if len(*p) > 4 {
			break
		}
	}
	return s
}

func toItself(list []string) string {
	s := "x"
	for range list {
		s += "(" + s + ")" // cost: runtime.concatstring3 runtime.mallocgc; want
	}
	return s
}

func replacedInside(list []string) string {
	s := ""
	for _, x := range list {
		s += x // cost: runtime.concatstring2 runtime.mallocgc; want
		s = strings.TrimSuffix(s, "b")
	}
	return s
}

func inHeads(list []string) string {
	s := ""
	for i := 0; len(s) < 8; s += "." + list[0] { // cost: runtime.concatstring3 runtime.mallocgc; want
		if s += "-" + fmt.Sprint(i); i > 3 {
			break
		}
		i++
	}
	return s
}

func labelled(rows [][]string) string {
	s := ""
outer:
	for _, row := range rows {
		for _, x := range row {
			if x == "c" {
				continue outer
			}
			s += x // cost: runtime.concatstring2 runtime.mallocgc; want
		}
	}
	return s
}

func runes(text string) string {
	var s string
	for _, r := range text {
		s += string(r+1) + string([]byte{'a', byte(r)}) // cost: runtime.concatstring3 runtime.mallocgc; want
	}
	return s
}

func inCase(n int, list []string) string {
	switch n {
	case 0:
		s := ""
		for _, x := range list {
			s += x // cost: runtime.concatstring2 runtime.mallocgc; want
		}
		return s
	}
	return "none"
}

func sliced(list []string) string {
	s := ""
	for _, x := range list {
		s += x // cost: runtime.concatstring2 runtime.mallocgc; want
		if s[len(s)-1:] == "b" {
			s += "!"
		}
		for i := range s {
			_ = s[i]
		}
	}
	return s[:len(s)/2]
}

func unused(list []string) int {
	s, rounds := "", 0
	for _, x := range list {
		rounds++
		if s += x; len(s) > 3 { // cost: runtime.concatstring2 runtime.mallocgc; want
			break
		}
	}
	return rounds
}

func again(list []string) string {
	s, n := "", 0
more:
	for _, x := range list {
		s += x // cost: runtime.concatstring2 runtime.mallocgc; want
	}
	s = strings.ToUpper(s)
	if n++; n < 2 {
		goto more
	}
	return s
}

func inLoop(list []string) (out []string) {
	for _, s := range list {
		for range 3 {
			s += "." // cost: runtime.concatstring2 runtime.mallocgc; want
		}
		out = append(out, s)
	}
	return out
}

func recovered(list []string) (n int) {
	s := ""
	defer func() { n = len(fmt.Sprint(recover())) }()
	for i := range 4 {
		s += list[i] // cost: runtime.concatstring2 runtime.mallocgc; want
	}
	panic(s)
}

func main() {
	rows := [][]string{{"a", "b", "c"}, nil, {"d"}, {"", "é", "c", "x"}}
	for _, list := range [][]string{nil, {"a"}, {"a", "b", "c"}, {"a", "", "b"}, {"", "b"}, {"0123456789", "ä", "0123456789"}} {
		a, n := twice(list)
		b, err := namedResult(list)
		fmt.Printf("%q %q %q %d %q %v\n", returned(list), declaredAbove(list), a, n, b, err)
		fmt.Printf("%q %q %q %q\n", notEmpty(list), fromCall(list), param("p", list), pair(list))
		fmt.Printf("%q %q %q %q\n", twoLoops(list, list), captured(list), compared(list), formatted(list))
		fmt.Printf("%q %q %q %q\n", early(list), pointed(list), toItself(list), replacedInside(list))
		if len(list) > 0 && list[0] != "" {
			fmt.Printf("%q %q\n", inHeads(list), sliced(list))
		}
		fmt.Printf("%q %q %d\n", inCase(0, list), inCase(1, list), unused(list))
		fmt.Printf("%q %q %d\n", again(list), inLoop(list), recovered(list))
		deferred(list)
		deferredEarly(list)
		deferredInside(list)
	}
	fmt.Printf("%q %q %q %q %q\n", nested(rows), perRow(rows), reset(rows), labelled(rows), runes("aé\xff→"))
}
