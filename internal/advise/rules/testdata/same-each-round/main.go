package main

import (
	"fmt"
	"strings"
)

func search(list []string, query string) (n int) {
	for _, s := range list {
		if strings.Contains(strings.ToLower(s), strings.ToLower(query)) { // cost: strings.ToLower; want
			n++
		}
	}
	return n
}

func indented(lines []string, depth, width int) string {
	var b strings.Builder
	for _, l := range lines {
		prefix := fmt.Sprintf("%d:%d ", depth, width) // cost: fmt.Sprintf; want
		b.WriteString(prefix)
		b.WriteString(l)
	}
	return b.String()
}

func table(rows [][]string, sep string) (n int) {
	for _, row := range rows {
		for range row {
			n += len(strings.TrimSpace(sep) + strings.TrimSpace(sep)) // cost: strings.TrimSpace; want
		}
	}
	return n
}

// changing is another text in each round.
func changing(list []string, query string) (n int) {
	for _, s := range list {
		n += strings.Count(strings.ToLower(s), strings.ToLower(query)) // cost: strings.ToLower
		query += s
	}
	return n
}

// later is called when it may have changed.
func later(list []string, query string) (all []func() string) {
	for range list {
		all = append(all, func() string { return strings.ToLower(query) }) // cost: strings.ToLower
	}
	query = "X"
	return all
}

// parted changes what it gets in each round.
func parted(list []string, s string) (n int) {
	for range list {
		parts := strings.Split(s, ",") // cost: strings.Split
		parts[0] += "x"
		n += len(parts[0])
	}
	return n
}

func first(s string) byte { return s[0] }

// none has nothing to look at when there is no round.
func none(list []string, s string) (n int) {
	for range list {
		n += int(first(s)) // cost: main.first
	}
	return n
}

func main() {
	list := []string{"Ab", "bA", "c"}
	fmt.Println(search(list, "AB"), search(nil, "A"), indented(list, 1, 2), table([][]string{list, list}, " x"), changing(list, "A"), later(list, "Y")[0](), parted(list, "a,b"), none(nil, ""), none(list, "a"))
}
