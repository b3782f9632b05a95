package mcp

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// How much text there is.
const (
	pageBytes   = 12_000  // in one answer: some 4,000 tokens
	mostText    = 1 << 20 // of a result
	mostSaid    = 8 << 10 // on standard error
	mostLast    = 4 << 10 // of what is written when there is more: the last lines say how it ended
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
	res := &result{name: fmt.Sprintf("r%d", r.n), pages: pages(strings.ToValidUTF8(text, "\uFFFD"))}
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
	tell func(line string) // each whole line, where it is set

	mu   sync.Mutex
	b    bytes.Buffer
	last []byte // after the first ones
	lost int    // after the first ones
	line []byte // that has not ended
}

func (c *capped) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	room := min(c.most-c.b.Len(), len(p))
	c.b.Write(p[:room])
	c.lost += len(p) - room
	c.last = append(c.last, p[room:]...)
	c.last = c.last[max(0, len(c.last)-mostLast):]
	if c.tell != nil {
		c.line = append(c.line, p[:room]...)
		for {
			line, rest, ended := bytes.Cut(c.line, []byte("\n"))
			if !ended {
				break
			}
			c.tell(string(line))
			c.line = rest
		}
	}
	return len(p), nil
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
