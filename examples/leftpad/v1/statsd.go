package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
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
	return &StatsD{w, prefix}
}

// Incr adds one to a counter.
func (c *StatsD) Incr(name string) {
	c.send(name, "1", "c")
}

// Timing says how long something took, in milliseconds.
func (c *StatsD) Timing(name string, d time.Duration) {
	c.send(name, strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 3, 64), "ms")
}

// send sends one metric. That nobody listens is no reason to stop.
func (c *StatsD) send(name, value, kind string) {
	c.w.Write([]byte(fmt.Sprintf("%s.%s:%s|%s\n", clean(c.prefix), clean(name), value, kind)))
}

// clean returns a name without the characters that mean something to the server.
func clean(name string) string {
	r := strings.NewReplacer(" ", ".", ":", "_", "|", "_", "@", "_", "\n", "")
	return r.Replace(strings.ToLower(name))
}
