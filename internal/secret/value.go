package secret

import (
	"math"
	"strings"
	"sync"
)

// harmless reports whether a value tells nothing, whatever its name is.
func harmless(value string) bool {
	v := strings.ToLower(strings.Trim(strings.TrimSpace(value), `"'`))
	switch v {
	case "", Mask, "true", "false", "yes", "no", "on", "off", "none", "null", "nil", "undefined", "0", "1", "redacted", "<redacted>", "[redacted]":
		return true
	}
	return strings.Trim(v, "*") == "" || strings.Trim(v, "x") == "" || // as others mask
		strings.HasPrefix(v, "${") && strings.HasSuffix(v, "}") || // names where the value is
		len(v) == 2 && v[0] == '%' // of a format
}

// A form is how a kind of secret begins, and what follows.
type form struct {
	start string
	least int // characters that follow
	in    func(c byte) bool
	dots  int // of the characters, how many have to be dots
}

func letterOrDigit(c byte) bool { return c >= 'a' && c <= 'z' || isUpper(c) || c >= '0' && c <= '9' }
func upperOrDigit(c byte) bool  { return isUpper(c) || c >= '0' && c <= '9' }
func hexDigit(c byte) bool      { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }
func base64url(c byte) bool     { return letterOrDigit(c) || c == '_' || c == '-' }
func dotted(c byte) bool        { return base64url(c) || c == '.' }

// forms are those that only secrets have.
var forms = []form{
	{"eyJ", 12, dotted, 1}, // JWT
	{"ghp_", 16, letterOrDigit, 0}, {"gho_", 16, letterOrDigit, 0}, {"ghu_", 16, letterOrDigit, 0}, {"ghs_", 16, letterOrDigit, 0},
	{"ghr_", 16, letterOrDigit, 0}, {"github_pat_", 16, base64url, 0},
	{"glpat-", 16, base64url, 0}, {"gldt-", 16, base64url, 0}, {"glrt-", 16, base64url, 0}, {"glcbt-", 16, base64url, 0}, {"glptt-", 16, base64url, 0},
	{"AKIA", 12, upperOrDigit, 0}, {"ASIA", 12, upperOrDigit, 0}, {"AROA", 12, upperOrDigit, 0}, {"ABIA", 12, upperOrDigit, 0},
	{"sk-", 16, base64url, 0}, {"sk_live_", 10, letterOrDigit, 0}, {"sk_test_", 10, letterOrDigit, 0}, {"rk_live_", 10, letterOrDigit, 0},
	{"rk_test_", 10, letterOrDigit, 0}, {"whsec_", 16, letterOrDigit, 0},
	{"xoxa-", 8, base64url, 0}, {"xoxb-", 8, base64url, 0}, {"xoxc-", 8, base64url, 0}, {"xoxd-", 8, base64url, 0}, {"xoxe-", 8, base64url, 0},
	{"xoxo-", 8, base64url, 0}, {"xoxp-", 8, base64url, 0}, {"xoxr-", 8, base64url, 0}, {"xoxs-", 8, base64url, 0}, {"xapp-", 8, base64url, 0},
	{"AIza", 30, base64url, 0}, {"ya29.", 16, base64url, 0}, {"GOCSPX-", 16, base64url, 0},
	{"npm_", 30, letterOrDigit, 0}, {"pypi-", 30, base64url, 0}, {"hf_", 30, letterOrDigit, 0}, {"SG.", 32, dotted, 1},
	{"dop_v1_", 32, hexDigit, 0}, {"doo_v1_", 32, hexDigit, 0}, {"dor_v1_", 32, hexDigit, 0},
	{"shpat_", 24, hexDigit, 0}, {"shpca_", 24, hexDigit, 0}, {"shppa_", 24, hexDigit, 0}, {"shpss_", 24, hexDigit, 0},
	{"hvs.", 20, base64url, 0}, {"hvb.", 20, base64url, 0}, {"hvr.", 20, base64url, 0}, {"AGE-SECRET-KEY-1", 20, upperOrDigit, 0},
}

// formsBy are the forms by their first byte.
var formsBy = sync.OnceValue(func() *[256][]form {
	by := new([256][]form)
	for _, f := range forms {
		by[f.start[0]] = append(by[f.start[0]], f)
	}
	return by
})

