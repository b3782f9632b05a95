package requests

import (
	"cmp"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/waits"
)

// Tasks finds the tasks that a program marked with runtime/trace, as if they were requests: Handler is the name, Goroutine the one that ended it, and
// Split what the goroutine did meanwhile that began it.
func Tasks(t *exectrace.Trace) (*Found, error) {
	return annotated(t, exectrace.TaskBegin, exectrace.TaskEnd)
}

// Regions finds the regions that a program marked with runtime/trace, as if they were requests: Handler is the name.
func Regions(t *exectrace.Trace) (*Found, error) {
	return annotated(t, exectrace.RegionBegin, exectrace.RegionEnd)
}

// A mark is a task or a region that is open, or whose goroutine has not yet told what it did until the end.
type mark struct {
	Request
	id    uint64 // of the task
	ended bool
	until int64 // up to here the split is known
}

type marking struct {
	found      *Found
	names      *waits.Names
	begin, end exectrace.Kind
	open       map[int64][]*mark // by the goroutine that began them, the last one at the end
	tasks      map[uint64]*mark
}

func annotated(t *exectrace.Trace, begin, end exectrace.Kind) (*Found, error) {
	m := &marking{found: &Found{Begin: t.Begin()}, names: waits.NewNames(t), begin: begin, end: end, open: map[int64][]*mark{}, tasks: map[uint64]*mark{}}
	walk := &waits.Walk{Event: m.event, Span: m.span, Names: m.names}
	if err := walk.Run(t); err != nil {
		return nil, err
	}
	m.found.End, m.found.Notes = walk.End, waits.DamageNotes(t)
	for _, list := range m.open {
		for _, x := range list {
			x.To, x.Open = walk.End, true
			m.done(x)
		}
	}
	m.found.sort()
	return m.found, nil
}

func (m *marking) event(e *exectrace.Event) {
	switch e.Kind {
	case m.begin:
		x := &mark{Request: Request{From: e.Time, Goroutine: e.Goroutine, Handler: e.Name}, id: e.Task, until: e.Time}
		m.open[e.Goroutine] = append(m.open[e.Goroutine], x)
		if e.Kind == exectrace.TaskBegin {
			m.tasks[e.Task] = x
		}
	case m.end:
		x := m.tasks[e.Task]
		if e.Kind == exectrace.RegionEnd {
			x = nil
			list := m.open[e.Goroutine]
			for i := len(list) - 1; i >= 0 && x == nil; i-- {
				if list[i].Handler == e.Name && list[i].id == e.Task && !list[i].ended {
					x = list[i]
				}
			}
		}
		if x == nil {
			// It began before the trace.
			x = &mark{Request: Request{From: m.found.Begin, Handler: e.Name, Begun: true}, id: e.Task, until: e.Time}
			x.Goroutine, x.To = e.Goroutine, e.Time
			m.done(x)
			return
		}
		delete(m.tasks, e.Task)
		x.To, x.Goroutine, x.ended = e.Time, e.Goroutine, true
	}
}

func (m *marking) span(s *waits.Span) {
	g := s.Goroutine.ID
	list := m.open[g]
	if len(list) == 0 {
		return
	}
	what := WhatOf(m.names, s)
	left := list[:0]
	for _, x := range list {
		to := s.To
		if x.ended {
			to = min(to, x.To)
		}
		if from := max(x.until, s.From); to > from {
			x.Split[what] += to - from
			x.until = to
		}
		if x.ended && s.To >= x.To {
			m.done(x)
			continue
		}
		left = append(left, x)
	}
	clear(list[len(left):])
	if m.open[g] = left; len(left) == 0 {
		delete(m.open, g)
	}
}

func (m *marking) done(x *mark) {
	if len(m.found.Requests) >= Max {
		m.found.More++
		return
	}
	m.found.Requests = append(m.found.Requests, x.Request)
}

// sort puts requests in the order of their ends, and numbers them.
func (f *Found) sort() {
	order.Stable(f.Requests, func(a, b Request) int {
		if a.To != b.To {
			return cmp.Compare(a.To, b.To)
		}
		return cmp.Or(cmp.Compare(a.Goroutine, b.Goroutine), cmp.Compare(a.From, b.From), cmp.Compare(a.Handler, b.Handler))
	})
	for i := range f.Requests {
		f.Requests[i].Number = i + 1
	}
}
