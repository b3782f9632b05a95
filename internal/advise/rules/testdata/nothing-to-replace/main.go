package main

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	spaces  = regexp.MustCompile(`\s+`)
	escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")
	pairs   = regexp.MustCompile(`(?:<([a-z]+)>|&([a-z]+);)`)
	others  = regexp.MustCompile(`[^a-z]+`)
	folded  = regexp.MustCompile(`(?i)x`)
	maybe   = regexp.MustCompile(`x*`)
	codes   = filter()
)

func filter() *regexp.Regexp {
	esc := "\x1b"
	var end = "(" + regexp.QuoteMeta(esc+"\\") + "|\x07)"
	return regexp.MustCompile("(" + regexp.QuoteMeta(esc+"[") + "[0-9;]*m|" + esc + "].*?" + end + ")")
}

func width(s string) int {
	bare := codes.ReplaceAllLiteralString(s, "") // cost: regexp.(*Regexp).ReplaceAllLiteralString; want
	return len(bare)
}

func one(s string) string {
	s = spaces.ReplaceAllString(s, " ") // cost: regexp.(*Regexp).ReplaceAllString; want
	return strings.TrimSpace(s)
}

func plain(s string) string {
	return escapes.ReplaceAllString(s, "") // cost: regexp.(*Regexp).ReplaceAllString; want
}

func marked(s string) int {
	out := pairs.ReplaceAllString(s, "[$1$2]") // cost: regexp.(*Regexp).ReplaceAllString; want
	return len(out)
}

func counted(s string) int {
	return len(spaces.ReplaceAllLiteralString(s, "")) // cost: regexp.(*Regexp).ReplaceAllLiteralString; want
}

// any may match without any letter that is known.
func any(s string) string {
	s = others.ReplaceAllString(s, "-")   // cost: regexp.(*Regexp).ReplaceAllString
	s = folded.ReplaceAllString(s, "-")   // cost: regexp.(*Regexp).ReplaceAllString
	return maybe.ReplaceAllString(s, "-") // cost: regexp.(*Regexp).ReplaceAllString
}

func main() {
	for _, s := range []string{"", "ab", "a  b ", "\x1b[1mx\x1b[0m", "<b>&amp;", "X\xff y"} {
		fmt.Printf("%d %q %q %d %d %q\n", width(s), one(s), plain(s), marked(s), counted(s), any(s))
	}
}
