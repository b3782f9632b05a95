package main

import (
	"fmt"
	"regexp"
)

var (
	inside = regexp.MustCompile(`a\.b`)
	start  = regexp.MustCompile(`^ab`)
	end    = regexp.MustCompile(`ab$`)
	class  = regexp.MustCompile(`^\w+$`)
	fold   = regexp.MustCompile(`(?i)ab`)
)

func match(s string) (out [5]bool) {
	out[0] = inside.MatchString(s) // cost: regexp.(*Regexp).MatchString; want
	out[1] = start.MatchString(s)  // cost: regexp.(*Regexp).MatchString; want
	out[2] = end.MatchString(s)    // cost: regexp.(*Regexp).MatchString; want
	out[3] = class.MatchString(s)  // cost: regexp.(*Regexp).MatchString
	out[4] = fold.MatchString(s)   // cost: regexp.(*Regexp).MatchString
	return out
}

func main() {
	for _, s := range []string{"", "ab", "a.b", "xab", "abx", "ab\n", "a\nab", "AB"} {
		fmt.Println(match(s))
	}
}
