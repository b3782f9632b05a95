package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
)

func sum(parts []string) string {
	h := sha256.New() // cost: crypto/sha256.New; want
	for _, s := range parts {
		io.WriteString(h, s)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

type parser struct {
	text  string
	words []string
}

func newParser(text string) *parser { return &parser{text: text} }

func (p *parser) Reset(text string) { p.text, p.words = text, p.words[:0] }

func (p *parser) parse() int {
	for w := range strings.FieldsSeq(p.text) {
		p.words = append(p.words, w)
	}
	return len(p.words)
}

func words(text string) int {
	p := newParser(text) // cost: main.newParser runtime.newobject; want
	return p.parse()     // cost: main.(*parser).parse runtime.growslice
}

type holder struct{ p *parser }

// keep needs one of its own.
func keep(text string) holder {
	p := newParser(text) // cost: main.newParser runtime.newobject
	return holder{p}
}

func main() {
	fmt.Println(sum([]string{"a", "b"}), sum(nil), words("a b"), keep("c").p.parse())
}
