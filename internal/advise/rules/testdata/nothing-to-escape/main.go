package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

func html(s string) string {
	var b strings.Builder
	for _, r := range s { // want
		switch r {
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		default:
			b.WriteRune(r) // cost: strings.(*Builder).WriteRune
		}
	}
	return b.String()
}

func quote(s string) string {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ { // want
		c := s[i]
		switch c {
		case '"', '\\':
			out = append(out, '\\', c)
		default:
			out = append(out, c) // cost: runtime.growslice
		}
	}
	return string(out)
}

// marked has something before the string.
func marked(s string) string {
	out := []byte{'>'}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			out = append(out, '\'')
		default:
			out = append(out, s[i]) // cost: runtime.growslice
		}
	}
	return string(out)
}

// lower changes all letters.
func lower(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			b.WriteByte('_')
		default:
			b.WriteByte(s[i] | 32) // cost: strings.(*Builder).WriteByte
		}
	}
	return b.String()
}

// clean keeps some letters.
func clean(name string) string {
	var out []rune
	for _, r := range name { // want
		if unicode.IsLetter(r) || r == '-' {
			out = append(out, r) // cost: runtime.growslice
		} else if r == ' ' {
			out = append(out, '_')
		}
	}
	return string(out)
}

func ascii(s string) string {
	var b strings.Builder
	for _, r := range s { // want
		if r < utf8.RuneSelf {
			b.WriteRune(r) // cost: strings.(*Builder).WriteRune
			continue
		}
		fmt.Fprintf(&b, "\\u%04x", r)
	}
	return b.String()
}

func lowered(s string) string {
	var b strings.Builder
	for _, r := range s { // want
		switch {
		case r == '_', r == '.':
			r = '-'
		case unicode.IsUpper(r):
			r = unicode.ToLower(r)
		}
		b.WriteRune(r) // cost: strings.(*Builder).WriteRune
	}
	return b.String()
}

// counted depends on more than the letter.
func counted(s string) string {
	var b strings.Builder
	for i, r := range s {
		if i > 2 && r == ' ' {
			continue
		}
		b.WriteRune(r) // cost: strings.(*Builder).WriteRune
	}
	return b.String()
}

// second returns what is not copied to.
func second(s string) string {
	var b, other strings.Builder
	for _, r := range s {
		if r == ' ' {
			other.WriteRune(r)
			continue
		}
		b.WriteRune(r) // cost: strings.(*Builder).WriteRune
	}
	return other.String()
}

func main() {
	for _, s := range []string{"", "a<b", "plain", "Pl ain-é", "bad\xff", `say "\"`} {
		fmt.Printf("%q %q %q %q %q %q %q %q %q\n", html(s), quote(s), marked(s), lower(s), clean(s), ascii(s), lowered(s), counted(s), second(s))
	}
}
