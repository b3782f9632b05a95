package gclog

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxCycles is how many cycles are kept. A program that collects ten times a second fills that in a day.
const MaxCycles = 1 << 20

// maxLine is how much of a line is looked at at once.
const maxLine = 64 << 10

// Kinds of lines that hold no cycle.
const (
	otherText  = "other text"
	besideText = "other text beside GC lines"
	cutShort   = "GC lines cut short"
	scavenger  = "scavenger"
	pacer      = "pacer"
	scheduler  = "scheduler"
	initTimes  = "package initialization"
	scanStats  = "scan statistics"
	queues     = "finalizers and cleanups"
)

// Parse reads a log to its end. It fails only when reading does.
func Parse(r io.Reader) (*Log, error) {
	var p Parser
	br := bufio.NewReaderSize(r, maxLine)
	begun := false
	for {
		b, err := br.ReadSlice('\n')
		if len(b) > 0 {
			p.read(string(bytes.TrimRight(b, "\r\n")), !begun)
			begun = errors.Is(err, bufio.ErrBufferFull)
		}
		switch {
		case err == nil, errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return p.Log(), nil
		default:
			return p.Log(), err
		}
	}
}

// A Parser reads lines. The zero Parser is ready for the first.
type Parser struct {
	log     Log
	kinds   map[string]int // places in log.Skipped
	torn    *torn
	joins   int         // attempts to put torn lines together
	byTime  bool        // the runtime said that it forces the next cycle
	marking int         // what the pacer said about the next cycle, plus one
	cuts    []int       // for the next scanner
	recent  []runningGC // processes, the one that was heard of last at the end
}

// A runningGC is what the next cycle of a process follows.
type runningGC struct {
	process int
	n       int
	start   time.Duration
	procs   int
	timed   bool
}

// A torn line is the beginning of a line about a cycle.
type torn struct {
	text   string
	cuts   []int // ends of its pieces, where it may have been cut
	before int   // bytes before it on its line
	line   int
	age    int // lines since
}

// Log returns what was read. The Parser must not be used any more.
func (p *Parser) Log() *Log {
	p.giveUp()
	return &p.log
}

// Line reads one line without its end and returns what is left of it without the lines that gctrace asks for; own is
// whether nothing is left.
func (p *Parser) Line(s string) (rest string, own bool) { return p.read(s, true) }

func (p *Parser) read(s string, isNew bool) (rest string, own bool) {
	if isNew {
		p.log.Lines++
	}
	whole := s
	if strings.Contains(s, "**") {
		s = strings.ReplaceAll(s, "**", "") // quoted in Markdown, with parts of it in bold
	}
	if kind := wholeLine(s); kind != "" {
		p.skip(kind)
		return whole, kind == scanStats
	}
	var out strings.Builder
	found, taken, text := false, false, false
	pass := func(s string) {
		out.WriteString(s)
		text = text || strings.TrimSpace(s) != ""
	}
	begin, at := p.join(s)
	if at > 0 {
		found, taken = true, true
		pass(s[:begin])
	}
	if p.torn != nil {
		if p.torn.age++; p.torn.age > maxAge {
			p.giveUp()
		}
	}
	for {
		begin, kind := nextPiece(s, at)
		pass(s[at:begin])
		if kind == nothing {
			break
		}
		n, other := p.piece(kind, s[begin:], begin)
		pass(other)
		at = begin + n
		switch kind {
		case cyclePiece, scvgPiece, forcedPiece:
			taken = taken || n > 0
		default: // asked for by other settings
			out.WriteString(s[begin:at])
		}
		if n == 0 { // it only looked like a piece
			pass(s[begin : begin+1])
			at++
			continue
		}
		found = true
	}
	switch {
	case found && text:
		p.skip(besideText)
	case text && strings.Contains(s, " ms clock, ") && strings.Contains(s, " ms cpu, "):
		p.skip(cutShort)
	case text:
		p.skip(otherText)
	}
	if !taken {
		return whole, false
	}
	rest = out.String()
	return rest, strings.TrimSpace(rest) == ""
}

func (p *Parser) skip(kind string) { p.skipAt(kind, p.log.Lines) }

