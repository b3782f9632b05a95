package secret

import "strings"

// userinfo replaces passwords in URLs, and in what MySQL takes for one.
func (h *Hider) userinfo(text string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "://")
		b.WriteString(before)
		if !ok {
			break
		}
		b.WriteString("://")
		text = rest
		at := userEnd(rest[:until(rest, " \t\r\n\"'`<>")])
		if at < 0 {
			continue
		}
		if user, password, ok := strings.Cut(rest[:at], ":"); ok && password != "" {
			b.WriteString(user + ":" + h.hide(password))
			text = rest[at:]
		}
	}
	text = b.String()
	for _, kind := range []string{"@tcp(", "@tcp6(", "@unix("} {
		if strings.Contains(text, kind) {
			text = h.before(text, kind)
		}
	}
	return text
}

// pathStarts are what ends the host of a URL.
const pathStarts = "/?#"

// userEnd returns where the @ behind the user and the password is in what stands behind the :// of a URL; -1 for none. In a password, /, ? and #
// have to be escaped. Many people do not do that, and many drivers take it: then all up to the last @ is the password, if what is in front of the
// path cannot be hosts.
func userEnd(rest string) int {
	rest, _, _ = strings.Cut(rest, "://") // of another URL
	hosts := rest[:until(rest, pathStarts)]
	if at := strings.LastIndexByte(hosts, '@'); at >= 0 {
		return at
	}
	if _, _, ok := strings.Cut(hosts, ":"); !ok || strings.HasPrefix(hosts, "[") { // [::1]
		return -1
	}
	for host := range strings.SplitSeq(hosts, ",") { // databases have several
		if _, port, ok := strings.Cut(host, ":"); ok && !isPort(port) {
			return strings.LastIndexByte(rest, '@')
		}
	}
	return -1
}

// isPort reports whether something is a port, or stands for one in a template, a format or a pattern.
func isPort(s string) bool {
	return strings.Trim(s, "0123456789") == "" || strings.ContainsAny(s[:1], "$%{*:")
}

// before replaces the passwords of users in front of something.
func (h *Hider) before(text, kind string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, kind)
		start := strings.LastIndexAny(before, " \t\r\n/\"'`=@") + 1
		if user, password, isPair := strings.Cut(before[start:], ":"); ok && isPair && password != "" {
			before = before[:start] + user + ":" + h.hide(password)
		}
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		b.WriteString(kind)
		text = rest
	}
}

