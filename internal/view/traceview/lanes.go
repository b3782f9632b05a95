package traceview

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/lanes"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/requests"
	"github.com/hone-perf/hone/internal/waits"
)

const (
	lanePixels = 1600 // maximum width of a picture; pages scale it
	laneRows   = 24   // goroutines
	mostRows   = 1000
)

// indexName is the name under which the index of a trace is kept.
const indexName = "index"

// An indexed is the cached index of a trace, for views of its parts.
type indexed struct {
	index *lanes.Index
	found *requests.Found
}

// lanesOf returns the index of the trace of a query, and its window.
func lanesOf(in []*recording.Recording, q query.Query) (*lanes.Index, waits.Window, error) {
	w := windowOf(q)
	t, err := recording.Execution.Read(in[0])
	switch {
	case err != nil:
		return nil, w, err
	case t == nil:
		return nil, w, fmt.Errorf("%s has no execution trace", in[0].Ref)
	}
	of, err := recording.Once(t, indexName, func(t *exectrace.Trace) (*indexed, error) {
		x, found, err := lanes.NewIndex(t)
		return &indexed{x, found}, err
	})
	if err != nil {
		return nil, w, err
	}
	x := of.index
	w.From = max(w.From, x.Begin)
	if w.To == 0 || w.To > x.End {
		w.To = x.End
	}
	if w.From >= w.To {
		if w.From > x.Begin || w.To < x.End {
			return nil, w, &waits.OutsideError{Begin: x.Begin, End: x.End}
		}
		w.To = w.From + 1
	}
	return x, w, nil
}

// Lanes draws a part of a trace.
func Lanes(in []*recording.Recording, q query.Query) (report.Report, error) {
	x, w, err := lanesOf(in, q)
	if err != nil {
		return nil, err
	}
	ask := lanes.Ask{Window: w, Pixels: lanePixels, Goroutines: laneRows}
	switch {
	case q.Limit > 0:
		ask.Goroutines = min(q.Limit, mostRows)
	case q.Limit < 0:
		ask.Goroutines = mostRows
	}
	if ask.Filters, err = filtersOf(q.Steps); err != nil {
		return nil, err
	}
	p, err := x.Draw(ask)
	if err != nil {
		return nil, err
	}
	out := &report.Lanes{
		Ref: in[0].Ref, Live: in[0].Live, At: q.At.String(), Begin: x.Begin, Whole: x.End, From: w.From, To: w.To, Start: p.Start, Pixel: p.Pixel, Pixels: p.Pixels, Each: lanes.Stretch, Small: p.Small, MoreKinds: p.MoreKinds, Of: p.Of, Traces: report.NewTraceTimes(in[0].Traces(), q.At), Notes: x.Notes(),
		Procs: lanesFor(p.Procs), Collector: lanesFor(p.Collector), Requests: lanesFor(p.Requests), Goroutines: lanesFor(p.Goroutines),
		Kinds: []report.LaneKind{}, Wakes: []report.LaneWake{}, Mixes: [][]int{},
	}
	for s := range lanes.States {
		out.States = append(out.States, s.String())
	}
	for _, parts := range p.Mixes {
		var mix []int
		for _, part := range parts {
			mix = append(mix, int(part.State), int(part.Share))
		}
		out.Mixes = append(out.Mixes, mix)
	}
	for _, k := range p.Kinds {
		kind := report.LaneKind{Kind: k.Kind, Count: k.Count, Busy: k.Busy, Most: k.Most, States: []int{}, Means: []float64{}, Levels: [][]float64{}}
		for _, l := range k.Levels {
			sum := 0.0
			for state := range lanes.States {
				sum += l[state]
			}
			kind.Top = max(kind.Top, sum)
		}
		for state := range lanes.States {
			if !slices.ContainsFunc(k.Levels, func(l [lanes.States]float64) bool { return l[state] >= 0.005 }) {
				continue
			}
			kind.States = append(kind.States, int(state))
			kind.Means = append(kind.Means, k.Means[state])
			counts := make([]float64, len(k.Levels))
			for i, l := range k.Levels {
				counts[i] = float64(int(l[state]*100+0.5)) / 100
			}
			kind.Levels = append(kind.Levels, counts)
		}
		out.Kinds = append(out.Kinds, kind)
	}
	for _, wake := range p.Wakes {
		out.Wakes = append(out.Wakes, report.LaneWake{At: wake.At, From: wake.From, To: wake.To})
	}
	return out, nil
}

