package prove

import (
	"go/types"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Values that are wrong more often than others.
var (
	oddStrings = []string{
		"", " ", "a", "A", "é", "日本", "\x00", "\x7f", "\x80", "\xff", "a\xffb", "İ", "ß", "\u212a", "ſ", "\u2028", "a b", "0", "-1", "+1",
		"1e9", "007", "0x10", "1_000", "9223372036854775807", "9223372036854775808", "true", "a,b", ",", ",,", "a,,b", "/", "//", "a/b/", "\n",
		"a\nb", "\r\n", " a ", "%", "%41", "a=b", "=", "\"", "'", "\\", "<b>", "null", "😀", "e\u0301", "a:b", ":", "a.b", "..", ".",
		"foo bar", "Hello, World", "x y  z", "\t", "a\tb", "1.5", "-0", ".5", "5.", "1e400", "NaN", "{}", "[]", "[1,2]", `{"a":1}`, "a&b", "#",
		"ÀÉ", "ǅ", "\ufeffa", "a;b", "key=value", "-", "--a", "a-b", "_", "a_b", "aB", "ABC", "abcdefgh", "abcdefghi",
	}
	oddLengths = []int{2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000}
	oddChars   = []rune{'a', 'Z', '0', ' ', '\n', '\t', '\x00', '\x7f', 'é', 'ß', 'İ', '日', '😀', utf8.RuneError, unicode.MaxRune, -1, 0x80, 0xff, 0x100, 0x7ff, 0x800, 0xffff, 0x10000, 0xd800, ',', '/', '_', '-', '.'}
)

// fewChars is how many characters a function that takes texts apart by them has at least.
const fewChars = 6

// str makes a string.
func (g *gen) str() string {
	d := g.dict
	near, all := d.texts[d.near], d.texts[""]
	var s string
	switch n := g.rng.IntN(100); {
	case len(d.chars[d.near]) >= fewChars && g.chance(15):
		s = g.tokens()
	case g.chance(8) && len(g.lengths()) > 0:
		s = g.uniform()
	case n < 6 && len(d.fresh.texts) > 0:
		s = pick(g, d.fresh.texts)
	case n < 25 && len(near) > 0:
		s = pick(g, near)
	case n < 38 && len(all) > 0:
		s = pick(g, all)
	case n < 44 && len(d.patterns) > 0:
		s = g.matching(pick(g, d.patterns), 0)
	case n < 50 && len(d.bodies) > 0:
		s = g.json(pick(g, d.bodies), 0)
	case n < 75:
		s = pick(g, oddStrings)
	case n < 81:
		s = g.joined()
	case n < 88:
		s = g.tokens()
	case n < 92:
		s = g.uniform()
	default:
		s = g.random()
	}
	for g.chance(40) {
		s = g.mutateText(s)
	}
	return s
}

// str makes a string, and what it takes for one to have to do with another: what was registered is looked up, and what is almost the same.
func (b *builder) str() string {
	var s string
	switch {
	case len(b.said) > 0 && b.chance(20):
		if s = pick(b.gen, b.said); b.chance(50) {
			s = b.related(s)
		}
	case b.routing && b.chance(15): // Handle("GET", …)
		s = pick(b.gen, methods)
	case b.routing && b.chance(60) || b.new.pkg.Imports["net/http"] != nil && b.chance(10):
		s = b.route()
	default:
		s = b.gen.str()
	}
	if len(b.said) < mostSaid {
		b.said = append(b.said, s)
	}
	return s
}

// joined puts words from the dictionary together.
func (g *gen) joined() string {
	var words []string
	sep := pick(g, []string{"", " ", ",", "\n", "/", ":", ";", "&", "=", ".", "-", ", ", "\t", "|"})
	for range 1 + g.rng.IntN(5) {
		switch near := g.dict.texts[g.dict.near]; {
		case len(near) > 0 && g.chance(50):
			words = append(words, pick(g, near))
		case g.chance(30):
			words = append(words, strconv.FormatInt(g.integer(types.Typ[types.Int16]), 10))
		default:
			words = append(words, pick(g, oddStrings))
		}
	}
	return strings.Join(words, sep)
}

// tokens puts together what the code takes texts apart by: its characters and short words, and what may stand between them.
func (g *gen) tokens() string {
	chars, words := g.dict.chars[g.dict.near], g.dict.texts[g.dict.near]
	if len(chars) == 0 {
		chars = g.dict.chars[""]
	}
	var b strings.Builder
	for range 1 + g.rng.IntN(10) {
		switch c := g.rng.IntN(10); {
		case c < 6 && len(chars) > 0:
			r := pick(g, chars)
			b.WriteRune(r)
			if g.chance(25) { // quotes with nothing between them, separators without words
				b.WriteRune(r)
			}
		case c < 7 && len(words) > 0:
			if w := pick(g, words); len(w) < 8 {
				b.WriteString(w)
			}
		case c < 8:
			b.WriteByte(' ')
		default:
			b.WriteString(pick(g, []string{"a", "b", "x", "1", "0", "A", "ab"}))
		}
	}
	return b.String()
}

// alphabets are what texts of one kind of character are made of.
var alphabets = []string{"0123456789", "0123456789abcdef", "0123456789ABCDEF", "abcdefghijklmnopqrstuvwxyz", "01",
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", "0123456789ABCDEFGHJKMNPQRSTVWXYZ"}

// uniform makes a string of one kind of character, as codes, keys and numbers are: often in an alphabet of the code, and as long as that
// asks for.
func (g *gen) uniform() string {
	from := pick(g, alphabets)
	if near := g.dict.texts[g.dict.near]; len(near) > 0 && g.chance(60) {
		if t := pick(g, near); len(t) > 7 && len(t) < 100 && !strings.Contains(t, " ") {
			from = t
		}
	}
	n := g.length()
	if lengths := g.lengths(); len(lengths) > 0 && g.chance(70) {
		n = pick(g, lengths)
	}
	b := make([]byte, min(n, 300))
	for i := range b {
		b[i] = from[g.rng.IntN(len(from))]
	}
	return string(b)
}

// lengths returns the numbers of the code that may be the length of a text.
func (g *gen) lengths() (out []int) {
	for _, n := range g.dict.numbers[g.dict.near] {
		if n > 3 && n < 200 {
			out = append(out, int(n))
		}
	}
	return out
}

// random makes a string of characters that the code knows.
func (g *gen) random() string {
	near := strings.Join(g.dict.texts[g.dict.near], "")
	n := g.rng.IntN(12)
	if g.chance(15) {
		n = g.length()
	}
	var b strings.Builder
	for range n {
		switch c := g.rng.IntN(10); {
		case c < 4 && near != "":
			b.WriteByte(near[g.rng.IntN(len(near))])
		case c < 5:
			b.WriteRune(g.char())
		case c < 7:
			b.WriteByte(byte('0' + g.rng.IntN(10)))
		default:
			b.WriteByte("abcxyzABCXYZ _-,./\n"[g.rng.IntN(19)])
		}
	}
	return b.String()
}

// length makes a length that may be a limit: of machines, or of the code.
func (g *gen) length() int {
	if near := g.dict.numbers[g.dict.near]; len(near) > 0 && g.chance(40) {
		n := pick(g, near) + int64(g.rng.IntN(3)) - 1
		if n >= 0 && (n <= 1<<10 || n <= 1<<17 && g.sized && g.chance(10)) {
			return int(n)
		}
	}
	return pick(g, oddLengths)
}

// mutateText changes a string a little.
func (g *gen) mutateText(s string) string {
	// Both ends matter more than what is between them.
	place := func(n int) int {
		switch c := g.rng.IntN(10); {
		case c < 2:
			return n - 1
		case c < 3:
			return 0
		}
		return g.rng.IntN(n)
	}
	cut := func() int { return place(len(s) + 1) }
	if s == "" {
		return pick(g, oddStrings)
	}
	switch g.rng.IntN(15) {
	case 0:
		return s[:cut()]
	case 1:
		return s[cut():]
	case 2:
		return s + s
	case 3:
		i := cut()
		return s[:i] + string([]byte{pick(g, []byte{0, 0x7f, 0x80, 0xff, ' ', '\n', '0', 'a', 'Z', '"', '\\', ',', '+', '-', '.'})}) + s[i:]
	case 4:
		i := cut()
		return s[:i] + string(g.char()) + s[i:]
	case 5:
		i := g.rng.IntN(len(s))
		return s[:i] + s[i+1:]
	case 6:
		i := cut()
		return s[:i] + pick(g, oddStrings) + s[i:]
	case 7:
		if near := g.dict.texts[g.dict.near]; len(near) > 0 {
			i := cut()
			return s[:i] + pick(g, near) + s[i:]
		}
		return s + " "
	case 8:
		if len(s) < 200 {
			n := g.length()
			return strings.Repeat(s, n/len(s)+1)[:n]
		}
		return strings.ToUpper(s)
	case 9:
		return pick(g, []string{" ", "\t", "\n", "+", "-", "0"}) + s
	case 10:
		return s + pick(g, []string{" ", "\n", "0", ",", "/", "é", "\xff", "\x00"})
	case 11:
		i := g.rng.IntN(len(s))
		b := []byte(s)
		b[i] ^= 1 << g.rng.IntN(8)
		return string(b)
	case 12: // as if a key was missed
		b := []byte(s)
		b[place(len(b))] = s[g.rng.IntN(len(s))]
		return string(b)
	case 13:
		b := []byte(s)
		b[place(len(b))] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[g.rng.IntN(62)]
		return string(b)
	default:
		r := []rune(s)
		r[place(len(r))] = g.char()
		return string(r)
	}
}

// related makes a string that has to do with s.
func (g *gen) related(s string) string {
	switch g.rng.IntN(8) {
	case 0:
		return s
	case 5, 6: // the same but for a character, or its case
		if s == "" {
			return s
		}
		b := []byte(s)
		if i := g.rng.IntN(len(b)); g.chance(50) {
			b[i] ^= 0x20
		} else {
			b[i] = byte(g.rng.IntN(256))
		}
		return string(b)
	case 1:
		return strings.ToUpper(s)
	case 2:
		return strings.ToLower(s)
	case 3:
		return s[g.rng.IntN(len(s)+1):]
	case 4:
		return s[:g.rng.IntN(len(s)+1)]
	}
	return g.mutateText(s)
}

// char makes a character.
func (g *gen) char() rune {
	if near := g.dict.chars[g.dict.near]; len(near) > 0 && g.chance(40) {
		return pick(g, near)
	}
	if near := strings.Join(g.dict.texts[g.dict.near], ""); near != "" && g.chance(30) {
		r := []rune(near)
		return r[g.rng.IntN(len(r))]
	}
	if g.chance(30) {
		return rune(' ' + g.rng.IntN(95))
	}
	return pick(g, oddChars)
}

// word makes a string as people would write.
func (g *gen) word() string {
	near := g.dict.texts[g.dict.near]
	switch c := g.rng.IntN(10); {
	case c < 3 && len(near) > 0:
		return pick(g, near)
	case c < 4 && len(g.dict.patterns) > 0:
		return g.matching(pick(g, g.dict.patterns), 0)
	case c < 8:
		return pick(g, oddStrings)
	}
	return g.random()
}
