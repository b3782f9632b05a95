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

// columns measures text. What is ambiguous counts as narrow whatever the locale says, so that output only depends on
// what is printed.
var columns = &runewidth.Condition{StrictEmojiNeutral: true}

// width returns how many columns of a terminal s takes.
func width(s string) int {
	n, ok := plainWidth(s)
	if !ok {
		return columns.StringWidth(s)
	}
	return n
}

// plainWidth returns how many columns a text of narrow characters takes, or ok is false where it has others. Nearly all
// that is printed is narrow, and the tables that know about the rest take 2 MB: filling them is a third of what a small
// profile costs.
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

// narrow reports whether a character is one column wide, whatever stands beside it; not whether all others are not.
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

// mostShown is how many bytes of a text are shown: a name may be that of a type with all its fields, but nobody reads a page of one.
const mostShown = 4 << 10

// clean returns s with all that would move the cursor spelled out, and without its middle when it is long. Names come from files, and files from
// anybody.
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

// Message returns a text for standard error, where servers, files and programs may have had a say: all that would move the cursor is spelled
// out, but for the ends of lines and tabs.
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

// nameText returns the text of n, without long type arguments where there is no room for them.
func (f *formatter) nameText(n report.Name) string {
	s := clean(n.Text)
	if f.short {
		s = cutTypes(s, f.glyphs.dots)
	}
	return s
}

// cutTypes replaces type arguments by dots when they are long. The shape of a generic function spells its types out,
// down to the fields of structs.
func cutTypes(s, dots string) string {
	const fair = 24
	var out strings.Builder
	from, depth := 0, 0 // of the brackets that are open
	done := 0           // what is in out, of s
	for i := range len(s) {
		switch {
		case s[i] == '[' && depth == 0 && i > 0: // what starts with a bracket is the name of a program
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

// cutLeft shortens s to room columns. Its end says most about a function or a file, so the start goes: by whole path
// elements if that is enough.
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
	// Together, characters can be wider than each by itself.
	for cut < len(s) && width(s[cut:]) > room {
		_, n := utf8.DecodeRuneInString(s[cut:])
		cut += n
	}
	return dots + s[cut:]
}

// pathEnd returns where the path that s begins with ends: the receiver or the type arguments of a function, which may
// hold paths of their own, or else the end.
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
