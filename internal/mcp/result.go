package mcp

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/render"
)

// How much text there is.
const (
	pageBytes   = 12_000   // in one answer: some 4,000 tokens
	mostText    = 1 << 20  // of a result
	mostSaid    = 8 << 10  // on standard error
	mostTold    = 64 << 10 // of progress
	mostLast    = 4 << 10  // of what is written when there is more: the last lines say how it ended
	mostJSON    = 48_000
	mostResults = 20 // that more knows
)

// A result is what a tool said, in pages.
type result struct {
	name  string
	pages []string
}

// results are the last ones.
type results struct {
	mu   sync.Mutex
	n    int
	list []*result
}

func (r *results) add(text string) *result {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	res := &result{name: fmt.Sprintf("r%d", r.n), pages: pages(text)}
	if r.list = append(r.list, res); len(r.list) > mostResults {
		r.list = r.list[1:]
	}
	return res
}

func (r *results) get(name string) *result {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, res := range r.list {
		if res.name == name {
			return res
		}
	}
	return nil
}

// pages cuts a text at ends of lines. There is at least one page.
func pages(text string) []string {
	var out []string
	for len(text) > pageBytes {
		end := strings.LastIndexByte(text[:pageBytes], '\n') + 1
		if end == 0 {
			for end = pageBytes; !utf8.RuneStart(text[end]); end-- {
			}
		}
		out, text = append(out, text[:end]), text[end:]
	}
	return append(out, text)
}

// A capped keeps the first bytes that are written to it and the last ones, and counts the others. Programs may write without end.
type capped struct {
	most int

	mu   sync.Mutex
	b    bytes.Buffer
	last []byte // after the first ones
	lost int    // after the first ones
}

func (c *capped) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	room := min(c.most-c.b.Len(), len(p))
	c.b.Write(p[:room])
	c.lost += len(p) - room
	c.last = append(c.last, p[room:]...)
	c.last = c.last[max(0, len(c.last)-mostLast):]
	return len(p), nil
}

// plainText is what was written, without what a terminal obeys: programs write what they like, and some callers show answers on a terminal.
func plainText(c *capped) string {
	return render.Message(strings.ToValidUTF8(strings.ReplaceAll(c.String(), "\r\n", "\n"), "\uFFFD"))
}

// Progress begins the lines on standard error that only say what hone is doing. Those who asked how it goes are told; the answer, which comes
// when that is over, is without them.
const Progress = "\x1e"

// Made begins the line on standard error that names a recording which hone keeps among those of the user, outside of the folder. It can be used as a ref.
const Made = "\x1d"

// lines tells what comes on standard error line by line, as far as mostTold, and passes on what belongs to the answer.
type lines struct {
	to   io.Writer
	tell func(line string)

	line []byte // that has not ended
	told int
	made string // the last recording that a line named
}

func (l *lines) Write(p []byte) (int, error) {
	l.line = append(l.line, p...)
	for {
		line, rest, ended := bytes.Cut(l.line, []byte("\n"))
		if !ended {
			break
		}
		l.pass(line, "\n")
		l.line = rest
	}
	if len(l.line) > mostSaid {
		l.pass(l.line, "")
		l.line = nil
	}
	return len(p), nil
}

// end passes on a last line that did not end.
func (l *lines) end() { l.pass(l.line, "") }

func (l *lines) pass(line []byte, end string) {
	if made, ok := strings.CutPrefix(string(line), Made); ok {
		l.made = made
		return
	}
	text, progress := strings.CutPrefix(string(line), Progress)
	if !progress {
		io.WriteString(l.to, text+end)
	}
	if l.told += len(text); end != "" && l.told <= mostTold {
		l.tell(render.Message(text))
	}
}

func (c *capped) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := c.b.String()
	switch left := c.lost - len(c.last); {
	case left > 0:
		text += fmt.Sprintf("\n[%d bytes were left out here]\n", left)
	case c.lost == 0:
		return text
	}
	return text + string(c.last)
}
