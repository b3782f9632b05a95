package query

import (
	"regexp"
	"strings"
	"sync"
)

// goName matches the parts of Go names that regexps read differently, and escapes, to skip them.
var goName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)\\.|\[\.\.\.\]|\(\*[^()*\\]+\)`)
})

// typeArgs matches the type arguments of a function in a regexp. Stack dumps and most profiles print them as [...]; symbol tables have them in full.
const typeArgs = `\[.*\]`

// Pattern returns the regexp for a text that is a regexp or the name of a function as Go prints it, such as codec.(*Decoder).Decode or
// main.(*Set[...]).Put. No name is mistaken for a regexp: (*T) is not valid in one, and nobody writes a class of three dots.
//
// A text that is neither is returned as it is. Pattern(Pattern(text)) is Pattern(text).
func Pattern(text string) string {
	if !strings.Contains(text, "(*") && !strings.Contains(text, "[...]") {
		return text
	}
	_, err := regexp.Compile(text)
	out := goName().ReplaceAllStringFunc(text, func(part string) string {
		switch {
		case part == "[...]":
			return typeArgs
		case part[0] == '(' && err != nil:
			return quoteName(part)
		}
		return part
	})
	if _, err := regexp.Compile(out); err != nil {
		return text
	}
	return out
}

// quoteName returns the regexp for a name.
func quoteName(name string) string {
	return strings.ReplaceAll(regexp.QuoteMeta(name), `\[\.\.\.\]`, typeArgs)
}
