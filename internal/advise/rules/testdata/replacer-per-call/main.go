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
	for _, s := range []string{"", "a b", "A:B", "<p>"} {
		fmt.Println(clean(s), inOne(s), given("a", s))
	}
}
