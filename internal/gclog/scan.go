package gclog

import (
	"math"
	"strings"
	"time"
)

// A scanner reads a line of the runtime piece by piece. The runtime writes each number and each text between numbers
// by itself, so this is also where lines of others come in between.
type scanner struct {
	s      string
	at     int
	failed bool
	short  bool  // the line ended within a text
	cuts   []int // where pieces ended
}

// text reads one of the texts that the runtime writes. People change their case and blanks when they quote logs.
func (s *scanner) text(want string) {
	if s.failed {
		return
	}
	s.short = false
	s.failed = !s.try(want)
}

// try reads want if it is there.
func (s *scanner) try(want string) bool {
	if s.failed {
		return false
	}
	at := s.at
	for i := 0; i < len(want); i++ {
		if want[i] == ' ' {
			for at < len(s.s) && s.s[at] == ' ' {
				at++
			}
			continue
		}
		if at == len(s.s) {
			s.short = at > s.at
			return false
		}
		if lower(s.s[at]) != lower(want[i]) {
			return false
		}
		at++
	}
	s.at = at
	s.cuts = append(s.cuts, at)
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// number reads digits. What no runtime writes is no number.
func (s *scanner) number() int64 {
	begin := s.at
	n := int64(0)
	for !s.failed && s.at < len(s.s) && isDigit(s.s[s.at]) {
		d := int64(s.s[s.at] - '0')
		if n > (math.MaxInt64-d)/10 {
			s.failed = true
			return 0
		}
		n = n*10 + d
		s.at++
	}
	if s.failed || s.at == begin {
		s.failed = true
		return 0
	}
	s.cuts = append(s.cuts, s.at)
	return n
}

// small reads a number that counts Ps, cycles or percents.
func (s *scanner) small() int {
	n := s.number()
	if n > math.MaxInt32 {
		s.failed = true
	}
	return int(n)
}

// size reads an amount of megabytes.
func (s *scanner) size() int64 {
	const most = math.MaxInt64 >> 20 // megabytes
	n := s.number()
	if n > most {
		s.failed = true
		return 0
	}
	return n << 20
}

// span reads a decimal number of units.
func (s *scanner) span(unit time.Duration) time.Duration {
	const most = 100 * 365 * 24 * time.Hour
	whole := s.number()
	if s.failed || whole > int64(most/unit) {
		s.failed = true
		return 0
	}
	d := time.Duration(whole) * unit
	if s.at+1 < len(s.s) && s.s[s.at] == '.' && isDigit(s.s[s.at+1]) {
		s.cuts = s.cuts[:len(s.cuts)-1] // it is one piece
		s.at++
		for scale := unit / 10; s.at < len(s.s) && isDigit(s.s[s.at]); scale /= 10 {
			d += time.Duration(s.s[s.at]-'0') * scale
			s.at++
		}
		s.cuts = append(s.cuts, s.at)
	}
	return d
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// Begins reports whether s is the beginning of a line about a cycle, as the end of a program cuts it off.
func Begins(s string) bool {
	r := scanner{s: s}
	_, whole := r.cycle()
	return !whole && strings.HasPrefix(s, "gc ") && (r.short || r.at == len(s))
}

// cycle reads a line about a cycle, in whatever format.
func (s *scanner) cycle() (c Cycle, ok bool) {
	c.Marking = -1
	s.text("gc")
	if strings.HasPrefix(s.s[s.at:], " ") {
		s.timed(&c)
	} else {
		s.old(&c)
	}
	return c, !s.failed
}

// timed reads the rest of a line of Go 1.5 or later.
func (s *scanner) timed(c *Cycle) {
	s.text(" ")
	c.N = s.small()
	s.text(" @")
	c.Start = s.span(time.Second)
	s.text("s ")
	c.Share = s.small()
	s.text("%")
	c.Leaks = s.try(" (checking for goroutine leaks)")
	s.text(": ")
	clock := s.spans("+")
	s.text(" ms clock, ")
	cpu := s.spans("+/")
	s.text(" ms cpu, ")
	switch {
	case s.failed:
		return
	case len(clock) == 3 && len(cpu) == 5:
		c.Format = Go16
		c.Clock = Clock{SweepTerm: clock[0], Mark: clock[1], MarkTerm: clock[2]}
		c.CPU = CPU{SweepTerm: cpu[0], Assist: cpu[1], Background: cpu[2], Idle: cpu[3], MarkTerm: cpu[4]}
	case len(clock) == 5 && len(cpu) == 7:
		c.Format = Go15
		c.Clock = Clock{SweepTerm: clock[0], Scan: clock[1], Sync: clock[2], Mark: clock[3], MarkTerm: clock[4]}
		c.CPU = CPU{
			SweepTerm: cpu[0], Scan: cpu[1], Sync: cpu[2],
			Assist: cpu[3], Background: cpu[4], Idle: cpu[5], MarkTerm: cpu[6],
		}
	default:
		s.failed = true
		return
	}
	c.Before = s.size()
	s.text("->")
	c.End = s.size()
	s.text("->")
	c.Live = s.size()
	s.text(" MB, ")
	if c.Goal = s.size(); c.Goal >= 1<<62 {
		c.Goal = 0 // GOGC=off
	}
	s.text(" MB goal, ")
	// What later versions add, stands here.
	const most = 8
	for range most {
		n := s.number()
		switch {
		case s.failed:
			return
		case s.try(" P"):
			c.Procs = int(min(n, math.MaxInt32))
			if s.try(" (forced)") {
				c.Trigger = ByProgram
			}
			return
		case n > math.MaxInt64>>20:
			s.failed = true
			return
		case s.try(" MB stacks, "):
			c.Stacks = n << 20
			c.Format = Go18
		case s.try(" MB globals, "):
			c.Globals = n << 20
			c.Format = Go18
		case !s.unknown():
			s.failed = true
			return
		}
	}
	s.failed = true
}

// spans reads numbers of milliseconds with one of seps between each two.
func (s *scanner) spans(seps string) []time.Duration {
	out := make([]time.Duration, 0, 8)
	for len(out) < cap(out) {
		out = append(out, s.span(time.Millisecond))
		if s.failed {
			return nil
		}
		if s.at == len(s.s) || strings.IndexByte(seps, s.s[s.at]) < 0 {
			return out
		}
		s.at++
		s.cuts = append(s.cuts, s.at)
	}
	s.failed = true
	return nil
}

// unknown reads " MB something, ", up to the comma.
func (s *scanner) unknown() bool {
	const most = 40
	for i := s.at; i < len(s.s) && i < s.at+most; i++ {
		switch c := s.s[i]; {
		case c == ',':
			s.at = i + 1
			s.try(" ")
			return true
		case c != ' ' && c != '-' && (lower(c) < 'a' || lower(c) > 'z'):
			return false
		}
	}
	return false
}

// old reads the rest of a line of Go 1.4 or before. Between versions, commas came and went.
func (s *scanner) old(c *Cycle) {
	counts := make([]int64, 0, 22)
	keep := func(n int64) { counts = append(counts, n) }
	next := func() int64 {
		n := s.number()
		keep(n)
		return n
	}
	comma := func() {
		s.try(" ,") // also one without a blank before it
	}
	c.N = int(min(next(), math.MaxInt32))
	if s.try("(") {
		c.Procs = int(min(next(), math.MaxInt32))
		s.text(")")
	} else {
		keep(1)
		c.Procs = 1
	}
	s.text(": ")
	var phases []int64
	for len(phases) == 0 || len(phases) < 4 && s.try("+") {
		phases = append(phases, next())
	}
	unit := time.Millisecond
	if s.try(" us") {
		unit = time.Microsecond
	} else {
		s.text(" ms")
	}
	for _, p := range phases {
		if p > int64(time.Hour*1000/unit) {
			s.failed = true
			return
		}
		c.Clock.Stopped += time.Duration(p) * unit
	}
	comma()
	s.text(" ")
	heap := func() int64 {
		n := next()
		if n > math.MaxInt64>>20 {
			s.failed = true
			return 0
		}
		return n << 20
	}
	c.Before = heap()
	s.text(" -> ")
	c.End = heap()
	s.text(" MB")
	comma()
	s.text(" ")
	next() // objects
	if s.try(" -> ") {
		next()
	}
	s.text(" (")
	next()
	s.text("-")
	next()
	s.text(") objects")
	comma()
	switch {
	case s.failed:
		return
	case len(phases) == 3:
		c.Format = Go10
		c.Live = c.End
		s.helpers(c, keep, comma)
	case len(phases) == 4:
		c.Format = Go13
		s.text(" ")
		next()
		if s.try(" goroutines") {
			c.Format = Go14
			comma()
			s.text(" ")
			next()
		}
		s.text("/")
		next()
		s.text("/")
		next()
		s.text(" sweeps")
		comma()
		s.helpers(c, keep, comma)
	default:
		s.failed = true
	}
	if len(counts) != len(c.Format.Columns()) {
		s.failed = true // not the numbers that the format has
	}
	c.Counts = counts
}

// helpers reads what the helpers of the collector did. Before Go 1.0 was made, lookups of pointers came first.
func (s *scanner) helpers(c *Cycle, keep func(int64), comma func()) {
	next := func() { keep(s.number()) }
	s.text(" ")
	n := s.number()
	if s.try(" pointer lookups (") {
		s.number()
		s.text(" size, ")
		s.number()
		s.text(" addr) ")
		n = s.number()
	}
	keep(n)
	if c.Format == Go10 && s.try(" handoff") {
		return
	}
	if c.Format == Go10 {
		c.Format = Go11
	}
	pair := func(what string) {
		s.text("(")
		next()
		s.text(") " + what)
		comma()
		s.text(" ")
	}
	pair("handoff")
	next()
	pair("steal")
	next()
	s.text("/")
	next()
	s.text("/")
	next()
	s.text(" yields")
}
