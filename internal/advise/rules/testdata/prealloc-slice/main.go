package main

import (
	"fmt"
	"io"
	"os"
	"reflect"
)

func fromNil(in []int) []int {
	var out []int
	for _, x := range in {
		out = append(out, 2*x) // cost: runtime.growslice runtime.mallocgc; want
	}
	return out
}

func fromEmpty(in map[string]int) int {
	list := []string{}
	for k := range in {
		list = append(list, k) // cost: runtime.growslice runtime.mallocgc; want
	}
	return len(list)
}

func fromMake(n int) (sum int) {
	list := make([]int, 0)
	for i := range n {
		list = append(list, i) // cost: runtime.growslice runtime.mallocgc; want
	}
	for _, x := range list {
		sum += x
	}
	return sum
}

func onto(out []string, in []int) []string {
	for _, x := range in {
		if x < 0 {
			return nil
		}
		out = append(out, fmt.Sprint(x)) // cost: runtime.growslice runtime.mallocgc; want
	}
	return out
}

func some(in []int) []int {
	var out []int
	for _, x := range in {
		if x%2 == 0 {
			continue
		}
		out = append(out, x) // cost: runtime.growslice runtime.mallocgc; want
	}
	return out
}

func roomy(in []int) []int {
	out := make([]int, 0, len(in))
	for _, x := range in {
		out = append(out, x+1) // cost: runtime.growslice runtime.mallocgc
	}
	return out
}

func counted(s string) (out []string) {
	list := make([]string, 0)
	for i := 0; i < len(s); i++ {
		list = append(list, s[i:i+1], "-") // cost: runtime.growslice runtime.mallocgc; want
	}
	return list
}

func backwards(in []int) []int {
	var out []int
	for i := len(in) - 1; i >= 0; i-- {
		out = append(out, in[i]) // cost: runtime.growslice runtime.mallocgc; want
	}
	return out
}

func between(from, to int) (sum int) {
	out := []int{}
	for i := from; i <= to; i++ {
		if i%3 == 0 {
			out = append(out, i) // cost: [cpu] runtime.growslice, [alloc_space*900] runtime.growslice, [alloc_objects] runtime.growslice; want
		} else if i%5 == 0 {
			out = append(out, i, i) // cost: runtime.growslice runtime.mallocgc
		}
	}
	return len(out)
}

func until(n, last int) (out []int, ok bool) {
	for i := 0; i < n; i++ {
		if i > last {
			return out, true
		}
		out = append(out, i) // cost: runtime.growslice runtime.mallocgc; want
	}
	return out, false
}

func letters(s string) []rune {
	var out []rune
	for _, r := range s {
		switch {
		case r == 'x':
			out = append(out, 'y') // cost: runtime.growslice runtime.mallocgc; want
		case r > 'a':
			out = append(out, r) // cost: runtime.growslice runtime.mallocgc
		}
	}
	return out
}

func moving(in []int) []int {
	out := []int{0}
	for i := 0; i < len(in); i++ {
		if in[i] < 0 {
			in = in[1:]
		}
		out = append(out, in[i]) // cost: runtime.growslice runtime.mallocgc; want
	}
	return out
}

func twoLoops(a []int, b map[int]bool) []int {
	var out []int
	for _, x := range a {
		out = append(out, x, -x) // cost: runtime.growslice runtime.mallocgc; want
	}
	for range b {
		out = append(out, 0) // cost: runtime.growslice runtime.mallocgc; want
	}
	return out
}

func nested(rows [][]int) (sum int) {
	var all []int
	for _, row := range rows {
		for _, x := range row {
			all = append(all, x+1) // cost: runtime.growslice runtime.mallocgc; want
		}
	}
	for _, x := range all {
		sum += x
	}
	return sum
}

func flat(rows [][]int) []int {
	var all []int
	for _, row := range rows {
		for _, x := range row {
			all = append(all, x+1) // cost: runtime.growslice runtime.mallocgc; want
		}
	}
	return all
}

// The lists of a map are counted as those of a list are.
func ofMaps(rows map[string]map[int]int) []int {
	all := make([]int, 0)
	for _, row := range rows {
		for _, x := range row {
			all = append(all, x, -x) // cost: runtime.growslice runtime.mallocgc; want
		}
	}
	return all
}

