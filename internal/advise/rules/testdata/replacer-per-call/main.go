package main

import (
	"fmt"
	"strings"
)

func clean(s string) string {
	r := strings.NewReplacer(" ", ".", ":", "_") // want
	return r.Replace(strings.ToLower(s))         // cost: strings.(*Replacer).Replace sync.(*Once).Do strings.(*Replacer).buildOnce strings.(*Replacer).build
}

func inOne(s string) string {
	return strings.NewReplacer("<", "&lt;").Replace(s) // cost: strings.(*Replacer).Replace strings.(*Replacer).build; want
}

func given(old, s string) string {
	return strings.NewReplacer(old, "x").Replace(s) // cost: strings.(*Replacer).Replace strings.(*Replacer).build; want
}

func main() {
	hard()
	fmt.Println(shortEarly, firstFile)
	for _, s := range []string{"", "a b", "A:B", "<p>"} {
		fmt.Println(clean(s), inOne(s), given("a", s))
	}
}

// A path is shown before a variable behind it would have its value.
type path struct{ name string }

type namer interface{ short() string }

var shortEarly = namer(path{"a/b"}).short()

func (p path) short() string {
	return strings.NewReplacer("/", ".").Replace(p.name) // cost: strings.(*Replacer).Replace strings.(*Replacer).build; want
}

// Nobody shows a file so early.
type file struct{ name string }

var firstFile = &file{"a b"}

func (f *file) String() string {
	return strings.NewReplacer(" ", "_").Replace(f.name) // cost: strings.(*Replacer).Replace strings.(*Replacer).build; want
}