// filtersOf returns the steps of a query that select goroutines.
func filtersOf(steps []query.Step) (out []lanes.Filter, err error) {
	for _, s := range steps {
		if s.Op != query.Focus && s.Op != query.Ignore {
			continue
		}
		rx, err := regexp.Compile(s.Arg)
		if err != nil {
			return nil, err
		}
		out = append(out, lanes.Filter{Matches: rx.MatchString, Drop: s.Op == query.Ignore})
	}
	return out, nil
}

func lanesFor(list []lanes.Lane) []report.Lane {
	out := make([]report.Lane, len(list))
	for i, l := range list {
		one := report.Lane{Name: l.Name, ID: l.ID, Busy: l.Busy, At: []int{}, Width: []int{}, Mix: []int{}}
		end := 0
		for _, r := range l.Runs {
			one.At, one.Width, one.Mix = append(one.At, r.At-end), append(one.Width, r.Width), append(one.Mix, r.Mix)
			if r.ID != 0 {
				one.Request = append(one.Request, r.ID)
			}
			end = r.At + r.Width
		}
		out[i] = one
	}
	return out
}

// A NoGoroutineError means that a trace, or the window in it, has no goroutine with that number.
type NoGoroutineError struct {
	Arg  string
	Near query.Span // a moment nearest to the window at which the trace has it; zero if there is none
}

func (e *NoGoroutineError) Error() string { return "there is no goroutine " + e.Arg + " at that time" }

// fewSpans is the maximum number of spans for which the report has whole stacks.
const fewSpans = 20

// Goroutine shows what one goroutine did.
func Goroutine(in []*recording.Recording, q query.Query) (report.Report, error) {
	x, w, err := lanesOf(in, q)
	if err != nil {
		return nil, err
	}
	id, err := strconv.ParseInt(q.Arg, 10, 64)
	if err != nil {
		return nil, &NoGoroutineError{Arg: q.Arg}
	}
	out := &report.Goroutine{Ref: in[0].Ref, Live: in[0].Live, At: q.At.String(), ID: id, From: w.From, To: w.To, Spans: []report.GoroutineSpan{}, Split: []report.GoroutinePart{}, Notes: x.Notes()}
	err = x.Read(func(t *exectrace.Trace, names *waits.Names) error {
		return goroutineIn(t, names, x.Index, w, q.Limit, out)
	})
	out.Kind = cmp.Or(x.Kind(id), out.Kind) // the window may not tell
	if err != nil {
		return nil, err
	}
	if out.Of == 0 {
		near, err := nearest(x, id, w)
		if err != nil {
			return nil, err
		}
		return nil, &NoGoroutineError{q.Arg, near}
	}
	for i := range x.Requests {
		if r := &x.Requests[i]; r.Goroutine == id && r.To > w.From && r.From < w.To {
			out.Requests = append(out.Requests, LineOf(r))
		}
	}
	order.Stable(out.Requests, func(a, b report.RequestLine) int { return cmp.Compare(b.Took, a.Took) })
	out.Requests = rows(out.Requests, 0)
	return out, nil
}

// nearest returns the begin of what a goroutine did nearest to a window in which it did nothing, or zero if it did nothing at all.
func nearest(x *lanes.Index, id int64, w waits.Window) (query.Span, error) {
	var near query.Span
	least := int64(math.MaxInt64)
	walk := &waits.Walk{Index: x.Index, Only: func(other int64) bool { return other == id }}
	walk.Span = func(s *waits.Span) {
		if s.Goroutine.ID != id {
			return
		}
		if away := max(w.From-s.To, s.From-w.To); away < least {
			least, near = away, query.Span{From: time.Duration(s.From), To: time.Duration(s.From + 1)}
		}
		if s.From >= w.To {
			walk.Stop()
		}
	}
	err := x.Read(func(t *exectrace.Trace, _ *waits.Names) error { return walk.Run(t) })
	return near, err
}

