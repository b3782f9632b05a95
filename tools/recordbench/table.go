package main

import (
	"fmt"
	"time"
)

const costHeader = `| program | without, CPU s | recorded | ratio | least to largest | the recorder itself, s | collections | target | met |
|---|---:|---:|---:|---:|---:|---:|---|---|
`

func (r result) met() bool { return r.ratio <= r.target }

// row returns the line of the table about a work.
func (r result) row() string {
	return fmt.Sprintf("| %s | %.2f | %.2f | %.2f | %.2f to %.2f | %.2f | %d → %d | ≤ %.2f | %s |", r.name, r.plain.Seconds(),
		r.recorded.Seconds(), r.ratio, r.low, r.high, r.own.Seconds(), r.gcsPlain, r.gcs, r.target, yes(r.met()))
}

const lookHeader = `
| what | | target | met |
|---|---:|---|---|
`

// A line is one of the second table.
type line struct {
	what, value string
	target      string // "" is that there is none
	ok          bool
}

func (l line) met() bool { return l.target == "" || l.ok }

func (l line) row() string {
	if l.target == "" {
		return fmt.Sprintf("| %s | %s | | |", l.what, l.value)
	}
	return fmt.Sprintf("| %s | %s | %s | %s |", l.what, l.value, l.target, yes(l.ok))
}

func yes(ok bool) string {
	if ok {
		return "yes"
	}
	return "**no**"
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
}
