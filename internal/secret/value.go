package secret

import (
	"math"
	"regexp"
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

// known are values of a form that only secrets have. Each begins where a word does.
var known = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:` + strings.Join([]string{
		`eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)*`, // JWT
		`gh[pousr]_[A-Za-z0-9]{16,}`, `github_pat_[A-Za-z0-9_]{16,}`,
		`gl(?:pat|dt|rt|cbt|ptt|ft|soat)-[A-Za-z0-9_.-]{16,}`,
		`(?:AKIA|ASIA|AROA|ABIA|ACCA)[A-Z0-9]{12,}`,
		`sk-[A-Za-z0-9_-]{16,}`, `[sr]k_(?:live|test)_[A-Za-z0-9]{10,}`, `whsec_[A-Za-z0-9]{16,}`,
		`xox[a-z]-[A-Za-z0-9-]{8,}`, `xapp-[A-Za-z0-9-]{8,}`,
		`AIza[A-Za-z0-9_-]{30,}`, `ya29\.[A-Za-z0-9_-]{16,}`, `GOCSPX-[A-Za-z0-9_-]{16,}`,
		`npm_[A-Za-z0-9]{30,}`, `pypi-[A-Za-z0-9_-]{30,}`, `hf_[A-Za-z0-9]{30,}`,
		`SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`, `do[opr]_v1_[a-f0-9]{32,}`, `shp(?:at|ca|pa|ss)_[a-fA-F0-9]{24,}`,
		`hv[sbr]\.[A-Za-z0-9_-]{20,}`, `AGE-SECRET-KEY-1[A-Z0-9]{20,}`,
	}, "|") + `)`)
})

// knownStarts are what the values of known have in them, to find out quickly that a text has none.
var knownStarts = []string{
	"eyJ", "gh", "gl", "AKIA", "ASIA", "AROA", "ABIA", "ACCA", "sk-", "k_live_", "k_test_", "whsec_", "xox", "xapp-", "AIza", "ya29.", "GOCSPX-", "npm_",
	"pypi-", "hf_", "SG.", "_v1_", "shp", "hv", "AGE-",
}

// pem is a block of PEM, also in JSON, where its lines end in \n. What has no end is one when it is that of a private key.
var pem = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*-----[A-Za-z0-9+/=\s\\:,.\-]*?-----END [A-Z0-9 ]*-----|` +
		`-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z0-9 ]*-----(?:\s|\\[nr])*[A-Za-z0-9+/=\s\\]{16,}`)
})

// Known replaces values of a form that only secrets have, in a text of any kind. The text has as many lines as before.
func (h *Hider) Known(text string) string {
	if h == nil {
		return text
	}
	if strings.Contains(text, "-----BEGIN ") {
		text = pem().ReplaceAllStringFunc(text, func(block string) string {
			head, _, _ := strings.Cut(block[len("-----BEGIN "):], "-----")
			if strings.Contains(head, "CERTIFICATE") || strings.Contains(head, "PUBLIC KEY") {
				return block
			}
			h.N++
			return Mask + strings.Repeat("\n", strings.Count(block, "\n"))
		})
	}
	for _, s := range knownStarts {
		if strings.Contains(text, s) {
			return known().ReplaceAllStringFunc(text, func(value string) string { return h.hide(value) })
		}
	}
	return text
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
