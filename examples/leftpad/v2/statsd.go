package main

import (
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A StatsD tells a StatsD server what happens. Each metric is one write.
type StatsD struct {
	w      io.Writer
	prefix string
}

// NewStatsD returns a client that writes to w, which has to be safe for use by several goroutines. The names of all
// metrics begin with prefix.
func NewStatsD(w io.Writer, prefix string) *StatsD {
	return &StatsD{w, clean(prefix)}
}

// Incr adds one to a counter. That nobody listens is no reason to stop.
func (c *StatsD) Incr(name string) {
	buf := lines.Get().(*[]byte)
	b := c.appendName((*buf)[:0], name)
	b = append(b, "1|c\n"...)
	c.w.Write(b)
	*buf = b
	lines.Put(buf)
}

// Timing says how long something took, in milliseconds.
func (c *StatsD) Timing(name string, d time.Duration) {
	buf := lines.Get().(*[]byte)
	b := c.appendName((*buf)[:0], name)
	b = strconv.AppendFloat(b, float64(d)/float64(time.Millisecond), 'f', 3, 64)
	b = append(b, "|ms\n"...)
	c.w.Write(b)
	*buf = b
	lines.Put(buf)
}

// appendName appends what a metric begins with.
func (c *StatsD) appendName(b []byte, name string) []byte {
	b = append(b, c.prefix...)
	b = append(b, '.')
	b = append(b, clean(name)...)
	return append(b, ':')
}

// lines holds the bytes of metrics that were sent.
var lines = sync.Pool{New: func() any { return new([]byte) }}

// cleaner replaces the characters that mean something to the server.
var cleaner = strings.NewReplacer(" ", ".", ":", "_", "|", "_", "@", "_", "\n", "")

// clean returns a name without the characters that mean something to the server.
func clean(name string) string {
	return cleaner.Replace(strings.ToLower(name))
}
