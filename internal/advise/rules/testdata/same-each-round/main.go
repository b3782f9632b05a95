package main

import (
	"fmt"
	"regexp"
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

type product struct {
	name, desc string
	tags       []string
}

func byPointer(ps []*product, words []string) (n int) {
	for _, p := range ps {
		for _, w := range words {
			if strings.Contains(strings.ToLower(p.desc), w) { // cost: strings.ToLower; want
				n++
			}
		}
	}
	return n
}

func byValue(ps []product, words []string) (n int) {
	for _, p := range ps {
		for _, w := range words {
			if strings.Contains(strings.ToLower(p.desc), w) { // cost: strings.ToLower; want
				n++
			}
		}
	}
	return n
}

func named(ps []*product, words []string) (out []string) {
	for _, p := range ps {
		out = append(out, p.name)
		for range words {
			out = append(out, strings.ToUpper(p.name)) // cost: strings.ToUpper; want
		}
	}
	return out
}

// Nobody knows whether there is a product where there are no words, or no word that is long enough.
func sometimes(p *product, words []string) (n int) {
	for _, w := range words {
		if len(w) > 1 && strings.Contains(strings.ToLower(p.desc), w) { // cost: strings.ToLower; want
			n++
		}
	}
	return n
}

// The loop changes the product.
func changed(p *product, words []string) (n int) {
	for _, w := range words {
		n += strings.Count(strings.ToLower(p.desc), w) // cost: strings.ToLower
		p.desc += w
	}
	return n
}

// So it does here: by another name, as a whole, in a function, and by an address.
func aliased(p, q *product, list []product, words []string) (n int) {
	for _, w := range words {
		n += strings.Count(strings.ToLower(p.desc), w) // cost: strings.ToLower
		*q = product{desc: q.desc + w}
	}
	for _, w := range words {
		n += strings.Count(strings.ToLower(p.desc), w) // cost: strings.ToLower
		list[0] = product{desc: w}
	}
	for _, w := range words {
		n += strings.Count(strings.ToLower(p.desc), w) // cost: strings.ToLower
		q.add(w)
	}
	at := &q.desc
	for _, w := range words {
		n += strings.Count(strings.ToLower(p.desc), w) // cost: strings.ToLower
		*at += w
	}
	for _, w := range words {
		n += strings.Count(strings.ToLower(p.desc), w) // cost: strings.ToLower
		_ = append(list[:0], product{desc: w})
	}
	return n
}

func (p *product) add(w string) { p.desc += w }

func ofValue(v product, words []string) (n int) {
	q := &v
	for _, w := range words {
		n += strings.Count(strings.ToLower(v.desc), w) // cost: strings.ToLower
		q.add(w)
	}
	return n
}

func byAddress(s string, words []string) (n int) {
	at := &s
	for _, w := range words {
		n += strings.Count(strings.ToLower(s), w) // cost: strings.ToLower
		*at += w
	}
	return n
}

// The inner s is another one.
func hidden(list []string, s string) (n int) {
	for _, x := range list {
		n += len(strings.TrimSpace(s)) // cost: strings.TrimSpace; want
		{
			s := x + " "
			n += len(strings.TrimSpace(s)) // cost: strings.TrimSpace
		}
	}
	return n
}

func split(list []string, query string) (n int) {
	for _, s := range list {
		for _, w := range strings.Fields(strings.ToLower(query)) { // cost: strings.Fields, strings.ToLower; want
			if strings.Contains(s, w) {
				n++
			}
		}
	}
	return n
}

func wordsOf(s string) (out []string) {
	s = s[1:]
	for s != "" {
		i := strings.IndexByte(s, ' ')
		if i < 0 {
			return append(out, s)
		}
		out = append(out, s[:i])
		s = s[i+1:]
	}
	return out
}

func ofPackage(list []string, query string) (n int) {
	for _, s := range list {
		score := 0
		for _, w := range wordsOf(query) { // cost: main.wordsOf; want
			score += strings.Count(s, w)
		}
		n += score
	}
	return n
}

var wordsRE = regexp.MustCompile(`\W+`)

func parsed(q string) (out []string) {
	re := wordsRE
	for _, w := range re.Split(strings.ToLower(q), -1) {
		if w != "" {
			out = append(out, w)
		}
	}
	return out
}

func searched(ps []*product, query string) (n int) {
	for _, p := range ps {
		for _, w := range parsed(query) { // cost: main.parsed; want
			if strings.Contains(strings.ToLower(p.name), w) { // cost: strings.ToLower; want
				n++
			}
		}
	}
	return n
}

// What it prints before is seen when wordsOf panics.
func printed(list []string, query string) {
	for _, s := range list {
		fmt.Println(s)
		for _, w := range wordsOf(query) { // cost: main.wordsOf; want
			fmt.Println(w)
		}
	}
}

func try(f func()) {
	defer func() { fmt.Println(recover()) }()
	f()
}

func main() {
	p, q := &product{"N", "A b", nil}, &product{"M", "b", nil}
	for _, words := range [][]string{nil, {"b"}, {"a", "bb"}} {
		try(func() { fmt.Println(byPointer([]*product{p, nil}, words)) })
		try(func() { fmt.Println(sometimes(nil, words)) })
		try(func() { fmt.Println(named([]*product{p, q, nil}, words)) })
		fmt.Println(byPointer([]*product{p, q}, words), byValue([]product{*p, *q}, words), named([]*product{p, q}, words), sometimes(p, words), ofValue(*p, words), byAddress("b", words), hidden(words, "b "))
		list := []product{{desc: "x"}}
		fmt.Println(changed(q, words), aliased(q, q, list, words), aliased(&list[0], q, list, words), *q)
		try(func() { fmt.Println(ofPackage(words, "")) })
		try(func() { printed(words, "") })
		try(func() { fmt.Println(searched([]*product{nil}, "")) })
		try(func() { fmt.Println(searched([]*product{p, q, nil}, "b")) })
		fmt.Println(searched([]*product{p, q}, "n, m"), searched(nil, "x"))
		fmt.Println(split(words, "B a"), ofPackage(words, " b a"))
		printed(words, " b a")
	}
	list := []string{"Ab", "bA", "c"}
	fmt.Println(search(list, "AB"), search(nil, "A"), indented(list, 1, 2), table([][]string{list, list}, " x"), changing(list, "A"), later(list, "Y")[0](), parted(list, "a,b"), none(nil, ""), none(list, "a"))
}