func (p *Parser) skipAt(kind string, line int) {
	i, ok := p.kinds[kind]
	if !ok {
		if p.kinds == nil {
			p.kinds = make(map[string]int)
		}
		i = len(p.log.Skipped)
		p.kinds[kind] = i
		p.log.Skipped = append(p.log.Skipped, Skipped{What: kind, First: line})
	}
	p.log.Skipped[i].Lines++
}

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
		if c, ok := sc.cycle(); ok && sc.at > cut {
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

// giveUp counts a torn line whose rest did not come.
func (p *Parser) giveUp() {
	if p.torn != nil {
		p.skipAt(cutShort, p.torn.line)
		p.torn = nil
	}
}

// add keeps a cycle.
func (p *Parser) add(c Cycle) {
	if len(p.log.Cycles) >= MaxCycles {
		p.log.Dropped++
		return
	}
	// The runtime forces a cycle when there was none for two minutes.
	const period = 119 * time.Second
	if p.byTime && c.Trigger == ByHeap && (!c.Format.Timed() || c.Start >= period) {
		c.Trigger = ByTime
		p.byTime = false
	}
	if p.marking > 0 {
		c.Marking = p.marking - 1
		p.marking = 0
	}
	c.Process = p.processOf(&c)
	p.log.Cycles = append(p.log.Cycles, c)
}

// processOf finds the process of a cycle: the one whose last cycle had the number before, or one below. Numbers that
// begin again are another process.
func (p *Parser) processOf(c *Cycle) int {
	best, least := -1, math.MaxInt
	for i := range p.recent {
		r := &p.recent[i]
		if r.timed != c.Format.Timed() || c.N <= r.n || c.Start < r.start {
			continue
		}
		gap := c.N - r.n
		if r.timed && r.procs != c.Procs {
			gap += 1000 // GOMAXPROCS changes rarely
		}
		if gap < least || gap == least && r.start > p.recent[best].start {
			best, least = i, gap
		}
	}
	const most = 64 // processes that run at the same time
	var r runningGC
	if best >= 0 {
		r = p.recent[best]
		p.recent = append(p.recent[:best], p.recent[best+1:]...)
	} else {
		if len(p.recent) == most {
			p.recent = append(p.recent[:0], p.recent[1:]...)
		}
		r.process = len(p.log.Processes)
		p.log.Processes = append(p.log.Processes, Process{First: c.N, Line: c.Line})
	}
	r.n, r.start, r.procs, r.timed = c.N, c.Start, c.Procs, c.Format.Timed()
	p.recent = append(p.recent, r)
	one := &p.log.Processes[r.process]
	one.Cycles++
	one.Last = c.N
	return r.process
}

// scvg reads what the scavenger said up to Go 1.13.
func (p *Parser) scvg(s string) int {
	sc := scanner{s: s}
	sc.text("scvg")
	if isDigit(s[sc.at]) {
		sc.number()
	}
	sc.text(": ")
	switch {
	case sc.try("GC forced"):
		p.byTime = true
		return sc.at
	case sc.try("inuse: "):
		sc.number()
		sc.text(", idle: ")
		sc.number()
		sc.text(", sys: ")
		sys := sc.size()
		sc.text(", released: ")
		released := sc.size()
		sc.text(", consumed: ")
		sc.number()
		sc.text(" (MB)")
		if sc.failed {
			return 0
		}
		v := &p.log.Scavenger
		v.Sys, v.Released, v.MaxSys = sys, released, max(v.MaxSys, sys)
	default:
		if sc.try("0x") { // Go 1.0 wrote it as if it were an address
			for sc.at < len(s) && s[sc.at] != ' ' {
				sc.at++
			}
		} else {
			sc.number()
		}
		if !sc.try(" MB released") {
			sc.text(" KB released")
		}
		if sc.failed {
			return 0
		}
	}
	p.log.Scavenger.Lines++
	p.skip(scavenger)
	return sc.at
}

// scav reads what the scavenger says from Go 1.14 on: what it did, how much is given back by now, and how much of the
// rest is in use.
func (p *Parser) scav(s string) int {
	sc := scanner{s: s}
	sc.text("scav ")
	const most = 4
	for range most {
		n := sc.number()
		switch {
		case sc.failed:
			return 0
		case sc.try(" KiB work (bg), "), sc.try(" KiB work (eager), "), sc.try(" KiB work, "):
		case sc.try(" KiB now, "), sc.try(" KiB total, "):
			if n > math.MaxInt64>>10 {
				return 0
			}
			sc.number()
			sc.text("% util")
			if sc.failed {
				return 0
			}
			_ = sc.try(" (forced)") || sc.try(" [controller reset]")
			p.log.Scavenger.Lines++
			p.log.Scavenger.Released = n << 10
			p.skip(scavenger)
			return sc.at
		case sc.try(" "): // the number of the line, once
		default:
			return 0
		}
	}
	return 0
}

// pacer reads how much of all CPUs marking had: N% CPU from Go 1.18 on, u_a=+N.Ne-001 before.
func (p *Parser) pacer(s string) {
	p.skip(pacer)
	s = strings.TrimPrefix(s, "pacer: ")
	if number, rest, ok := strings.Cut(s, "% CPU ("); ok && rest != "" {
		if n, err := strconv.Atoi(number); err == nil && n >= 0 && n <= 100 {
			p.marking = n + 1
		}
		return
	}
	if _, rest, ok := strings.Cut(s, " u_a="); ok {
		number, _, _ := strings.Cut(rest, " ")
		if x, err := strconv.ParseFloat(number, 64); err == nil && x >= 0 && x <= 1 {
			p.marking = int(math.Round(x*100)) + 1
		}
	}
}
