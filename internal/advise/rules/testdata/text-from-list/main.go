package main

import (
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf8"
)

func snake(s string) string {
	out := make([]byte, 0, len(s)+4) // cost: runtime.makeslice
	for i := 0; i < len(s); i++ {
		if c := s[i]; 'A' <= c && c <= 'Z' {
			if len(out) > 0 {
				out = append(out, '_')
			}
			out = append(out, c+32)
			continue
		}
		out = append(out, s[i])
	}
	return string(out) // cost: runtime.slicebytetostring; want
}

func title(s string) string {
	out := []rune{}
	upper := true
	for _, r := range s {
		if upper {
			r = unicode.ToUpper(r)
		}
		upper = unicode.IsSpace(r)
		out = append(out, r) // cost: runtime.growslice
	}
	if len(out) == 0 {
		return "none"
	}
	return string(out) // cost: runtime.slicerunetostring; want
}

func listed(parts []string, b []byte) string {
	var text []byte
	for i, part := range parts {
		if i > 0 {
			text = append(text, ',', ' ')
		}
		text = append(text, part...) // cost: runtime.growslice
		text = append(text, []byte(":")...)
		text = append(text, b...)
		text = utf8.AppendRune(text, 'ä')
	}
	if len(text) > 20 {
		return "long: " + string(text) // cost: runtime.slicebytetostring; want
	}
	return string(text)
}

// numbered appends what a Builder can't.
func numbered(n int) string {
	var text []byte
	for i := range n {
		text = strconv.AppendInt(text, int64(i), 10)
		text = append(text, ' ') // cost: runtime.growslice
	}
	return string(text) // cost: runtime.slicebytetostring; want
}

// short is on the stack.
func short(n byte) string {
	text := make([]byte, 0, 8)
	text = append(text, n, '!')
	return string(text) // cost: runtime.slicebytetostring
}

// turned changes what is there.
func turned(s string) string {
	var out []byte
	for i := range len(s) {
		out = append(out, s[i]) // cost: runtime.growslice
	}
	out[0], out[len(out)-1] = out[len(out)-1], out[0]
	return string(out) // cost: runtime.slicebytetostring; want
}

// runes of what is no UTF-8 are other runes.
func runes(s string) string {
	var out []rune
	out = append(out, []rune(s)...) // cost: runtime.growslice
	return string(out)              // cost: runtime.slicerunetostring
}

// folded wants bytes in the end.
func folded(dst []byte, s string) (n int, short bool) {
	var out []rune
	for _, r := range s {
		out = append(out, unicode.ToLower(r)) // cost: runtime.growslice
	}
	text := []byte(string(out)) // cost: runtime.slicerunetostring; want
	n = copy(dst, text)
	return n, n < len(text)
}

// held may be asked whether its result is nil.
func held(s string) []byte {
	var out []rune
	for _, r := range s {
		out = append(out, unicode.ToLower(r)) // cost: runtime.growslice
	}
	text := []byte(string(out)) // cost: runtime.slicerunetostring; want
	return text
}

func main() {
	fmt.Println(folded(make([]byte, 3), "ÄBC"))
	fmt.Println(held("") == nil)
	for _, s := range []string{"", "aB", "HelloWorld", "ab\xffCd é"} {
		fmt.Printf("%q %q %q %q\n", snake(s), title(s), listed([]string{s, "x"}, []byte(s)), runes(s))
	}
	fmt.Println(numbered(3), short('a'), turned("abc"))
}