// An error leaves the room unused. What stands between does not change what is counted.
func checked(rows map[string][]int) ([]string, error) {
	all := make([]string, 0)
	seen := map[string]bool{}
	for name, row := range rows {
		if name == "" {
			return nil, fmt.Errorf("no name")
		}
		seen[name] = true
		for range row {
			all = append(all, name) // cost: runtime.growslice runtime.mallocgc; want
		}
	}
	return all, nil
}

// Each is put next to each.
func pairs(a []int, b []string) (out []string) {
	for _, x := range a {
		for _, y := range b {
			out = append(out, fmt.Sprint(x, y)) // cost: runtime.growslice runtime.mallocgc; want
		}
	}
	return out
}

type table struct{ rows []row }

type row struct{ cells []string }

// There may be something in it, and a field is counted.
func (t *table) onto(all []string) []string {
	for _, r := range t.rows {
		for _, c := range r.cells {
			all = append(all, c+"!") // cost: runtime.growslice runtime.mallocgc; want
		}
	}
	return all
}

// A row that is nil is not looked into.
func cellsOf(rows []*row) (all []string, err error) {
	for _, r := range rows {
		if r == nil {
			return nil, fmt.Errorf("no row")
		}
		for _, c := range r.cells {
			all = append(all, c+"!") // cost: runtime.growslice runtime.mallocgc; want
		}
	}
	return all, nil
}

// How many there will be is not known before, and room for one row is none.
func chosen(rows [][]int) (out []int) {
	for _, row := range rows {
		for _, x := range row {
			if x > 1 {
				continue
			}
			out = append(out, x) // cost: runtime.growslice runtime.mallocgc; want
		}
	}
	return out
}

func kept(in []int) int {
	var odd []int
	for _, x := range in {
		if x%2 == 1 {
			odd = append(odd, x) // cost: runtime.growslice runtime.mallocgc; want
		}
	}
	return len(odd)
}

// A tape is only indexed and measured, so nobody sees whether it is nil.
type tape struct {
	marks []rune
	at    int
}

func (t *tape) next() rune {
	if t.at == len(t.marks) {
		return 0
	}
	t.at++
	return t.marks[t.at-1]
}

func taped(text string) *tape {
	var t *tape
	var marks []rune
	for _, c := range text {
		marks = append(marks, c) // cost: runtime.growslice; want
	}
	t = new(tape)
	t.marks = marks
	return t
}

// A string of no letters is the same, whether their list is nil or not.
func shifted(text string) string {
	var out []rune
	for _, c := range text {
		out = append(out, c+1) // cost: runtime.growslice; want
	}
	return string(out)
}

// Each line gets room for a few, and not for all of them.
func lines(in []int) (out [][]int) {
	var line []int
	for _, x := range in {
		line = append(line, x) // cost: runtime.growslice; want
		if x == 0 {
			out = append(out, line)
			line = nil
		}
	}
	return append(out, line)
}

func someOfLines(in []int) (out []int) {
	var line []int
	for _, x := range in {
		switch {
		case x == 0:
			out = append(out, len(line))
			line = line[:0]
		case x > 0:
			line = append(line, x) // cost: runtime.growslice; want
		}
	}
	return out
}

func byAddress(in []int) (out []int) {
	line := []int{}
	for _, x := range in {
		line = append(line, x) // cost: runtime.growslice; want
		if x == 0 {
			cut(&line)
		}
	}
	return line
}

func cut(list *[]int) { *list = nil }

func rows(in [][]int) (out [][]int) {
	var line []int
	for _, row := range in {
		for _, x := range row {
			line = append(line, x+1) // cost: runtime.growslice; want
		}
		if len(line) > 2 {
			out, line = append(out, line), nil
		}
	}
	return append(out, line)
}

// A loop that ends early makes a short list each time.
func words(in []int) (out [][]int) {
	for len(in) > 0 {
		n := 0
		var word []int
		for _, x := range in {
			n++
			if x == 0 {
				break
			}
			word = append(word, x) // cost: runtime.growslice; want
		}
		out, in = append(out, word), in[n:]
	}
	return out
}

func word(in []int) []int {
	var word []int
	for _, x := range in {
		if x == 0 {
			return word
		}
		word = append(word, x) // cost: runtime.growslice; want
	}
	return word
}

