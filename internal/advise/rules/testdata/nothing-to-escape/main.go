package main

import (
	"fmt"
	"strings"
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

func main() {
	for _, s := range []string{"", "a<b", "plain", "bad\xff", `say "\"`} {
		fmt.Printf("%q %q %q %q\n", html(s), quote(s), marked(s), lower(s))
	}
}
