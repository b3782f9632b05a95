package render

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/report"
)

// columns measures text. It treats ambiguous characters as narrow in any locale, so that output depends only on the text.
var columns = &runewidth.Condition{StrictEmojiNeutral: true}

// width returns the number of terminal columns of s.
func width(s string) int {
	n, ok := plainWidth(s)
	if !ok {
		return columns.StringWidth(s)
	}
	return n
}

// plainWidth returns the width of a text that has only narrow characters; otherwise ok is false. Nearly all output is narrow, and this avoids loading
// the 2 MB of tables for other characters, which takes a third of the time of a small profile.
func plainWidth(s string) (n int, ok bool) {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return runesWidth(s)
		}
	}
	return len(s), true
}

func runesWidth(s string) (n int, ok bool) {
	for _, r := range s {
		if !narrow(r) {
			return 0, false
		}
		n++
	}
	return n, true
}

// narrow reports whether r is certainly one column wide. It may return false for other narrow characters.
func narrow(r rune) bool {
	switch {
	case r < 0x80,
		r >= 0xa0 && r < 0x300 && r != 0xad, // letters, ·, µ, ±, ×
		r >= 0x2010 && r < 0x2028,           // –, …
		r >= 0x2190 && r < 0x2200,           // arrows
		r >= 0x2500 && r < 0x25fd:           // lines, blocks, ▲, ▼
		return true
	}
	return false
}

func runeWidth(r rune) int {
	if narrow(r) {
		return 1
	}
	return columns.RuneWidth(r)
}

// mostShown is the maximum number of bytes of a name on display. A name can be a type with all its fields, a page long.
const mostShown = 4 << 10

// clean escapes control characters, and cuts the middle of long texts. Names come from files and can be hostile.
func clean(s string) string {
	s = profile.Shorten(s, mostShown)
	if printable(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unicode.IsGraphic(r) {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRune(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}

// Message escapes a text for standard error, which may contain text from servers, files and programs. It escapes control characters except newlines
// and tabs.
func Message(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		columns := strings.Split(line, "\t")
		for j, c := range columns {
			columns[j] = clean(c)
		}
		lines[i] = strings.Join(columns, "\t")
	}
	return strings.Join(lines, "\n")
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// nameText returns the text of n. If room is limited, it shortens type arguments.
func (f *formatter) nameText(n report.Name) string {
	s := clean(n.Text)
	if f.short {
		s = cutTypes(s, f.glyphs.dots)
	}
	return s
}

// qualified returns a text with paths of packages. If room is limited, it leaves the paths out.
func (f *formatter) qualified(q report.Qualified) string {
	s := clean(string(q))
	if !f.short || !strings.Contains(s, "/") {
		return s
	}
	var b strings.Builder
	for s != "" {
		end := strings.IndexFunc(s, func(r rune) bool { return !inPath(r) })
		if end < 0 {
			end = len(s)
		}
		b.WriteString(withoutPath(s[:end]))
		next := strings.IndexFunc(s[end:], inPath)
		if next < 0 {
			next = len(s) - end
		}
		b.WriteString(s[end : end+next])
		s = s[end+next:]
	}
	return b.String()
}

// inPath reports whether a character can be in the path of a package, or in a name behind it.
func inPath(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_.~%-/", r)
}

// withoutPath returns the last element of a path of a package with what is behind it, and for a major version, the element before.
func withoutPath(s string) string {
	s = majorVersion().ReplaceAllString(s, "$1$2")
	return s[strings.LastIndexByte(s, '/')+1:]
}

// cutTypes replaces long type arguments by dots. A generic function's shape has its types written out, including the fields of structs.
func cutTypes(s, dots string) string {
	const fair = 24
	var out strings.Builder
	from, depth := 0, 0 // open bracket
	done := 0           // length of s that is in out
	for i := range len(s) {
		switch {
		case s[i] == '[' && depth == 0 && i > 0: // a bracket at the start belongs to the name of a program, such as [vdso]
			from, depth = i, 1
		case s[i] == '[' && depth > 0:
			depth++
		case s[i] == ']' && depth > 0:
			depth--
			if depth == 0 && i-from > fair {
				out.WriteString(s[done:from+1] + dots)
				done = i
			}
		}
	}
	if done == 0 {
		return s
	}
	return out.String() + s[done:]
}

// cutLeft shortens s to room columns. The end of a function or file name says most, so it cuts the start, by whole path elements if possible.
func cutLeft(s string, room int, dots string) string {
	if width(s) <= room {
		return s
	}
	room -= width(dots)
	path := s[:pathEnd(s)]
	cut := len(s)
	for i := strings.LastIndexByte(path, '/'); i >= 0 && width(s[i:]) <= room; i = strings.LastIndexByte(path[:i], '/') {
		cut = i
	}
	if cut < len(s) {
		return dots + s[cut:]
	}
	for w := 0; cut > 0 && w <= room; {
		r, n := utf8.DecodeLastRuneInString(s[:cut])
		cut -= n
		w += runeWidth(r)
	}
	// Combined characters can be wider than the sum of their widths.
	for cut < len(s) && width(s[cut:]) > room {
		_, n := utf8.DecodeRuneInString(s[cut:])
		cut += n
	}
	return dots + s[cut:]
}

// pathEnd returns the end of the package path in s. It skips paths in receivers and type arguments.
func pathEnd(s string) int {
	if i := strings.IndexAny(s, "(["); i >= 0 {
		return i
	}
	return len(s)
}

// cutRight shortens s to room columns.
func cutRight(s string, room int, dots string) string {
	if width(s) <= room {
		return s
	}
	room = max(room, width(dots))
	if _, ok := plainWidth(s); ok {
		left := room - width(dots)
		for at := range s {
			if left--; left < 0 {
				return s[:at] + dots
			}
		}
	}
	return columns.Truncate(s, room, dots)
}
