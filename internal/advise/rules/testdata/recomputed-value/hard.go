package main

import "fmt"

// An initial is not asked of a name that has none.
type person struct{ name string }

func initial(s string) string { return s[:1] }

func (p *person) initial() string {
	return initial(p.name) // cost: main.initial; want
}

// Two of these are compared with all that they have.
type tag struct{ text string }

func (t *tag) key() string {
	return clean(t.text) // cost: main.clean strings.ToLower; want
}

func sameTag(a, b *tag) bool { return *a == *b }

// A test makes these, too.
type tested struct{ label string }

func (t *tested) key() string {
	return clean(t.label) // cost: main.clean strings.ToLower; want
}

func hard() {
	nobody := &person{name: ""}
	one := &person{name: "x"}
	fmt.Println(nobody != nil, one.initial(), sameTag(&tag{text: "A"}, &tag{text: "a"}), (&tag{text: "A"}).key(), (&tested{label: "A"}).key())
}
