package racelog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Bounds of what is read.
const (
	maxLine       = 4 << 10
	maxRaces      = 10_000
	maxCrashes    = 100
	maxFrames     = 256 // of a stack
	maxGoroutines = 2000
)

// Read finds all reports in a text, such as the standard error of a program or a file that GORACE=log_path names.
func Read(r io.Reader) (*Log, error) {
	p := &reader{log: &Log{}}
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(in)
		if line != "" || err == nil {
			p.line(line)
		}
		if errors.Is(err, io.EOF) {
			p.endRace()
			p.endCrash()
			return p.log, nil
		}
		if err != nil {
			return p.log, fmt.Errorf("reading reports of races: %w", err)
		}
	}
}

// readLine reads a line, of which it keeps a bounded part.
func readLine(in *bufio.Reader) (string, error) {
	var out []byte
	for {
		part, err := in.ReadSlice('\n')
		if room := maxLine - len(out); room > 0 {
			out = append(out, part[:min(len(part), room)]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return strings.TrimRight(string(out), "\r\n"), err
		}
	}
}

const rule = "=================="

// A reader is in a report, in the dump of a crash, or in neither.
type reader struct {
	log   *Log
	race  *Race
	crash *Crash
	stack *[]Frame // that frames are added to
	fn    string   // of the frame whose place comes next
	tests bool     // names of running tests follow
	made  bool     // the place of "created by" comes next
	left  bool     // it was said that there are more
}

func (p *reader) line(s string) {
	switch {
	case s == "WARNING: DATA RACE":
		p.endRace()
		p.endCrash()
		p.race = &Race{}
		return
	case s == rule:
		p.endRace()
		return
	}
	if p.race != nil {
		p.inRace(s)
		return
	}
	if c := crashOf(s); c != nil {
		if p.crash != nil {
			// "panic: … [recovered]" and what it wraps are one.
			if p.crash.Goroutines == nil {
				return
			}
			p.endCrash()
		}
		p.crash = c
		p.tests = false
		return
	}
	if p.crash != nil {
		p.inCrash(s)
	}
}

func (p *reader) endRace() {
	if p.race == nil {
		return
	}
	r := p.race
	p.race, p.stack, p.fn = nil, nil, ""
	if len(r.Accesses) == 0 {
		return
	}
	if len(p.log.Races) == maxRaces {
		p.more("only the first %d reports of races were read", maxRaces)
		return
	}
	p.log.Races = append(p.log.Races, *r)
}

func (p *reader) endCrash() {
	if p.crash == nil {
		return
	}
	if len(p.log.Crashes) < maxCrashes {
		p.log.Crashes = append(p.log.Crashes, *p.crash)
	} else {
		p.more("only the first %d crashes were read", maxCrashes)
	}
	p.crash, p.stack, p.fn, p.made = nil, nil, "", false
}

func (p *reader) more(format string, n int) {
	if !p.left {
		p.left = true
		p.log.Notes = append(p.log.Notes, fmt.Sprintf(format, n))
	}
}

// inRace reads a line of a report. Lines of others between them are passed over.
func (p *reader) inRace(s string) {
	r := p.race
	if p.frame(s, "  ", "      ") {
		return
	}
	words := strings.Fields(s)
	if len(words) == 0 || strings.HasPrefix(s, " ") {
		return
	}
	if a, ok := accessOf(s); ok {
		if len(r.Accesses) < 4 {
			r.Accesses = append(r.Accesses, a)
			p.stack = &r.Accesses[len(r.Accesses)-1].Stack
		} else {
			p.stack = nil
		}
		return
	}
	switch {
	case strings.HasPrefix(s, "Goroutine "):
		// Goroutine 7 (running) created at:
		id, rest, _ := strings.Cut(strings.TrimPrefix(s, "Goroutine "), " ")
		n, err := strconv.Atoi(id)
		if err != nil || len(r.Goroutines) >= 8 {
			p.stack = nil
			return
		}
		r.Goroutines = append(r.Goroutines, Goroutine{ID: n, Finished: strings.Contains(rest, "(finished)")})
		p.stack = &r.Goroutines[len(r.Goroutines)-1].Created
	case strings.HasPrefix(s, "Heap block of size "), strings.HasPrefix(s, "Location is heap block of size "):
		// Heap block of size 16 at 0xc000012345 allocated by goroutine 7:
		_, rest, _ := strings.Cut(s, "of size ")
		size, _, _ := strings.Cut(rest, " ")
		r.Size, _ = strconv.ParseInt(size, 10, 64)
		_, by, _ := strings.Cut(s, "allocated by ")
		r.Heap = &Allocation{Goroutine: goroutineOf(by)}
		p.stack = &r.Heap.Stack
	case strings.HasPrefix(s, "Global var "), strings.HasPrefix(s, "Location is global "):
		// Global var main.visitors of size 8 at 0x5f declared at main.go:12
		// Location is global 'main.visitors' of size 8 at 0x5f (app+0x1)
		name := strings.TrimPrefix(strings.TrimPrefix(s, "Global var "), "Location is global ")
		name, rest, _ := strings.Cut(name, " of size ")
		r.Global = strings.Trim(name, `'"`)
		size, _, _ := strings.Cut(rest, " ")
		r.Size, _ = strconv.ParseInt(size, 10, 64)
		if _, at, ok := strings.Cut(rest, " declared at "); ok {
			if i := strings.LastIndexByte(at, ':'); i >= 0 {
				r.Declared.File = at[:i]
				r.Declared.Line, _ = strconv.Atoi(at[i+1:])
			}
		}
		p.stack = nil
	case s == "[failed to restore the stack]":
	default:
		p.stack = nil
	}
}

// accessOf reads "Previous write at 0x00c000014098 by goroutine 7:".
func accessOf(s string) (a Access, ok bool) {
	head, by, ok := strings.Cut(s, " by ")
	if !ok {
		return a, false
	}
	what, address, ok := strings.Cut(head, " at ")
	if !ok {
		return a, false
	}
	what = strings.ToLower(what)
	what, _ = strings.CutPrefix(what, "previous ")
	what, a.Atomic = strings.CutPrefix(what, "atomic ")
	switch what {
	case "read":
	case "write":
		a.Write = true
	default:
		return a, false
	}
	n, err := strconv.ParseUint(address, 0, 64)
	if err != nil {
		return a, false
	}
	a.Address, a.Goroutine = n, goroutineOf(by)
	return a, true
}

// goroutineOf reads "goroutine 7:" and "main goroutine:".
func goroutineOf(s string) int {
	s = strings.TrimSuffix(s, ":")
	if s == "main goroutine" {
		return 1
	}
	n, _ := strconv.Atoi(strings.TrimPrefix(s, "goroutine "))
	return n
}

// frame reads the two lines of a frame: the function, and its place. It reports whether s was one of them.
func (p *reader) frame(s, beforeFunc, beforePlace string) bool {
	if p.stack == nil {
		return false
	}
	if p.fn != "" {
		if place, ok := strings.CutPrefix(s, beforePlace); ok && !strings.HasPrefix(place, " ") {
			if f, ok := placeOf(place); ok {
				f.Func = p.fn
				p.fn = ""
				if len(*p.stack) < maxFrames {
					*p.stack = append(*p.stack, f)
				}
				return true
			}
		}
		// Something else is printed at the same time, or the function has no place.
	}
	if fn, ok := strings.CutPrefix(s, beforeFunc); ok && fn != "" && fn[0] != ' ' && fn[0] != '\t' && strings.HasSuffix(fn, ")") {
		if beforeFunc == "" && !strings.Contains(fn, ".") {
			return false
		}
		p.fn = functionOf(fn)
		return p.fn != ""
	}
	return false
}

// functionOf cuts the arguments off: main.(*T).Add(0xc000, 0x1).
func functionOf(s string) string {
	depth := 0
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return s[:i]
			}
		}
	}
	return s
}