func goroutineIn(t *exectrace.Trace, names *waits.Names, x *waits.Index, w waits.Window, limit int, out *report.Goroutine) error {
	limit = cmp.Or(limit, 2*executionRows)
	var spans []waits.Span
	took := map[string]int64{}
	var last waits.Goroutine
	stateOf := func(s *waits.Span) string {
		if s.State == exectrace.Waiting && names.Idle(s) {
			return lanes.Idle.String()
		}
		if s.State == exectrace.Waiting {
			return names.Cause(s).String()
		}
		return requests.WhatOf(names, s).String()
	}
	// A span that lasts beyond the window is shown up to its end.
	walk := &waits.Walk{Window: waits.Window{From: w.From}, Index: x, Only: func(id int64) bool { return id == out.ID }}
	walk.Span = func(s *waits.Span) {
		switch {
		case s.Goroutine.ID != out.ID, s.To == w.From && s.From < s.To:
			return
		case s.From >= w.To:
			walk.Stop()
			return
		}
		out.Kind = names.Kind(s.Goroutine, s.Stack)
		last = *s.Goroutine
		out.Of++
		took[stateOf(s)] += min(s.To, w.To) - s.From
		s.From = s.Since
		if limit > 0 && len(spans) >= 4*limit {
			// Only the longest are kept.
			order.Stable(spans, func(a, b waits.Span) int { return cmp.Compare(b.Length(), a.Length()) })
			spans = spans[:limit]
		}
		spans = append(spans, *s)
	}
	walk.Event = func(e *exectrace.Event) {
		if e.Kind == exectrace.Change && e.Goroutine == out.ID && e.To == exectrace.Absent {
			out.Ended = e.Time < w.To
			walk.Stop()
		}
	}
	if err := walk.Run(t); err != nil || out.Of == 0 {
		return err
	}
	if limit > 0 && len(spans) > limit {
		order.Stable(spans, func(a, b waits.Span) int { return cmp.Compare(b.Length(), a.Length()) })
		spans = spans[:limit]
	}
	order.Stable(spans, func(a, b waits.Span) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	for state, v := range took {
		out.Split = append(out.Split, report.GoroutinePart{State: state, Took: v})
	}
	order.Stable(out.Split, func(a, b report.GoroutinePart) int {
		return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(a.State, b.State))
	})
	out.Creator = last.Creator
	if f, ok := names.Place(last.Created); ok && last.Created != 0 {
		out.Created, out.File, out.Line = f.Func, f.File, f.Line
	}
	for i := range spans {
		s := &spans[i]
		f, _ := names.Place(s.Stack)
		one := report.GoroutineSpan{At: s.From, Took: s.Length(), State: stateOf(s), Begun: s.Begun && s.Since == x.Begin, Open: s.Open, Function: f.Func, File: f.File, Line: f.Line}
		if s.State == exectrace.Waiting {
			switch names.Waker(s) {
			case waits.ByGoroutine:
				f, _ := names.Place(s.ByStack)
				one.Waker, one.EndedBy = s.By, f.Func
			case waits.ByTimer:
				one.EndedBy = "timer"
			case waits.ByNetwork:
				one.EndedBy = "network"
			case waits.ByRuntime:
				one.EndedBy = "runtime"
			}
		}
		if len(spans) <= fewSpans {
			one.Stack = callsOf(t.Frames(s.Stack))
			if one.Waker != 0 {
				one.WakeStack = callsOf(t.Frames(s.ByStack))
			}
		}
		out.Spans = append(out.Spans, one)
	}
	return nil
}

func callsOf(frames []exectrace.Frame) []report.StackCall {
	var out []report.StackCall
	for _, f := range frames {
		out = append(out, report.StackCall{Function: f.Func, File: f.File, Line: f.Line})
	}
	return out
}
