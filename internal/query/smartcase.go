package query

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// Capitals in these are no text: \S, \PL, \p{Greek}, (?P<Name>…), (?U).
var noText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)\\[pP]\{[^}]*\}|\\[pP]?.|\(\?(?:P?<\w+>|[a-zA-Z-]+[:)])`)
})

// IgnoreCase is how a regexp begins that matches both cases.
const IgnoreCase = "(?i)"

// SmartCase returns the regexp for a text in a search box: without a capital letter, it matches both cases. Filters match exactly, as in pprof.
func SmartCase(rx string) string {
	if strings.ContainsFunc(noText().ReplaceAllString(rx, ""), func(r rune) bool { return unicode.IsUpper(r) || unicode.IsTitle(r) }) {
		return rx
	}
	return IgnoreCase + rx
}
