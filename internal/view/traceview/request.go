package traceview

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/requests"
)

// A NoRequestError means that a trace has no request with that number.
type NoRequestError struct {
	Work report.Work
	Arg  string
	Of   int

	Damaged bool // a part of the trace could not be read
}

func (e *NoRequestError) Error() string {
	if e.Of == 0 && e.Damaged {
		return fmt.Sprintf("no %ss were found in the part of the trace that can be read", e.Work)
	}
	if e.Of == 0 {
		return fmt.Sprintf("no %ss were found in the trace", e.Work)
	}
	return fmt.Sprintf("there is no %s %s; they are numbered from 1 to %d", e.Work, e.Arg, e.Of)
}

// Slowest is the argument of Request that asks for the slowest one.
const Slowest = "slowest"

// Request splits the time of one request.
func Request(in []*recording.Recording, q query.Query) (report.Report, error) {
	return pathIn(in, q, report.RequestWork)
}

// Task splits the time of one task.
func Task(in []*recording.Recording, q query.Query) (report.Report, error) {
	return pathIn(in, q, report.TaskWork)
}

// Region splits the time of one region.
func Region(in []*recording.Recording, q query.Query) (report.Report, error) {
	return pathIn(in, q, report.RegionWork)
}

func pathIn(in []*recording.Recording, q query.Query, work report.Work) (report.Report, error) {
	t, w, err := TraceOf(in, q)
	if err != nil {
		return nil, err
	}
	list, _, err := FoundIn(in, work, w)
	if err != nil {
		return nil, err
	}
	found, err := foundOf(in, work)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, &NoRequestError{Work: work, Damaged: len(found.Notes) > 0}
	}
	var r *requests.Request
	if n, err := strconv.Atoi(q.Arg); err == nil {
		i := slices.IndexFunc(list, func(r requests.Request) bool { return r.Number == n })
		if i < 0 {
			return nil, &NoRequestError{Work: work, Arg: q.Arg, Of: list[len(list)-1].Number}
		}
		r = &list[i]
	} else if q.Arg == Slowest {
		r = &requests.TimesOf(list).Slowest
	} else {
		return nil, &NoRequestError{Work: work, Arg: q.Arg, Of: list[len(list)-1].Number}
	}
	paths, err := pathsOf(in, t, []requests.Request{*r})
	if err != nil {
		return nil, err
	}
	out := &report.RequestPath{
		Work: work, Ref: in[0].Ref, RequestLine: LineOf(r), Goroutine: r.Goroutine, Of: len(paths[0]), Segments: []report.PathSegment{}, Traces: report.NewTraceTimes(in[0].Traces(), q.At), Notes: found.Notes,
	}
	sums := map[int64]*report.RequestGoroutine{}
	for _, s := range paths[0] {
		g := sums[s.Goroutine]
		if g == nil {
			g = &report.RequestGoroutine{Goroutine: s.Goroutine, Kind: s.Kind, Own: s.Goroutine == r.Goroutine}
			sums[s.Goroutine] = g
		}
		g.Took += s.Took()
		out.Segments = append(out.Segments, report.PathSegment{
			At: s.From - r.From, Took: s.Took(), What: s.What.String(), Goroutine: s.Goroutine, Kind: s.Kind,
			Function: s.Place.Func, File: s.Place.File, Line: s.Place.Line, Depth: s.Depth,
		})
	}
	for _, g := range sums {
		out.Goroutines = append(out.Goroutines, *g)
	}
	order.Stable(out.Goroutines, func(a, b report.RequestGoroutine) int {
		return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(a.Goroutine, b.Goroutine))
	})
	const most = 40
	limit := cmp.Or(q.Limit, most)
	if limit > 0 && len(out.Segments) > limit {
		least := slices.Clone(out.Segments)
		order.Stable(least, func(a, b report.PathSegment) int { return cmp.Compare(b.Took, a.Took) })
		out.Segments = least[:limit]
		order.Stable(out.Segments, func(a, b report.PathSegment) int { return cmp.Compare(a.At, b.At) })
	}
	return out, nil
}
