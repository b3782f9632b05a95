package gclog

import (
	"slices"
	"strings"
)

// A pieceKind is what the runtime can begin to say anywhere on a line.
type pieceKind int

const (
	nothing pieceKind = iota
	cyclePiece
	scvgPiece // the scavenger up to Go 1.13
	scavPiece // and from Go 1.14 on
	pacerPiece
	forcedPiece
	schedPiece
)

// starts are the texts that pieces begin with.
var starts = []struct {
	text string
	kind pieceKind
	is   func(s string) bool // whether s, which begins with text, is such a piece
}{
	{"gc", cyclePiece, isCycle},
	{"scvg", scvgPiece, func(s string) bool { return strings.HasPrefix(afterDigits(s[4:]), ": ") }},
	{"scav ", scavPiece, func(s string) bool { return afterDigits(s[5:]) != s[5:] && strings.Contains(s, "KiB") }},
	{"pacer: ", pacerPiece, nil},
	{"GC forced", forcedPiece, nil},
	{"SCHED ", schedPiece, func(s string) bool {
		rest := afterDigits(s[6:])
		return rest != s[6:] && strings.HasPrefix(rest, "ms: ")
	}},
}

// nextPiece returns where the next piece begins, from at on.
func nextPiece(s string, at int) (int, pieceKind) {
	best, kind := len(s), nothing
	for _, st := range starts {
		for from := at; from < best; {
			i := strings.Index(s[from:best], st.text)
			if i < 0 {
				// It could begin before best and end behind it, but then it is none: pieces do not overlap.
				break
			}
			if i += from; st.is == nil || st.is(s[i:]) {
				best, kind = i, st.kind
				break
			}
			from = i + 1
		}
	}
	return best, kind
}

// isCycle reports whether s begins like a line about a cycle: gc 1 @ or gc1( or, before Go 1.0, gc1: 0+.
func isCycle(s string) bool {
	s = s[2:]
	if timed, ok := strings.CutPrefix(s, " "); ok {
		rest := afterDigits(timed)
		at, ok := strings.CutPrefix(rest, " @")
		return rest != timed && ok && !strings.HasPrefix(at, " ")
	}
	rest := afterDigits(s)
	if rest == s || rest == "" {
		return false
	}
	if rest[0] == '(' {
		return len(rest) > 1 && isDigit(rest[1])
	}
	if n, ok := strings.CutPrefix(rest, ": "); ok {
		return strings.HasPrefix(afterDigits(n), "+") && isDigit(n[0])
	}
	return false
}

// afterDigits cuts the digits off that s begins with.
func afterDigits(s string) string {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return s[i:]
}

// wholeLine names lines of the runtime that are about something else and always stand alone.
func wholeLine(s string) string {
	switch {
	case strings.HasPrefix(s, "scan: total "), strings.HasPrefix(s, "scan: class "):
		return scanStats
	case strings.HasPrefix(s, "checkfinalizers: queue: "):
		return queues
	case strings.HasPrefix(s, "init ") && strings.HasSuffix(s, " allocs") && strings.Contains(s, " ms clock, "):
		return initTimes
	case strings.HasPrefix(s, "  ") && len(s) > 3 && isDigit(s[3]):
		switch {
		case s[2] == 'P' && strings.Contains(s, " schedtick="), s[2] == 'M' && strings.Contains(s, " mallocing="),
			s[2] == 'G' && strings.Contains(s, ": status="):
			return scheduler
		}
	}
	return ""
}

// piece reads what s begins with and returns how long it is, and what of that comes from elsewhere. before is where s
// begins on its line.
func (p *Parser) piece(kind pieceKind, s string, before int) (n int, other string) {
	switch kind {
	case cyclePiece:
		return p.cycle(s, before)
	case scvgPiece:
		n = p.scvg(s)
	case scavPiece:
		n = p.scav(s)
	case pacerPiece:
		n = upToNext(s)
		p.pacer(s[:n])
	case forcedPiece:
		n = len("GC forced")
		p.byTime = true
	case schedPiece:
		n = upToNext(s)
		p.skip(scheduler)
	}
	return n, ""
}

// upToNext returns how long the piece is that s begins with: all, but for a cycle that is glued to it.
func upToNext(s string) int {
	for i := 1; i < len(s); i++ {
		j := strings.Index(s[i:], "gc ")
		if j < 0 {
			break
		}
		if i += j; isCycle(s[i:]) {
			return i
		}
	}
	return len(s)
}

func (p *Parser) cycle(s string, before int) (n int, other string) {
	sc := scanner{s: s, cuts: p.cuts[:0]}
	c, ok := sc.cycle()
	p.cuts = sc.cuts
	if ok {
		c.Line = p.log.Lines
		p.add(c)
		return sc.at, ""
	}
	p.giveUp() // of one before
	if len(sc.cuts) == 0 {
		return 0, ""
	}
	if sc.short {
		p.skip(cutShort)
		return len(s), ""
	}
	t := &torn{text: s[:sc.cuts[len(sc.cuts)-1]], cuts: slices.Clone(sc.cuts), before: before, line: p.log.Lines}
	end := len(t.text)
	// The last number may already be part of what came between: gc 24 @0.446s 0%: 2019/04/06 14:28:27 …
	if d := dateIn(s); d > 0 && d < end && isDigit(s[d-1]) {
		t.cuts = append(slices.DeleteFunc(t.cuts, func(cut int) bool { return cut >= d }), d)
		t.text, end = s[:d], d
	} else if n := len(t.cuts); n > 1 && end < len(s) && isDigit(t.text[end-1]) && strings.IndexByte(" /-.:,;+*=)]}0123456789", s[end]) >= 0 {
		end = t.cuts[n-2]
	}
	// The rest of it may follow on the same line, before the next of its kind.
	const most = 512
	for i := max(end, 1); i < min(len(s), end+most); i++ {
		if strings.HasPrefix(s[i:], "gc") && isCycle(s[i:]) {
			break
		}
		if isDigit(s[i-1]) && isDigit(s[i]) {
			continue
		}
		if n := p.continued(t, s[i:], 4); n > 0 {
			return i + n, s[end:i]
		}
	}
	p.torn = t
	return end, ""
}

// dateIn returns where the first date in s is, such as most logs begin their lines with: 2019/04/06 or 2019-04-06. It is -1
// when there is none.
func dateIn(s string) int {
	const form = "2000/00/00"
search:
	for i := 0; i+len(form) <= len(s); i++ {
		if s[i] != '2' {
			continue
		}
		for j := range form {
			c := s[i+j]
			if form[j] == '/' && c != '/' && c != '-' || form[j] != '/' && !isDigit(c) {
				continue search
			}
		}
		return i
	}
	return -1
}
