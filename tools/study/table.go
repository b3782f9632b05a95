package study

import "strings"

// Cell is a text that a cell of a Markdown table can hold.
func Cell(s string) string { return strings.NewReplacer("|", `\|`, "\n", " ").Replace(s) }

// YesNo is a cell that says whether something is so.
func YesNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}
