package main

import (
	"fmt"
	"regexp"
)

// No POSIX pattern has a \d.
func posix(s string) bool {
	re, err := regexp.CompilePOSIX(`\d+`) // cost: regexp.CompilePOSIX regexp.compile; want
	if err != nil {
		return false
	}
	return re.MatchString(s)
}

// Each call has one of its own to overwrite.
func overwritten(s string) bool {
	vowels := regexp.MustCompile(`[aeiou]`) // cost: regexp.MustCompile regexp.compile; want
	ok := vowels.MatchString(s)
	*vowels = *once
	return ok
}

func decoded(s string) bool {
	digits := regexp.MustCompile(`[0-9]`) // cost: regexp.MustCompile regexp.compile; want
	ok := digits.MatchString(s)
	return digits.UnmarshalText([]byte("x")) == nil && ok
}

func printed() string {
	return fmt.Sprint(regexp.MustCompile(`[0-9]`)) // cost: regexp.MustCompile regexp.compile; want
}

func hard() {
	fmt.Println(posix("1"), overwritten("a"), overwritten("a"), decoded("1"), decoded("1"), printed())
}