// placeOf reads "/src/main.go:12 +0x44".
func placeOf(s string) (f Frame, ok bool) {
	if at := strings.LastIndex(s, " +0x"); at >= 0 {
		s = s[:at]
	}
	i := strings.LastIndexByte(s, ':')
	if i <= 0 {
		return f, false
	}
	n, err := strconv.Atoi(s[i+1:])
	if err != nil || n < 0 {
		return f, false
	}
	return Frame{File: s[:i], Line: n}, true
}

// crashOf reports whether a line begins the dump of a crash.
func crashOf(s string) *Crash {
	if text, ok := strings.CutPrefix(s, "fatal error: "); ok {
		kind := Fatal
		switch {
		case strings.HasPrefix(text, "all goroutines are asleep"), text == "no goroutines (main called runtime.Goexit) - deadlock!":
			kind = Deadlock
		case strings.HasPrefix(text, "concurrent map "):
			kind = Map
		case strings.HasPrefix(text, "sync: "):
			kind = Misuse
		}
		return &Crash{Kind: kind, Text: text}
	}
	if text, ok := strings.CutPrefix(s, "panic: "); ok {
		kind := Panic
		switch {
		case strings.HasPrefix(text, "test timed out after "):
			kind = Timeout
		case strings.HasPrefix(text, "sync: "), strings.HasPrefix(text, "close of closed channel"), strings.HasPrefix(text, "send on closed channel"):
			kind = Misuse
		}
		return &Crash{Kind: kind, Text: text}
	}
	return nil
}

