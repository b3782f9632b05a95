package main

import (
	"bytes"
	"fmt"
)

type lexer struct {
	text []byte
	at   int
}

func newLexer(text []byte) *lexer { return &lexer{text: text} }

func (l *lexer) word() string {
	from := l.at
	for l.at < len(l.text) && l.text[l.at] != ' ' {
		l.at++
	}
	return string(l.text[from:l.at]) // cost: runtime.slicebytetostring; want
}

func (l *lexer) rest() string {
	return string(l.text[l.at:]) // cost: runtime.slicebytetostring
}

func (l *lexer) space() bool {
	if l.at == len(l.text) || l.text[l.at] != ' ' {
		return false
	}
	l.at++
	return true
}

func (l *lexer) whole() string { return string(l.text) }

// A line is looked at as bytes, too, so that there is no patch.
type line struct {
	raw  []byte
	from int
}

func (l *line) key() string {
	return string(l.raw[:l.from]) // cost: runtime.slicebytetostring; want
}

func (l *line) value() string {
	return string(l.raw[l.from+1:]) // cost: runtime.slicebytetostring
}

func parseLine(b []byte) *line {
	l := &line{}
	l.raw = b
	l.from = bytes.IndexByte(l.raw, '=')
	return l
}

// What is in a buffer changes: its texts have to be copies.
type buffer struct {
	data []byte
	n    int
}

func (b *buffer) add(s string) { b.data = append(b.data, s...) }

func (b *buffer) head() string {
	return string(b.data[:b.n]) // cost: runtime.slicebytetostring
}

func (b *buffer) tail() string {
	return string(b.data[b.n:]) // cost: runtime.slicebytetostring
}

// Bytes of these are written to.
type masked struct{ data []byte }

func (m *masked) first() string {
	return string(m.data[:1]) // cost: runtime.slicebytetostring
}

func (m *masked) last() string {
	return string(m.data[len(m.data)-1:]) // cost: runtime.slicebytetostring
}

func (m *masked) hide() { m.data[0] = '*' }

// A cursor gets new bytes again and again: one conversion each time may be as many.
type cursor struct{ data []byte }

func (c *cursor) set(b []byte) { c.data = b }

func (c *cursor) next(n int) string {
	s := string(c.data[:n]) // cost: runtime.slicebytetostring
	c.data = c.data[n:]
	return s
}

func (c *cursor) peek(n int) string {
	return string(c.data[:n]) // cost: runtime.slicebytetostring
}

// One place that copies is none too many.
type single struct{ data []byte }

func (s single) text(n int) string {
	return string(s.data[:n]) // cost: runtime.slicebytetostring
}

func main() {
	hard()
	l := newLexer([]byte("one two three"))
	fmt.Println(l.word(), l.space(), l.word(), l.rest(), l.whole())
	kv := parseLine([]byte("a=b"))
	fmt.Println(kv.key(), kv.value())
	b := &buffer{n: 1}
	b.add("xyz")
	fmt.Println(b.head(), b.tail())
	m := &masked{[]byte("secret")}
	m.hide()
	fmt.Println(m.first(), m.last())
	c := new(cursor)
	c.set([]byte("abc"))
	fmt.Println(c.peek(2), c.next(1), c.peek(2))
	fmt.Println(single{[]byte("one")}.text(2))
}
