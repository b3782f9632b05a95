package gclog

import (
	"strings"
)

// A torn line is the beginning of a line about a cycle.
type torn struct {
	text   string
	cuts   []int // ends of its pieces, where it may have been cut
	before int   // bytes before it on its line
	line   int
	age    int // lines since
}

// maxAge is for how many lines the rest of a torn line is waited for.
const maxAge = 16

// join looks for the rest of a torn line in s and returns where that begins and ends.
func (p *Parser) join(s string) (begin, end int) {
	if p.torn == nil {
		return 0, 0
	}
	places := []int{0}
	if b := p.torn.before; b > 0 && b < len(s) {
		places = append(places, b) // behind the same prefix
	}
	const most = 8
	for i := 0; i < len(s) && len(places) < most; i++ {
		if s[i] == ' ' {
			places = append(places, i+1)
		}
		if strings.HasPrefix(s[i:], "gc") && isCycle(s[i:]) {
			s = s[:i] // what follows is the next of its kind
		}
	}
	for _, i := range places {
		if i >= len(s) {
			continue
		}
		if n := p.continued(p.torn, s[i:], len(p.torn.cuts)); n > 0 {
			p.torn = nil
			return i, i + n
		}
	}
	return 0, 0
}

// continued reads s as the rest of t, which was cut at one of the ends of its last pieces. It returns how much of s was
// needed, or 0.
func (p *Parser) continued(t *torn, s string, pieces int) int {
	const (
		maxJoins = 1 << 20 // so that a log made for it does not take forever
		longest  = 400     // bytes of a line about a cycle
	)
	if p.joins > maxJoins || s == "" || !strings.ContainsAny(s[:min(len(s), longest)], "Ppsf") {
		return 0 // no end of a line
	}
	for i := len(t.cuts) - 1; i >= max(0, len(t.cuts)-pieces); i-- {
		cut := t.cuts[i]
		if !follows(t.text[cut-1], s[0]) {
			continue
		}
		p.joins++
		sc := scanner{s: t.text[:cut] + s[:min(len(s), longest)]}
		if c, ok := sc.cycle(); ok && sc.at > cut && !insideWord(sc.s, sc.at) {
			c.Line = t.line
			p.add(c)
			return sc.at - cut
		}
	}
	return 0
}

// follows reports whether the runtime could write b after a.
func follows(a, b byte) bool {
	if isDigit(a) {
		return !isDigit(b)
	}
	return isDigit(b) || b == ' ' || b == '('
}

// insideWord reports whether at is in the middle of a word. The runtime ends a line with 2 P; a log of requests may have 920701 POST.
func insideWord(s string, at int) bool {
	return isLetter(s[at-1]) && at < len(s) && isLetter(s[at]) && !strings.HasPrefix(s[at:], "gc")
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// giveUp counts a torn line whose rest did not come.
func (p *Parser) giveUp() {
	if p.torn != nil {
		p.skipAt(cutShort, p.torn.line)
		p.torn = nil
	}
}