// inCrash reads a line of a dump of goroutines.
func (p *reader) inCrash(s string) {
	c := p.crash
	if s == "running tests:" || s == "\trunning tests:" {
		p.tests = true
		return
	}
	if p.tests {
		if name, ok := strings.CutPrefix(s, "\t\t"); ok {
			name, _, _ = strings.Cut(name, " ")
			if len(c.Running) < 100 {
				c.Running = append(c.Running, name)
			}
			return
		}
		p.tests = false
	}
	if g, ok := goroutineHead(s); ok {
		p.fn, p.made = "", false
		if len(c.Goroutines) == maxGoroutines {
			p.stack = nil
			p.more("only the first %d goroutines of a crash were read", maxGoroutines)
			return
		}
		c.Goroutines = append(c.Goroutines, g)
		p.stack = &c.Goroutines[len(c.Goroutines)-1].Stack
		return
	}
	if p.stack == nil || len(c.Goroutines) == 0 {
		return
	}
	if by, ok := strings.CutPrefix(s, "created by "); ok {
		fn, _, _ := strings.Cut(by, " in goroutine ")
		p.fn, p.made = fn, true
		return
	}
	if p.made {
		if place, ok := strings.CutPrefix(s, "\t"); ok {
			if f, ok := placeOf(place); ok {
				f.Func = p.fn
				c.Goroutines[len(c.Goroutines)-1].Created = &f
			}
		}
		p.made, p.fn = false, ""
		return
	}
	p.frame(s, "", "\t")
}

// goroutineHead reads "goroutine 7 [chan receive, 2 minutes]:", which since Go 1.23 may have "gp=0x… m=nil" before the state.
func goroutineHead(s string) (g Stopped, ok bool) {
	rest, ok := strings.CutPrefix(s, "goroutine ")
	if !ok || !strings.HasSuffix(rest, ":") {
		return g, false
	}
	id, rest, ok := strings.Cut(rest, " ")
	n, err := strconv.Atoi(id)
	from, to := strings.IndexByte(rest, '['), strings.LastIndexByte(rest, ']')
	if !ok || err != nil || from < 0 || to < from {
		return g, false
	}
	return Stopped{ID: n, State: rest[from+1 : to]}, true
}