// schemes replaces what the header Authorization has, also where that is not in front of it.
func (h *Hider) schemes(text string) string {
	var b strings.Builder
	done := 0
	for i := 0; i < len(text); i++ {
		if text[i]|0x20 != 'b' || i > 0 && letterOrDigit(text[i-1]) {
			continue
		}
		n := 0
		for _, scheme := range []string{"bearer", "basic"} {
			if len(text)-i > len(scheme) && strings.EqualFold(text[i:i+len(scheme)], scheme) {
				n = len(scheme)
			}
		}
		if n == 0 {
			continue
		}
		from := i + n
		for from < len(text) && (text[from] == ' ' || text[from] == '\t') {
			from++
		}
		to := from
		for to < len(text) && (letterOrDigit(text[to]) || strings.IndexByte("+/_.~-=", text[to]) >= 0) {
			to++
		}
		const least = 8
		if from == i+n || to-from < least || isProse(text[from:to]) {
			continue
		}
		b.WriteString(text[done:from])
		b.WriteString(h.hide(text[from:to]))
		done, i = to, to-1
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// isProse reports whether a word may be one of a sentence: letters, with an upper one at most in front.
func isProse(w string) bool {
	w = strings.TrimRight(w, ".,;:!?")
	for i := range len(w) {
		if c := w[i]; !(c >= 'a' && c <= 'z' || i == 0 && isUpper(c) || c == '-') {
			return false
		}
	}
	return true
}

// pairs replaces values that have the name of a secret in front of them:
//
//	name=value   name="value"   name = "value"   name: value   --name value
//	"name": "value"   Name:[value]   Name:value
func (h *Hider) pairs(text string) string {
	if !strings.ContainsAny(text, "=:-") {
		return text
	}
	var b strings.Builder
	done := 0 // of text, how much is in b
	for i := 0; i < len(text); {
		if !isLetter(text[i]) {
			i++
			continue
		}
		end := i + 1
		for end < len(text) && isNameByte(text[end]) {
			end++
		}
		if Name(text[i:end]) {
			if from, to := valueOf(text, i, end); to > from {
				b.WriteString(text[done:from])
				b.WriteString(h.hide(text[from:to]))
				done, end = to, to
			}
		}
		i = end
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

func isNameByte(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' || c == '-' || c == '.' }

// valueOf returns where the value is that belongs to the name between start and end, or nothing when it has none.
func valueOf(text string, start, end int) (from, to int) {
	rest := text[end:]
	at := end
	skip := func(n int) { at, rest = at+n, rest[n:] }
	blanks := func() int {
		n := len(rest) - len(strings.TrimLeft(rest, " \t"))
		skip(n)
		return n
	}
	// Behind a name in quotes all is a value.
	if q := quoteAt(text, start); q != "" && strings.HasPrefix(rest, q) {
		skip(len(q))
		blanks()
		if rest == "" || rest[0] != ':' && rest[0] != '=' {
			return 0, 0
		}
		skip(1)
		blanks()
		switch {
		case strings.HasPrefix(rest, q):
			return at + len(q), at + len(q) + closing(rest[len(q):], q)
		case rest != "" && rest[0] == '[':
			return at + 1, at + 1 + until(rest[1:], "]{}")
		}
		return at, at + until(rest, " \t\r\n,}]{[\"'")
	}
	if rest == "" {
		return 0, 0
	}
	switch spaces := blanks(); {
	case rest == "":
	case strings.HasPrefix(rest, ":=") || spaces > 0 && rest[0] == '=':
		skip(1 + strings.Index(rest, "="))
		blanks()
		return quotedValue(rest, at) // code, and files of settings
	case rest[0] == '=':
		skip(1)
		if from, to := quotedValue(rest, at); to > 0 {
			return from, to
		}
		return at, at + until(rest, " \t\r\n\"'`<>&;")
	case spaces == 0 && rest[0] == ':':
		skip(1)
		if rest != "" && rest[0] == '[' && isUpper(text[start]) { // of a struct or a map, as package fmt prints them
			return at + 1, at + 1 + until(rest[1:], "]\n")
		}
		if blanks() == 0 {
			if isUpper(text[start]) {
				return at, at + until(rest, " \t\r\n\"'`<>&;,}])")
			}
			return 0, 0
		}
		if from, to := quotedValue(rest, at); to > 0 {
			return from, to
		}
		if wholeLine(text[start:end]) {
			return at, at + until(rest, "\r\n\"'`\\")
		}
		if n := until(rest, " \t\r\n\"'`<>&;,}])"); !isProse(rest[:n]) {
			return at, at + n
		}
	case spaces > 0 && isFlag(text, start) && rest[0] != '-':
		if from, to := quotedValue(rest, at); to > 0 {
			return from, to
		}
		return at, at + until(rest, " \t\r\n\"'`<>&;|")
	}
	return 0, 0
}

// wholeLine reports whether a name is that of a header whose value has blanks in it.
func wholeLine(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, "authorization") || strings.HasSuffix(name, "cookie")
}

// quoteAt returns the quote in front of a place: one of a text in a text has backslashes.
func quoteAt(text string, at int) string {
	if at == 0 || text[at-1] != '"' && text[at-1] != '\'' {
		return ""
	}
	from := at - 1
	for from > 0 && text[from-1] == '\\' && at-from < 8 {
		from--
	}
	return text[from:at]
}

// closing returns how long the text in quotes is, which may lack its end.
func closing(text, quote string) int {
	for i := 0; i < len(text); i++ {
		if strings.HasPrefix(text[i:], quote) {
			return i
		}
		if text[i] == '\\' && len(quote) == 1 {
			i++ // what it stands in front of
		}
	}
	return len(text)
}

// quotedValue returns where the text is that a value in quotes has; to is 0 when it has none.
func quotedValue(rest string, at int) (from, to int) {
	n := len(rest) - len(strings.TrimLeft(rest, `\`))
	if n >= len(rest) || n > 7 || rest[n] != '"' && rest[n] != '\'' && (rest[n] != '`' || n > 0) {
		return 0, 0
	}
	q := rest[:n+1]
	return at + len(q), at + len(q) + closing(rest[len(q):], q)
}

func until(text, end string) int {
	if n := strings.IndexAny(text, end); n >= 0 {
		return n
	}
	return len(text)
}

// isFlag reports whether a name is behind one or two dashes that begin a word.
func isFlag(text string, start int) bool {
	before := strings.TrimRight(text[max(0, start-3):start], "-")
	dashes := min(start, 3) - len(before)
	return (dashes == 1 || dashes == 2) && (before == "" || strings.ContainsRune(" \t\n\"'`[(,=", rune(before[len(before)-1])))
}
