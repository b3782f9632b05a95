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

func pair(s string) (string, string) {
	parts := strings.SplitN(s, "=", 2) // cost: strings.SplitN strings.genSplit; want
	if len(parts) != 2 {
		return s, ""
	}
	return parts[0], parts[1]
}

func number(s string) (whole, part string, err error) {
	parts := strings.Split(s, ".") // cost: strings.Split strings.genSplit; want
	if len(parts) == 1 {
		whole = s
	} else if len(parts) == 2 {
		whole = parts[0]
		part = parts[1]
	} else {
		err = fmt.Errorf("%q", s)
	}
	return
}

func atMostTwo(s string) string {
	parts := strings.Split(s, ":") // cost: strings.Split strings.genSplit; want
	if len(parts) > 2 || len(parts) > 1 && parts[1] == "" {
		return "no"
	}
	return parts[0]
}

// There is no second part in a text without a sign.
func panics(s string) string {
	parts := strings.SplitN(s+"=", "=", 2) // cost: strings.SplitN strings.genSplit; want
	return parts[1]
}

// The second of three is not all that comes behind the first.
func second(s string) string {
	parts := strings.Split(s, "/") // cost: strings.Split strings.genSplit; want
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}

func third(s string) string {
	parts := strings.Split(s, "/") // cost: strings.Split strings.genSplit
	if len(parts) < 3 {
		return ""
	}
	return parts[2]
}

func inReturn(s string) string {
	return "<" + strings.Split(s, ",")[0] + ">" // cost: strings.Split strings.genSplit; want
}

func inCondition(s string) bool {
	if s == "" {
		return false
	} else if strings.Split(s, ",")[0] == "a" { // cost: strings.Split strings.genSplit; want
		return true
	}
	switch strings.SplitN(s, "b", 2)[0] { // cost: strings.SplitN strings.genSplit; want
	case "", "a":
		return true
	}
	return false
}

func inIndex(counts map[string]int, s string) {
	counts[strings.Split(s, ",")[0]]++                          // cost: strings.Split strings.genSplit; want
	counts[strings.ToUpper(strings.Split(s, ",")[0])] += len(s) // cost: strings.Split strings.genSplit; want
}

// What next returns comes first, and it may change what is split.
func behind(next func() string, s *string) string {
	return next() + strings.Split(*s, ",")[0] // cost: strings.Split strings.genSplit; want
}

func onlyThen(s string) bool {
	return len(s) > 2 && strings.Split(s, ",")[0] == "ab" // cost: strings.Split strings.genSplit; want
}

func base(s string) string {
	parts := strings.Split(s, "/") // cost: strings.Split strings.genSplit; want
	return parts[len(parts)-1]
}

func lastOfMany(s string) string {
	parts := strings.Split(s, "ab") // cost: strings.Split strings.genSplit; want
	return parts[len(parts)-1]
}

func counted(s string) int {
	parts := strings.Split(s, ",") // cost: strings.Split strings.genSplit; want
	if len(parts) > 7 {
		return -1
	}
	return 10 * len(parts)
}

func main() {
	hard()
	for _, s := range []string{"", "=", "a", "a=b", "=b=", "a.b", ".", "1.2.3", ":", "a:b", "a:", "a:b:", "a/b/c", "/", "a/b"} {
		whole, part, err := number(s)
		one, two := pair(s)
		fmt.Printf("%q %q %q %q %v %q %q %q %q\n", one, two, whole, part, err, atMostTwo(s), panics(s), second(s), third(s))
	}
	for _, s := range []string{"", ",", "a", "a,b", "ab,abab ,", " a b "} {
		fmt.Printf("%q %q %d %d %q\n", first(s), given(s, "b"), each(s), count(s), all(s))
		counts := map[string]int{}
		inIndex(counts, s)
		fmt.Println(inReturn(s), inCondition(s), counts, behind(func() string { s += ",x"; return s }, &s), onlyThen(s), base(s), lastOfMany(s), counted(s))
	}
}
