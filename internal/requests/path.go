package requests

import (
	"cmp"
	"slices"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/waits"
)

// A Segment is a part of the time of a request, and what it went into: on its own goroutine, or on one that it waited for.
type Segment struct {
	From, To  int64
	What      What
	Goroutine int64
	Kind      string // function that the goroutine was started with
	Place     exectrace.Frame
	Depth     int // 0 is the request's own goroutine, 1 one that it waited for, and so on
}

// Took is how long it took.
func (s *Segment) Took() int64 { return s.To - s.From }

// MaxSpans bounds what is kept of the time of the requests whose path is wanted.
const MaxSpans = 4 << 20

// maxDepth is how many goroutines may wait for each other.
const maxDepth = 64

// Paths returns the critical path of requests: segments that cover all of their time. Where a goroutine waited and another one ended that, it is what
// the other one did meanwhile. It goes through the trace once, and keeps what happened while one of the requests was answered; the
// paths of those for which there is no room are nil. With an index of the trace, which may be nil, it does not read what came before.
func Paths(t *exectrace.Trace, x *waits.Index, list []Request) ([][]Segment, error) {
	w := newWalker(t)
	for i := range list {
		w.windows = append(w.windows, waits.Window{From: list[i].From, To: list[i].To})
	}
	order.Stable(w.windows, func(a, b waits.Window) int { return cmp.Compare(a.From, b.From) })
	w.windows = merged(w.windows)
	if len(w.windows) == 0 {
		return nil, nil
	}
	last := w.windows[len(w.windows)-1].To
	walk := &waits.Walk{Span: w.span, Window: waits.Window{To: last + 1}, Index: x, Names: w.names}
	if x != nil {
		walk.Window.From = w.windows[0].From
		walk.Quiet = func(*waits.Span) {} // no path leads through goroutines that did nothing
	}
	if err := walk.Run(t); err != nil {
		return nil, err
	}
	for _, spans := range w.spans {
		order.Stable(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	}
	out := make([][]Segment, len(list))
	for i := range list {
		if w.kept < MaxSpans {
			out[i] = w.path(&list[i])
		}
	}
	return out, nil
}

// merged joins windows that overlap.
func merged(list []waits.Window) []waits.Window {
	var out []waits.Window
	for _, w := range list {
		if n := len(out); n > 0 && w.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, w.To)
			continue
		}
		out = append(out, w)
	}
	return out
}

// A span is what is kept of a waits.Span.
type span struct {
	From, To int64
	what     What
	stack    exectrace.Stack
	by       int64           // goroutine that is the cause for the end of a wait; 0 is none
	byStack  exectrace.Stack // where it was then
	kind     *kind
}

// A kind is what a goroutine is for, as far as is known by now.
type kind struct {
	number int
	sure   bool
}

type birth struct {
	at      int64
	creator int64
	stack   exectrace.Stack // of its creator
}

type walker struct {
	names   *waits.Names
	windows []waits.Window
	next    int // the first window that does not end before the spans that come
	spans   map[int64][]span
	born    map[int64]birth
	kept    int
}

func newWalker(t *exectrace.Trace) *walker {
	return &walker{names: waits.NewNames(t), spans: map[int64][]span{}, born: map[int64]birth{}}
}

func (w *walker) span(s *waits.Span) {
	for w.next < len(w.windows) && w.windows[w.next].To < s.To {
		w.next++
	}
	g := s.Goroutine
	of, _ := g.Mine.(*kind)
	if of != nil && !of.sure {
		of.number, of.sure = w.names.BetterKind(g, s.Stack)
	}
	here := w.next < len(w.windows) && w.windows[w.next].From <= s.To
	if !here && (w.next == 0 || w.windows[w.next-1].To < s.From) || w.kept >= MaxSpans {
		return
	}
	w.kept++
	if of == nil {
		of = new(kind)
		of.number, of.sure = w.names.BetterKind(g, s.Stack)
		g.Mine = of
	}
	p := span{From: s.From, To: s.To, what: WhatOf(w.names, s), stack: s.Stack, kind: of}
	switch {
	case s.State == exectrace.Waiting && w.names.Waker(s) == waits.ByGoroutine:
		p.by, p.byStack = s.By, s.ByStack
	case s.State == exectrace.Ready && len(w.spans[g.ID]) == 0 && !s.Begun:
		w.born[g.ID] = birth{s.From, g.Creator, g.Created}
	}
	w.spans[g.ID] = append(w.spans[g.ID], p)
}

// path is the critical path of a request.
func (w *walker) path(r *Request) []Segment {
	var back []Segment // the last first
	w.back(&back, r.Goroutine, r.From, r.To, 0, 0)
	slices.Reverse(back)
	var out []Segment
	for _, s := range back {
		if n := len(out); n > 0 && out[n-1].Goroutine == s.Goroutine && out[n-1].What == s.What && out[n-1].Place == s.Place && out[n-1].To == s.From {
			out[n-1].To = s.To
			continue
		}
		if s.From < s.To {
			out = append(out, s)
		}
	}
	return out
}

