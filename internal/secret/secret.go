// Package secret finds what looks like a password, a key or a token in the arguments, labels, URLs and texts that hone keeps, and puts …
// in its place: recordings are sent around.
//
// It goes by names (--token=…, password: …, ?api_key=…, Authorization: …), and by the form of values (a JWT, ghp_…, AKIA…, sk-…, xox…,
// PEM, long random strings). Both are guesses. What is no secret as a rule stays: numbers, hashes, UUIDs, versions, paths, and all that
// is called an ID.
//
// A Hider is used for all of one recording: what it found once by a name, it also hides where there is no name.
package secret

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// Mask is what stands in place of a secret.
const Mask = "…"

// A Hider replaces secrets. The zero Hider is ready to use, and a nil one keeps everything. It is not for several goroutines at once.
type Hider struct {
	N     int // how many were replaced
	found []string
}

// Limits of what is remembered, so that a profile with a million tokens for labels costs no more than one with some.
const (
	maxFound   = 256
	leastFound = 8 // bytes; what is shorter stands elsewhere by chance
	maxPasses  = 4
)

// hide returns the mask for a value, and remembers the value.
func (h *Hider) hide(value string) string {
	if harmless(value) {
		return value
	}
	h.N++
	h.remember(value)
	return Mask
}

// remember makes Again find a value. One of letters alone may be a word, as in session=production.
func (h *Hider) remember(value string) {
	value = strings.TrimSpace(value)
	letters := strings.IndexFunc(value, func(r rune) bool { return !(r >= 'a' && r <= 'z') && !(r >= 'A' && r <= 'Z') && r != ' ' }) < 0
	if len(value) < leastFound || letters || len(h.found) >= maxFound || slices.Contains(h.found, value) {
		return
	}
	h.found = append(h.found, value)
}

// Again replaces what was found before, in a text of any kind.
func (h *Hider) Again(text string) string {
	if h == nil {
		return text
	}
	for _, f := range h.found {
		if n := strings.Count(text, f); n > 0 {
			h.N += n
			text = strings.ReplaceAll(text, f, Mask)
		}
	}
	return text
}

// Pair returns the value of what is called name: a flag, a variable, a label, a header or a parameter.
func (h *Hider) Pair(name, value string) string {
	switch {
	case h == nil:
		return value
	case Name(name), isAuth(name) && strings.Contains(value, ":"):
		return h.hide(value)
	case isTest(name):
		return h.Known(value) // of the cases token=a and token=b
	case isIdentity(name):
		return h.Text(value)
	}
	return h.Plain(value)
}

// Header returns a field of HTTP, such as "Accept: text/html".
func (h *Hider) Header(field string) string {
	if h == nil {
		return field
	}
	name, value, ok := strings.Cut(field, ":")
	if !ok {
		return h.Plain(field)
	}
	trimmed := strings.TrimLeft(value, " \t")
	return name + ":" + value[:len(value)-len(trimmed)] + h.Pair(name, trimmed)
}

// Args returns the arguments of a program. Flags may have their values in them or behind them.
func (h *Hider) Args(args []string) []string {
	if h == nil || args == nil {
		return args
	}
	out := make([]string, len(args))
	for i, a := range args {
		before := ""
		if i > 0 {
			before = args[i-1]
		}
		out[i] = h.arg(before, a)
	}
	return out
}

// arg returns an argument that follows another.
func (h *Hider) arg(before, a string) string {
	if flag, ok := flagName(before); ok && !strings.HasPrefix(a, "-") {
		switch {
		case isHeader(flag):
			return h.Header(a)
		case Name(flag), isAuth(flag):
			return h.Pair(flag, a)
		}
	}
	switch name, value, ok := strings.Cut(a, "="); {
	case strings.HasPrefix(a, "-H") && strings.Contains(a, ":"):
		return "-H" + h.Header(a[len("-H"):])
	case ok && isWord(strings.TrimLeft(name, "-")):
		if isHeader(strings.TrimLeft(name, "-")) {
			return name + "=" + h.Header(value)
		}
		return name + "=" + h.Pair(strings.TrimLeft(name, "-"), value)
	}
	return h.Plain(a)
}