// What is assigned to an element leaves the slice as long as it is.
func marked(in []int) []int {
	var out []int
	for i, x := range in {
		out = append(out, x) // cost: runtime.growslice; want
		out[i/2] = -x
	}
	return out
}

type part struct {
	name, value string
	notes       []string
}

func cutPart(text string) (before, after string) {
	for i := range len(text) {
		if text[i] == ';' {
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}

// Sections of a text are few, and only looked at.
func sections(text string) (n int) {
	var parts []part
	for text != "" {
		var name string
		name, text = cutPart(text)
		parts = append(parts, part{name: name}) // cost: [alloc_space*200] runtime.growslice, [alloc_objects] runtime.growslice; want
	}
	if len(parts) > 1 && parts[1].name == "x" {
		parts[1].notes = append(parts[1].notes, "y")
	}
	return longest(parts) + len(parts)
}

func longest(list []part) (n int) {
	for _, x := range list {
		n = max(n, len(x.name))
	}
	if len(list) > 3 {
		return longest2(list, n)
	}
	return n
}

func longest2(list []part, n int) int { return n + len(list[0].notes) }

// They are kept by who is given them.
func keptSections(text string) int {
	parts := []part{}
	for text != "" {
		var name string
		name, text = cutPart(text)
		parts = append(parts, part{name: name}) // cost: [alloc_space*200] runtime.growslice, [alloc_objects] runtime.growslice; want
	}
	return keepParts(parts)
}

var lastParts []part

func keepParts(list []part) int {
	lastParts = list
	return len(list)
}

func addressOf(text string) *part {
	var parts []part
	for text != "" {
		var name string
		name, text = cutPart(text)
		parts = append(parts, part{name: name}) // cost: [alloc_space*200] runtime.growslice, [alloc_objects] runtime.growslice; want
	}
	return &parts[0]
}

// Nobody may find out that there is a slice now where there was none.
func nilSections(text string) bool {
	var parts []part
	for text != "" {
		var name string
		name, text = cutPart(text)
		parts = append(parts, part{name: name}) // cost: [alloc_space*200] runtime.growslice, [alloc_objects] runtime.growslice; want
	}
	return noneOf(parts)
}

func noneOf(list []part) bool { return list == nil }

// Most arrays are larger than what fits on the stack.
func longSections(text string) (n int) {
	var parts []part
	for text != "" {
		var name string
		name, text = cutPart(text)
		parts = append(parts, part{name: name}) // cost: [alloc_space*900] runtime.growslice, [alloc_objects] runtime.growslice; want
	}
	return len(parts)
}

// Each round has a slice of its own, of which the next one may still know.
func rounds(texts []string) (n int) {
	for _, text := range texts {
		var parts []part
		for text != "" {
			var name string
			name, text = cutPart(text)
			parts = append(parts, part{name: name}) // cost: [alloc_space*200] runtime.growslice, [alloc_objects] runtime.growslice; want
		}
		n += len(parts)
	}
	return n
}

func everySecond(kv []any) []string {
	out := []string{}
	for i := 0; i < len(kv); i += 2 {
		out = append(out, kv[i].(string)) // cost: runtime.growslice; want
	}
	return out
}

func pairsOf(list []int) (out []int) {
	for i := 0; i+1 < len(list); i += 2 {
		out = append(out, list[i], list[i+1]) // cost: runtime.growslice; want
	}
	return out
}

func everyThird(from, to int) []int {
	out := make([]int, 0)
	for i := to; i > from; i -= 3 {
		out = append(out, i) // cost: runtime.growslice; want
	}
	return out
}

func fieldNames(t reflect.Type) []string {
	var out []string
	for i := 0; i < t.NumField(); i++ {
		out = append(out, t.Field(i).Name) // cost: runtime.growslice; want
	}
	return out
}

type limiter struct{ seen map[string][]int }

func (l *limiter) recent(c string) []int {
	var recent []int
	for _, t := range l.seen[c] {
		if t > 1 {
			recent = append(recent, t) // cost: runtime.growslice; want
		}
	}
	l.seen[c] = recent
	return recent
}

func (l *limiter) all(c string) []int {
	out := []int{}
	for _, t := range l.seen[c] {
		out = append(out, 2*t) // cost: runtime.growslice; want
	}
	return out
}

// The step changes, and so does the bound.
func steps(list []int) (out []int) {
	step := 1
	for i := 0; i < len(list); i += step {
		out = append(out, i) // cost: runtime.growslice; want
		step++
	}
	for i := 0; i < len(list); i += 2 {
		out = append(out, i) // cost: runtime.growslice; want
		list = list[1:]
	}
	return out
}

// The index may be out of range, which is seen only after what is written.
func doubled(w io.Writer, rows [][]int, i int) []int {
	out := []int{}
	fmt.Fprintln(w, "row", i)
	for _, v := range rows[i] {
		out = append(out, 2*v) // cost: runtime.growslice; want
	}
	return out
}

func rowOf(rows [][]int, i int) (out []int) {
	defer func() { fmt.Println(recover(), out) }()
	return doubled(os.Stdout, rows, i)
}

func main() {
	lengths()
	for _, text := range []string{"", "A", "?", "bx", "azyxwvutsrq", "Ab?c"} {
		fmt.Println(last(text), Large(text), Large(text) == nil, Small(text), boxed(text), len(keep))
	}
	for n := range 6 {
		kv, numbers := []any{"a", 1, "b", 2, "c"}[:min(n, 5)], []int{1, 2, 3, 4, 5}[:min(n, 5)]
		fmt.Println(everySecond(kv), pairsOf(numbers), pairsOf(numbers) == nil, everyThird(n, 4), steps(numbers))
	}
	fmt.Println(fieldNames(reflect.TypeFor[struct{ A, B int }]()), fieldNames(reflect.TypeFor[struct{}]()) == nil)
	l := &limiter{map[string][]int{"a": {1, 2, 3}}}
	fmt.Println(l.all("a"), l.all("b"), l.recent("a"), l.seen, l.recent("b") == nil)
	rowOf([][]int{{1}}, 0)
	rowOf([][]int{{1}}, 1)
	fmt.Println(sections("a;x;bb"), sections(""), sections("1;2;3;4;5;6"), keptSections("a"), addressOf("a").name, nilSections(""), longSections("a"), rounds([]string{"a;b"}))
	fmt.Println(lines([]int{1, 0, 2, 3, 0}), someOfLines([]int{1, 0, 2, 3, 0}), byAddress([]int{1, 0, 2}), rows([][]int{{1}, {2, 3}, {4}}), marked([]int{1, 2, 3}))
	fmt.Println(words([]int{1, 0, 2, 3}), word([]int{1, 0, 2, 3}))
	fmt.Println(shifted(""), shifted("é"))
	fmt.Println(taped("").next(), taped("é").next())
	fmt.Println(twoLoops(nil, nil) == nil, twoLoops([]int{1}, map[int]bool{7: true}), nested([][]int{{1}, nil, {2, 3}}), kept([]int{1, 2, 3}))
	fmt.Println(len(ofMaps(map[string]map[int]int{"a": {1: 2}, "b": {3: 4, 5: 6}})), ofMaps(nil) == nil, pairs([]int{1, 2}, []string{"a", "b"}), pairs(nil, nil) == nil)
	fmt.Println(checked(map[string][]int{"a": {1, 2}}))
	fmt.Println(checked(map[string][]int{"": {1, 2}}))
	fmt.Println((&table{[]row{{[]string{"a", "b"}}, {[]string{"c"}}}}).onto([]string{"x"}), (&table{}).onto(nil) == nil, chosen([][]int{{1, 2}, {3}}))
	fmt.Println(cellsOf([]*row{{[]string{"a"}}, nil}))
	fmt.Println(flat(nil) == nil, flat([][]int{nil}) == nil, flat([][]int{{1}, nil, {2, 3}}))
	fmt.Println(until(1<<62, 3))
	fmt.Println(counted(""), counted("ab"), backwards(nil) == nil, backwards([]int{1, 2}), between(3, 10), between(10, 3))
	fmt.Println(string(letters("axbcx")), letters("a") == nil, moving([]int{1, 2}))
	for _, in := range [][]int{nil, {}, {1}, {1, 2, 3, -4}} {
		out := fromNil(in)
		fmt.Println(out, out == nil, fromEmpty(map[string]int{"a": 1}), fromMake(len(in)-1), onto(nil, in) == nil, onto([]string{"x"}, in), some(in), roomy(in))
	}
}
