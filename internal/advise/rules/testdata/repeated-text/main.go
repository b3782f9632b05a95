package main

import (
	"fmt"
	"strings"
)

func placeholders(count int) string {
	if count < 1 {
		return ""
	}
	return strings.Repeat(",?", count)[1:] // cost: strings.Repeat strings.(*Builder).grow runtime.mallocgc; want
}

func indented(depth int, s string) string {
	return strings.Repeat("|", depth) + s // cost: strings.Repeat strings.(*Builder).grow runtime.mallocgc; want
}

func again(n int) string {
	return strings.Repeat(",?", n*2) // cost: strings.Repeat strings.(*Builder).grow runtime.mallocgc; want
}

func percent(n int) string {
	return strings.Repeat("%s ", n) // cost: strings.Repeat strings.(*Builder).grow runtime.mallocgc; want
}

// Long ones are not worth keeping.
func huge(n int) string {
	return strings.Repeat("<>", n) // cost: [alloc_space*9000] strings.Repeat strings.(*Builder).grow, [alloc_objects] strings.Repeat strings.(*Builder).grow
}

// Those of a few hundred bytes are.
func longer(n int) string {
	return strings.Repeat("ab", n) // cost: [alloc_space*300] strings.Repeat strings.(*Builder).grow, [alloc_objects] strings.Repeat strings.(*Builder).grow; want
}

// Package strings has spaces already.
func spaces(n int) string {
	return strings.Repeat("  ", n) // cost: strings.Repeat strings.(*Builder).grow runtime.mallocgc
}

func line(s string, n int) string {
	return strings.Repeat(s, n) // cost: strings.Repeat strings.(*Builder).grow runtime.mallocgc
}

func recovered(n int) (text any) {
	defer func() { text = recover() }()
	return indented(n, "")
}

func main() {
	fmt.Println(early)
	fmt.Println(placeholders(0), placeholders(1), placeholders(3), len(placeholders(64)), len(placeholders(65)))
	fmt.Println(indented(3, "x"), again(2), percent(2), spaces(2), line("=", 3))
	fmt.Println(recovered(0), recovered(-1), len(again(40)), huge(2), longer(2), len(longer(600)))
}

// It is asked before the variables are there that stand behind it, and that it does not name.
var early = drawn(lines{})

type drawer interface{ draw(n int) string }

func drawn(d drawer) string { return d.draw(3) }

type lines struct{}

func (lines) draw(n int) string {
	return strings.Repeat("-+", n) // cost: strings.Repeat; want
}
