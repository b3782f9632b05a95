package main

import (
	"fmt"
	"sort"
)

// A scanner counts words and numbers with functions for its states.
type scanner struct {
	text           string
	at             int
	words, numbers int
	failed         error
}

type stateFn func() stateFn

func (s *scanner) run() {
	for state := s.between; state != nil; {
		state = state()
	}
}

func (s *scanner) between() stateFn {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == ' ':
			s.at++
		case c >= '0' && c <= '9':
			s.numbers++
			return s.inNumber // cost: runtime.newobject runtime.mallocgc; want
		case c == '?':
			return s.errorf("what is %q", c)
		default:
			s.words++
			return s.inWord // cost: [alloc_objects]
		}
	}
	return nil
}

func (s *scanner) errorf(format string, args ...any) stateFn {
	s.failed = fmt.Errorf(format, args...)
	return nil
}

func (s *scanner) inWord() stateFn {
	for s.at < len(s.text) && s.text[s.at] != ' ' {
		s.at++
	}
	return s.between // cost: runtime.newobject runtime.mallocgc
}

func (s *scanner) inNumber() stateFn {
	if s.at++; s.at == len(s.text) {
		return s.between()
	}
	if s.text[s.at] != ' ' {
		return func() stateFn { s.words = 0; return s.inNumber() }
	}
	return s.between // cost: runtime.newobject runtime.mallocgc
}

// A machine keeps its state in a field, where others can give it one.
type machine struct {
	next  step
	steps int
}

type step func() step

func (m *machine) start() step {
	m.steps++
	return m.stop // cost: runtime.newobject runtime.mallocgc; want
}

func (m *machine) stop() step { return nil }

func (m *machine) run() {
	for m.next = m.start; m.next != nil; {
		m.next = m.next()
	}
}

// A relay goes on with the state of another one.
type relay struct {
	name  string
	other *relay
	seen  *[]string
}

type leg func() leg

func (r *relay) first() leg {
	*r.seen = append(*r.seen, r.name)
	if r.other != nil {
		return r.other.first // cost: runtime.newobject runtime.mallocgc; want
	}
	return r.last
}

func (r *relay) last() leg {
	*r.seen = append(*r.seen, r.name)
	return nil
}

func (r *relay) run() {
	for l := r.first; l != nil; {
		l = l()
	}
}

// A tree is visited node by node.
type tree struct {
	sum  int
	each []func(int)
}

func (t *tree) add(n int) { t.sum += n }

func (t *tree) visit(lists [][]int) {
	for _, list := range lists {
		forEach(list, t.add) // cost: runtime.newobject runtime.mallocgc; want
	}
}

func forEach(list []int, do func(int)) {
	for _, n := range list {
		keep = do
		keep(n)
	}
}

var keep func(int)

func (t *tree) once(list []int) {
	forEach(list, t.add) // cost: runtime.newobject runtime.mallocgc; want
}

func other(trees []*tree, lists [][]int) {
	t := trees[0]
	for i, list := range lists {
		t = trees[i%len(trees)]
		forEach(list, t.add) // cost: runtime.newobject runtime.mallocgc; want
	}
	forEach(nil, t.add)
}

type byLength []string

func (b byLength) less(i, j int) bool { return len(b[i]) < len(b[j]) }

func sorted(lists [][]string) {
	for _, list := range lists {
		sort.Slice(list, byLength(list).less) // cost: [cpu] sort.Slice
		forEach(nil, (&tree{}).add)           // cost: runtime.newobject runtime.mallocgc
	}
}

func main() {
	pair := [2]tree{}
	both(&pair[0], &pair[1], [][]int{{1, 2}, {3}})
	fmt.Println(pair)
	s := &scanner{text: "one 23 two x1 4 567"}
	s.run()
	fmt.Println(s.words, s.numbers, s.failed)
	s = &scanner{text: "one 2 ? 3"}
	s.run()
	fmt.Println(s.words, s.numbers, s.failed)
	m := &machine{}
	m.run()
	fmt.Println(m.steps)
	var seen []string
	(&relay{"a", &relay{"b", nil, &seen}, &seen}).run()
	fmt.Println(seen)
	t := &tree{}
	t.visit([][]int{{1, 2}, {3}, nil})
	t.visit(nil)
	t.once([]int{4})
	u := &tree{}
	other([]*tree{t, u}, [][]int{{1}, {10}, {100}})
	fmt.Println(t.sum, u.sum)
	list := []string{"ccc", "a", "bb"}
	sorted([][]string{list})
	fmt.Println(list)
}

// Both patches declare a variable in one block.
func both(t, u *tree, lists [][]int) {
	for _, list := range lists {
		forEach(list, t.add) // cost: runtime.newobject runtime.mallocgc; want
	}
	for _, list := range lists {
		forEach(list, u.add) // cost: runtime.newobject runtime.mallocgc; want
	}
}