// flagName returns the name of a flag whose value, if any, is the next argument.
func flagName(a string) (string, bool) {
	name := strings.TrimLeft(a, "-")
	return name, len(name) < len(a) && isWord(name)
}

func isHeader(flag string) bool { return flag == "H" || flag == "header" || flag == "proxy-header" }

// Plain returns a value that nothing is known about: a text that may also be a secret as a whole.
func (h *Hider) Plain(value string) string {
	if h == nil {
		return value
	}
	if strings.Contains(value, "://") && !strings.ContainsAny(value, " \t\r\n\"'`{") {
		return h.URL(value)
	}
	return h.randomly(h.Text(value))
}

// randomly replaces the words of a text that are long and random.
func (h *Hider) randomly(text string) string {
	if len(text) < leastRandom {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		j := i
		for j < len(text) && randomByte(text[j]) {
			j++
		}
		word := text[i:j]
		// h1:… is the hash of a module, sha256:… of something else.
		isHash := i > 1 && text[i-1] == ':' && isWord(text[max(0, i-7):i-1])
		if !isHash && isRandom(word) {
			b.WriteString(h.hide(word))
		} else {
			b.WriteString(word)
		}
		for i = j; i < len(text) && !randomByte(text[i]); i++ {
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// URL returns a URL, with or without its scheme.
func (h *Hider) URL(u string) string {
	if h == nil {
		return u
	}
	scheme, rest, ok := strings.Cut(u, "://")
	if !ok {
		scheme, rest = "", u
	} else {
		scheme += "://"
	}
	at := strings.LastIndexByte(rest[:until(rest, pathStarts)], '@')
	if ok {
		at = userEnd(rest)
	}
	if at >= 0 {
		if user, password, ok := strings.Cut(rest[:at], ":"); ok {
			rest = user + ":" + h.hide(password) + rest[at:]
		}
	}
	rest, fragment, hasFragment := strings.Cut(scheme+rest, "#")
	place, query, hasQuery := strings.Cut(rest, "?")
	out := h.randomly(h.Text(place))
	if hasQuery {
		out += "?" + h.parameters(query)
	}
	if hasFragment {
		out += "#" + h.parameters(fragment) // where OAuth has tokens
	}
	return out
}

// parameters returns a query of a URL.
func (h *Hider) parameters(query string) string {
	all := strings.Split(query, "&")
	for i, p := range all {
		name, value, ok := strings.Cut(p, "=")
		if !ok {
			all[i] = h.randomly(h.Text(p))
			continue
		}
		plain := name
		if n, err := url.QueryUnescape(name); err == nil {
			plain = n
		}
		if Name(plain) {
			all[i] = name + "=" + h.hide(value)
		} else if !isIdentity(plain) {
			all[i] = name + "=" + h.randomly(h.Text(value))
		} else {
			all[i] = name + "=" + h.Known(value)
		}
	}
	return h.Text(strings.Join(all, "&"))
}

// Text returns running text: a log, a message, a document of JSON. It replaces values with names in front of them, and
// those of known form, but no random strings, of which texts have many that are no secrets.
func (h *Hider) Text(text string) string {
	if h == nil {
		return text
	}
	if !utf8.ValidString(text) {
		return h.pieces(text)
	}
	// What is replaced may have kept something beside it from being seen.
	for range maxPasses {
		next := h.pairs(h.schemes(h.userinfo(h.Known(h.Again(text)))))
		if next == text {
			break
		}
		text = next
	}
	return text
}

// pieces is Text for what is not all UTF-8, which stays as it is.
func (h *Hider) pieces(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		n := 0
		for n < len(text) {
			r, size := utf8.DecodeRuneInString(text[n:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			n += size
		}
		b.WriteString(h.Text(text[:n]))
		if text = text[n:]; len(text) > 0 {
			b.WriteByte(text[0])
			text = text[1:]
		}
	}
	return b.String()
}
