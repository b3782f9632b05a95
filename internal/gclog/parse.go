package gclog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/unit"
)

// MaxCycles is how many cycles are kept. A program that collects ten times a second fills that in a day.
const MaxCycles = 1 << 20

const (
	maxLine = 64 << 10 // of a line is looked at at once

	// endless is how long a line may be. Something that ends lines in another way may be one long line for us, and what is in it is
	// found; but what has no end has no answer.
	endless = 256 << 20
)

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

// Parse reads a log to its end. It fails when reading does, and when a line has no end; what it returns is what was in front of that.
func Parse(r io.Reader) (*Log, error) {
	var p Parser
	br := bufio.NewReaderSize(r, maxLine)
	length := 0 // of the line so far
	for {
		b, err := br.ReadSlice('\n')
		if len(b) > 0 {
			p.read(string(bytes.TrimRight(b, "\r\n")), length == 0)
			length += len(b)
		}
		switch {
		case err == nil:
			length = 0
		case errors.Is(err, bufio.ErrBufferFull):
			if length > endless {
				return p.Log(), fmt.Errorf("line %d is longer than %s", p.log.Lines, unit.Size(endless))
			}
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
	if text {
		p.end(s)
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

// add keeps a cycle.
func (p *Parser) add(c Cycle) {
	p.log.Ending = nil // it goes on
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
