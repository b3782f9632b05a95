package query

import (
	"regexp"
	"strings"
	"unicode"
)

// Capitals in these are no text: \S, \PL, \p{Greek}, (?P<Name>…), (?U).
var noText = regexp.MustCompile(`(?s)\\[pP]\{[^}]*\}|\\[pP]?.|\(\?(?:P?<\w+>|[a-zA-Z-]+[:)])`)

// SmartCase returns the regexp that somebody means who types one into a search box: without a capital letter it matches both cases, and
// with one only what is spelled like that. Filters are as in pprof, and always exact.
func SmartCase(rx string) string {
	if strings.ContainsFunc(noText.ReplaceAllString(rx, ""), func(r rune) bool { return unicode.IsUpper(r) || unicode.IsTitle(r) }) {
		return rx
	}
	return "(?i)" + rx
}
