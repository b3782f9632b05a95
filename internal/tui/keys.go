package tui

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A key is one thing that a user does: a key that is pressed, or the mouse.
type key struct {
	name string // enter, esc, backspace, up, down, left, right, pageup, pagedown, home, end, click, wheelup, wheeldown, ctrl-c, or ""
	char rune   // of keys that write one
	x, y int    // of the mouse, from 0
}

// keyName returns the key that a terminal sends a sequence for, without what all sequences begin with, or "".
func keyName(sequence string) string {
	switch sequence {
	case "[A", "OA":
		return "up"
	case "[B", "OB":
		return "down"
	case "[C", "OC":
		return "right"
	case "[D", "OD":
		return "left"
	case "[H", "OH", "[1~", "[7~":
		return "home"
	case "[F", "OF", "[4~", "[8~":
		return "end"
	case "[5~":
		return "pageup"
	case "[6~":
		return "pagedown"
	}
	return ""
}

// decodeKey takes the first key off what a terminal sent. n is how many bytes that was: 0 when more must come first,
// unless no more is to come. A key without name and character means nothing.
func decodeKey(b []byte, last bool) (k key, n int) {
	const esc = 0x1b
	if len(b) == 0 {
		return k, 0
	}
	switch b[0] {
	case '\r', '\n':
		return key{name: "enter"}, 1
	case 0x7f, 0x08:
		return key{name: "backspace"}, 1
	case 0x03, 0x04:
		return key{name: "ctrl-c"}, 1
	case esc:
		return decodeEscape(b, last)
	}
	if !utf8.FullRune(b) && !last {
		return k, 0
	}
	r, n := utf8.DecodeRune(b)
	if r < ' ' || r == utf8.RuneError {
		return k, n
	}
	return key{char: r}, n
}

// decodeEscape does so for keys that begin with an escape.
func decodeEscape(b []byte, last bool) (k key, n int) {
	switch {
	case len(b) == 1 && !last:
		return k, 0
	case len(b) == 1 || b[1] != '[' && b[1] != 'O':
		return key{name: "esc"}, 1
	}
	const longest = 32
	end := 2
	if b[1] == '[' {
		for end < len(b) && (b[end] < 0x40 || b[end] > 0x7e) {
			end++
		}
	}
	switch {
	case end >= longest:
		return k, min(end+1, len(b)) // no key
	case end >= len(b) && !last:
		return k, 0
	case end >= len(b):
		return key{name: "esc"}, len(b)
	}
	sequence := string(b[1 : end+1])
	if strings.HasPrefix(sequence, "[<") {
		return decodeMouse(sequence[2:]), end + 1
	}
	return key{name: keyName(sequence)}, end + 1
}

// decodeMouse reads button;column;row and M for pressed or m for released.
func decodeMouse(s string) (k key) {
	parts := strings.Split(s[:len(s)-1], ";")
	var v [3]int
	if len(parts) != len(v) {
		return k
	}
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 {
			return k
		}
		v[i] = n
	}
	const wheel, moved = 64, 32
	k.x, k.y = v[1]-1, v[2]-1
	switch button := v[0]; {
	case s[len(s)-1] != 'M' || button&moved != 0:
	case button == 0:
		k.name = "click"
	case button == wheel:
		k.name = "wheelup"
	case button == wheel+1:
		k.name = "wheeldown"
	}
	return k
}

// decodeKeys takes all keys off b and returns what is left of it.
func decodeKeys(b []byte, last bool) (keys []key, rest []byte) {
	for {
		k, n := decodeKey(b, last)
		if n == 0 {
			return keys, bytes.Clone(b)
		}
		if k.name != "" || k.char != 0 {
			keys = append(keys, k)
		}
		b = b[n:]
	}
}
