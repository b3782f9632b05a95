package main

import (
	"fmt"
	"regexp"
)

func compiled(s string) bool {
	re := regexp.MustCompile(`^a+$`) // cost: regexp.MustCompile regexp.Compile regexp.compile; want
	return re.MatchString(s)
}

// matched has a comment.
func matched(s string) bool {
	ok, _ := regexp.MatchString("b+", s) // cost: regexp.MatchString regexp.Compile regexp.compile; want
	return ok
}

func inBytes(b []byte) bool {
	if ok, _ := regexp.Match(`c`, b); ok { // cost: regexp.Match regexp.Compile regexp.compile; want
		return true
	}
	return false
}

func no(s string) string {
	if ok, _ := regexp.MatchString("no", s); !ok { // cost: regexp.MatchString regexp.Compile regexp.compile; want
		return ""
	}
	return s
}

func used(s string) (string, bool) {
	if ok, _ := regexp.MatchString("used", s); ok { // cost: regexp.MatchString regexp.Compile regexp.compile; want
		return s, ok
	}
	return "", false
}

func checked(s string) error {
	_, err := regexp.MatchString("d", s) // cost: regexp.MatchString regexp.Compile regexp.compile; want
	return err
}

func withError(s string) (bool, error) {
	re, err := regexp.Compile("e+") // cost: regexp.Compile regexp.compile; want
	if err != nil {
		return false, fmt.Errorf("withError: %w", err)
	}
	return re.MatchString(s) || re.MatchString(s+"e"), nil
}

func matchedWithError(s string) (bool, error) {
	matched, err := regexp.MatchString("f", s) // cost: regexp.MatchString regexp.Compile regexp.compile; want
	if err != nil {
		return false, err
	}
	return matched, nil
}

func errorUsedAgain(s string) (bool, error) {
	matched, err := regexp.MatchString("g", s) // cost: regexp.MatchString regexp.Compile regexp.compile; want
	if err != nil {
		return false, err
	}
	return matched, err
}

func unknown(pattern, s string) bool {
	return regexp.MustCompile(pattern).MatchString(s) // cost: regexp.MustCompile regexp.Compile regexp.compile; want
}

func matchedUnknown(word, s string) bool {
	ok, _ := regexp.MatchString("^"+word, s) // cost: regexp.MatchString regexp.Compile regexp.compile; want
	return ok
}

// What costs nothing is not looked at.
func cold(s string) bool {
	return regexp.MustCompile("cold").MatchString(s)
}

var once = regexp.MustCompile("once")

func good(s string) bool {
	return once.MatchString(s) // cost: regexp.(*Regexp).MatchString regexp.(*Regexp).doExecute
}

const pattern = "^[a-z]+$"

// The constant is not the one of the package that has the same name.
func isNumber(s string) bool {
	const pattern = "^[0-9]+$"
	return regexp.MustCompile(pattern).MatchString(s) // cost: regexp.MustCompile regexp.Compile regexp.compile; want
}

func isNumberToo(s string) bool {
	const pattern = `^[0-9]+$`
	ok, _ := regexp.MatchString(pattern, s) // cost: regexp.MatchString regexp.Compile regexp.compile; want
	return ok && pattern != ""
}

func main() {
	hard()
	fmt.Println(shownEarly, seenEarly)
	fmt.Println(isNumber("a"), isNumber("1"), isNumberToo("a"), isNumberToo("1"), pattern)
	for _, s := range []string{"", "aa", "b", "xcx", "d", "once", "cold", "no", "used"} {
		fmt.Println(no(s))
		fmt.Println(named(s), taken(s), changed(s))
		fmt.Println(used(s))
		fmt.Println(withError(s))
		fmt.Println(matchedWithError(s))
		fmt.Println(errorUsedAgain(s))
		fmt.Println(compiled(s), matched(s), inBytes([]byte(s)), checked(s), unknown("x", s), cold(s), good(s))
	}
}

// named has a name for it that the package can have.
func named(s string) string {
	spaces := regexp.MustCompile(`\s+`) // cost: regexp.MustCompile regexp.Compile regexp.compile; want
	return spaces.ReplaceAllString(s, " ")
}

// taken has a name for it that the package has for something else.
func taken(s string) bool {
	once := regexp.MustCompile("taken") // cost: regexp.MustCompile regexp.Compile regexp.compile; want
	return once.MatchString(s) || once.MatchString(s+s)
}

// changed may use another.
func changed(s string) bool {
	spaces := regexp.MustCompile("changed") // cost: regexp.MustCompile regexp.Compile regexp.compile; want
	if s == "" {
		spaces = once
	}
	return spaces.MatchString(s)
}

// A code is shown before a variable behind it would have its value.
type code string

var shownEarly = fmt.Sprint(struct{ c error }{code("a1b2")}.c, map[string]any{"k": code("c3")})

func (c code) Error() string { return letters(string(c)) }

func letters(s string) string {
	return regexp.MustCompile(`[0-9]`).ReplaceAllString(s, "") // cost: regexp.MustCompile regexp.Compile regexp.compile; want
}

// What the compiler sees to be needed comes first.
var seenEarly = digits("a1b2")

func digits(s string) string {
	return regexp.MustCompile(`[a-z]`).ReplaceAllString(s, "") // cost: regexp.MustCompile regexp.Compile regexp.compile; want
}