// back adds the segments from to back to from that a goroutine was the reason for. At that time it was on a stack, if that is known.
func (w *walker) back(out *[]Segment, g, from, to int64, stack exectrace.Stack, depth int) {
	spans := w.spans[g]
	i := len(spans) - 1
	for i >= 0 && spans[i].From >= to {
		i--
	}
	for ; to > from && i >= 0; i-- {
		s := &spans[i]
		end := min(s.To, to)
		if end <= s.From && s.From < s.To {
			continue
		}
		if end < to {
			// Nothing is known of what it did after that.
			w.add(out, g, max(end, from), to, Other, s, depth)
			if to = max(end, from); to <= from {
				return
			}
		}
		begin := max(s.From, from)
		if s.by != 0 && s.by != g && s.To <= to && depth < maxDepth && len(w.spans[s.by]) > 0 {
			w.back(out, s.by, begin, end, s.byStack, depth+1)
		} else {
			seen := *s
			if stack != 0 && end < s.To && (s.what == Running || s.what == GC) {
				seen.stack = stack // it went on to somewhere else
			}
			w.add(out, g, begin, end, s.what, &seen, depth)
		}
		to, stack = begin, 0
	}
	if to <= from {
		return
	}
	// It was born in this time: before that, its creator was what there was to wait for.
	b, ok := w.born[g]
	if ok && b.creator != 0 && b.creator != g && depth < maxDepth && len(w.spans[b.creator]) > 0 {
		w.back(out, b.creator, from, to, b.stack, depth+1)
		return
	}
	if ok && b.creator == 0 {
		w.add(out, g, from, to, Sleep, &spans[0], depth) // a timer created it
		return
	}
	w.add(out, g, from, to, Other, &span{}, depth)
}

func (w *walker) add(out *[]Segment, g, from, to int64, what What, s *span, depth int) {
	f, _ := w.names.Place(s.stack)
	one := Segment{From: from, To: to, What: what, Goroutine: g, Place: f, Depth: depth}
	if s.kind != nil {
		one.Kind = w.names.KindOf(s.kind.number)
	}
	*out = append(*out, one)
}

// A Tail says what the slowest requests have more of than those in the middle, per request.
type Tail struct {
	Slow, Middle int // requests
	SlowTook     int64
	MiddleTook   int64
	Causes       []TailCause // the largest difference first
}

// A TailCause is one thing that time goes into.
type TailCause struct {
	What         What
	Others       bool // on other goroutines, which the request waited for
	Kind         string
	Slow, Middle int64 // nanoseconds a request
}

// Sample is how many slow requests, and how many in the middle, have their path looked at.
const Sample = 50

// Compared chooses the requests to compare: of the slowest hundredth, or tenth where there are few, and of those around the median.
// It also returns how many are in that hundredth or tenth.
func Compared(list []Request) (slow, middle []Request, of int) {
	whole := make([]*Request, 0, len(list))
	for i := range list {
		if r := &list[i]; !r.Begun && !r.Open {
			whole = append(whole, r)
		}
	}
	if len(whole) < 20 {
		return nil, nil, 0
	}
	took := make([]int64, len(whole))
	for i, r := range whole {
		took[i] = r.Took()
	}
	slices.Sort(took)
	// between returns the requests from one rank to before another.
	between := func(from, to int) []*Request {
		before, _ := slices.BinarySearch(took, took[from])
		var list []*Request
		for _, r := range whole {
			if d := r.Took(); d >= took[from] && d <= took[to-1] {
				list = append(list, r)
			}
		}
		slices.SortFunc(list, func(a, b *Request) int {
			return cmp.Or(cmp.Compare(a.Took(), b.Took()), cmp.Compare(a.Number, b.Number))
		})
		return list[from-before : to-before]
	}
	n := len(whole) / 100
	if n < 3 {
		n = max(1, len(whole)/10)
	}
	return spread(between(len(whole)-n, len(whole))), spread(between(len(whole)*45/100, len(whole)*55/100+1)), n
}

// spread takes Sample of a list, evenly.
func spread(list []*Request) []Request {
	n := min(len(list), Sample)
	out := make([]Request, n)
	for i := range out {
		out[i] = *list[i*(len(list)-1)/max(n-1, 1)]
	}
	return out
}

// TailOf compares paths.
func TailOf(slow, middle [][]Segment) *Tail {
	type key struct {
		what What
		kind string
	}
	sums := map[key]*TailCause{}
	t := &Tail{}
	add := func(paths [][]Segment, n *int, took *int64, of func(*TailCause) *int64) {
		for _, p := range paths {
			if len(p) == 0 {
				continue
			}
			*n++
			*took += p[len(p)-1].To - p[0].From
			for i := range p {
				s := &p[i]
				k := key{what: s.What}
				if s.Depth > 0 {
					k.kind = s.Kind
				}
				c := sums[k]
				if c == nil {
					c = &TailCause{What: k.what, Kind: k.kind, Others: s.Depth > 0}
					sums[k] = c
				}
				*of(c) += s.Took()
			}
		}
	}
	add(slow, &t.Slow, &t.SlowTook, func(c *TailCause) *int64 { return &c.Slow })
	add(middle, &t.Middle, &t.MiddleTook, func(c *TailCause) *int64 { return &c.Middle })
	if t.Slow == 0 || t.Middle == 0 {
		return nil
	}
	t.SlowTook /= int64(t.Slow)
	t.MiddleTook /= int64(t.Middle)
	for _, c := range sums {
		c.Slow /= int64(t.Slow)
		c.Middle /= int64(t.Middle)
		t.Causes = append(t.Causes, *c)
	}
	order.Stable(t.Causes, func(a, b TailCause) int {
		return cmp.Or(cmp.Compare(b.Slow-b.Middle, a.Slow-a.Middle), cmp.Compare(a.What, b.What), cmp.Compare(a.Kind, b.Kind))
	})
	return t
}