// known returns the length of the secret that a text begins with, or 0.
func known(text string) int {
	for _, f := range formsBy()[text[0]] {
		if !strings.HasPrefix(text, f.start) {
			continue
		}
		n := len(f.start)
		for n < len(text) && f.in(text[n]) {
			n++
		}
		for n > 0 && (text[n-1] == '.' || text[n-1] == '-') && text[n-1] != f.start[len(f.start)-1] {
			n-- // the end of a sentence
		}
		if n-len(f.start) >= f.least && strings.Count(text[len(f.start):n], ".") >= f.dots {
			return n
		}
	}
	return 0
}

// Known replaces values of a form that only secrets have, in a text of any kind. The text has as many lines as before.
func (h *Hider) Known(text string) string {
	if h == nil {
		return text
	}
	text = h.pem(text)
	var b strings.Builder
	done := 0 // of text, how much is in b
	for i := 0; i < len(text); i++ {
		if !letterOrDigit(text[i]) || i > 0 && (letterOrDigit(text[i-1]) || text[i-1] == '_') {
			continue // not where a word begins
		}
		if n := known(text[i:]); n > 0 {
			b.WriteString(text[done:i])
			b.WriteString(h.hide(text[i : i+n]))
			done = i + n
			i = done - 1
		}
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// What a block of PEM is between.
const (
	pemBegin = "-----BEGIN "
	pemEnd   = "-----END "
	pemDash  = "-----"
	maxHead  = 64 // bytes of the words that it begins with
)

// pem replaces blocks of PEM, also in JSON, where its lines end in \n. One may lack its end.
func (h *Hider) pem(text string) string {
	if !strings.Contains(text, pemBegin) {
		return text
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, pemBegin)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		head, _, ok := strings.Cut(rest[:min(len(rest), maxHead)], pemDash)
		n := len(pemBegin) + len(head) + len(pemDash)
		text = text[len(before):]
		if !ok || strings.ContainsFunc(head, func(r rune) bool { return !(isUpper(byte(r)) && r < 128 || r >= '0' && r <= '9' || r == ' ') }) ||
			strings.Contains(head, "CERTIFICATE") || strings.Contains(head, "PUBLIC KEY") {
			b.WriteString(pemBegin)
			text = rest
			continue
		}
		body := text[n:]
		length := 0
		for length < len(body) && (letterOrDigit(body[length]) || strings.IndexByte("+/=\\ \t\r\n:,.-", body[length]) >= 0) {
			if strings.HasPrefix(body[length:], pemDash) {
				break
			}
			length++
		}
		end := 0
		if tail, ok := strings.CutPrefix(body[length:], pemEnd); ok {
			if words, _, ok := strings.Cut(tail[:min(len(tail), maxHead)], pemDash); ok {
				end = len(pemEnd) + len(words) + len(pemDash)
			}
		}
		const leastKey = 16 // bytes of base64
		if end == 0 && (length < leastKey || !strings.Contains(head, "PRIVATE KEY")) {
			b.WriteString(pemBegin)
			text = rest
			continue
		}
		h.N++
		b.WriteString(Mask)
		b.WriteString(strings.Repeat("\n", strings.Count(text[:n+length+end], "\n")))
		text = body[length+end:]
	}
}

// Random strings: what random letters and digits have, and names and hashes do not.
const (
	leastRandom = 32
	mostRandom  = 512 // bytes of base64; what is longer is data, such as a picture
	mostLower   = 2.5 // lower letters in a row, on average: words have more
	entropy     = 3.8 // bits of a character
)

func randomByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '_' || c == '-' || c == '='
}

// isRandom reports whether a word is long, and a random mix of lower and upper letters and digits. Names have few digits, and in long
// runs; hashes and UUIDs have letters up to f, and in one case.
func isRandom(w string) bool {
	w = strings.TrimRight(w, "=")
	if len(w) < leastRandom || len(w) > mostRandom || strings.ContainsRune(w, '=') {
		return false
	}
	var counts [256]int
	var of [3]int // lower, upper, digits
	var runs [3]int
	last := -1
	for i := range len(w) {
		c := w[i]
		counts[c]++
		kind := -1
		switch {
		case c >= 'a' && c <= 'z':
			kind = 0
		case c >= 'A' && c <= 'Z':
			kind = 1
		case c >= '0' && c <= '9':
			kind = 2
		}
		if kind >= 0 {
			of[kind]++
			if kind != last {
				runs[kind]++
			}
		}
		last = kind
	}
	if of[0] == 0 || of[1] == 0 || runs[2] < 2 || float64(of[0]) > mostLower*float64(runs[0]) {
		return false
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(w))
			bits -= p * math.Log2(p)
		}
	}
	return bits >= entropy
}
