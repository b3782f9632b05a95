package spans

import (
	"cmp"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/requests"
	"github.com/hone-perf/hone/internal/waits"
)

// A Long is the longest spans of a trace.
type Long struct {
	Spans  []Span
	Of     int   // spans there are, but for those of waiting for work
	Idle   int   // spans of waiting for work
	Length int64 // of the time that was looked at
}

// A Span is a stretch of time in which a goroutine did one thing, in words.
type Span struct {
	Goroutine      int64
	Started        string
	At, Took       int64
	What           string // it did, or waited for
	Function, File string
	Line           int
	Begun, Open    bool
	Waker          int64 // goroutine that ended a wait, 0 is none
	EndedBy        string
}

// mostLong bounds the spans that are kept.
const mostLong = 1 << 16

// Longest returns the longest spans of goroutines of the program in a window, at most n of them; as many as can be kept where n is negative. Those
// that wait for work are counted only: they would be all that there is.
func Longest(t *exectrace.Trace, w waits.Window, n int) (*Long, error) {
	if n < 0 || n > mostLong {
		n = mostLong
	}
	out := &Long{}
	least := int64(-1) // what a span has to take to be kept
	cut := func() {
		order.Stable(out.Spans, func(a, b Span) int {
			return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(a.At, b.At), cmp.Compare(a.Goroutine, b.Goroutine))
		})
		if len(out.Spans) > n {
			out.Spans = out.Spans[:n]
		}
		if len(out.Spans) == n && n > 0 {
			least = out.Spans[n-1].Took
		}
	}
	r := newReader(t, w, nil, nil)
	r.on = func(row *Row, g *goroutine, s *waits.Span) error {
		if s.State == exectrace.Waiting && r.names.Idle(s) {
			out.Idle++
			return nil
		}
		if out.Of++; row.Took < least {
			return nil
		}
		one := Span{
			Goroutine: g.id, Started: r.text(g.started), At: row.From, Took: row.Took, What: requests.WhatOf(r.names, s).String(),
			Function: r.text(row.Place.Function), File: r.text(row.Place.File), Line: row.Place.Line, Begun: row.Begun, Open: row.Open,
		}
		if s.State == exectrace.Waiting {
			one.What, one.Waker = r.text(row.Cause), row.Waker
			if one.EndedBy = r.text(row.EndedBy); row.Waker != 0 {
				one.EndedBy = r.text(row.WakerAt.Function)
			}
		}
		if out.Spans = append(out.Spans, one); len(out.Spans) >= 2*n+mostLong/64 {
			cut()
		}
		return nil
	}
	if err := r.run(); err != nil {
		return nil, err
	}
	cut()
	out.Length = r.walk.End - r.walk.Begin
	return out, nil
}
