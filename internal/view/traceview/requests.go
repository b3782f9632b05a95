package traceview

import (
	"cmp"
	"slices"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/requests"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/waits"
)

// finders find work in a trace.
var finders = map[report.Work]func(*exectrace.Trace) (*requests.Found, error){
	report.RequestWork: requests.Find, report.TaskWork: requests.Tasks, report.RegionWork: requests.Regions,
}

// foundOf returns the requests, tasks or regions of a trace.
func foundOf(in []*recording.Recording, work report.Work) (*requests.Found, error) {
	t, err := recording.Execution.Read(in[0])
	if err != nil {
		return nil, err
	}
	if x, ok := recording.Kept[*indexed](t, indexName); ok && work == report.RequestWork {
		return x.found, nil
	}
	return recording.Once(t, string(work), finders[work])
}

// FoundIn returns the requests, tasks or regions of a trace that overlap a window, and the length of the window.
func FoundIn(in []*recording.Recording, work report.Work, w waits.Window) ([]requests.Request, int64, error) {
	found, err := foundOf(in, work)
	if err != nil {
		return nil, 0, err
	}
	if w.From > found.End || w.To != 0 && w.To <= found.Begin {
		return nil, 0, &waits.OutsideError{Begin: found.Begin, End: found.End}
	}
	w.From = max(w.From, found.Begin)
	length := max(0, found.End-w.From)
	if w.To != 0 && w.To < found.End {
		length = max(0, w.To-w.From)
	}
	list := found.Requests
	if w.From > found.Begin || w.To != 0 {
		list = slices.DeleteFunc(slices.Clone(list), func(r requests.Request) bool { return r.To < w.From || w.To != 0 && r.From > w.To })
	}
	return list, length, nil
}

func LineOf(r *requests.Request) report.RequestLine {
	most := r.Most()
	return report.RequestLine{Number: r.Number, At: r.From, Took: r.Took(), Handler: r.Handler, Most: most.String(), Part: r.Split[most], Begun: r.Begun, Open: r.Open}
}

func took(list []requests.Request) []int64 {
	out := make([]int64, len(list))
	for i := range list {
		out[i] = list[i].Took()
	}
	return out
}

// quantiles sorts its list.
func quantiles(list []int64) report.Latencies {
	slices.Sort(list)
	return report.Latencies{Count: int64(len(list)), P50: percentile(list, 50), P90: percentile(list, 90), P99: percentile(list, 99), Max: list[len(list)-1]}
}

// percentile returns the smallest element of a sorted list that is not below so many percent of it.
func percentile(list []int64, percent int) int64 { return list[(len(list)*percent+99)/100-1] }

// Requests shows the requests of a trace by handler, and what slow requests spend more time on.
func Requests(in []*recording.Recording, q query.Query) (report.Report, error) {
	return workIn(in, q, report.RequestWork)
}

// Tasks shows the tasks of a trace by name.
func Tasks(in []*recording.Recording, q query.Query) (report.Report, error) {
	return workIn(in, q, report.TaskWork)
}

// Regions shows the regions of a trace by name.
func Regions(in []*recording.Recording, q query.Query) (report.Report, error) {
	return workIn(in, q, report.RegionWork)
}

// noHandlerNote explains why some requests have no handler.
const noHandlerNote = "some requests have no handler: a trace shows the handler only of a request that waited or made a system call in it, so rows of handlers miss requests that only compute. " +
	"In programs that hone builds and records, all requests of a ServeMux have theirs"

func workIn(in []*recording.Recording, q query.Query, work report.Work) (report.Report, error) {
	if len(in) > 1 {
		return requestDiff(in, q, work)
	}
	t, w, err := TraceOf(in, q)
	if err != nil {
		return nil, err
	}
	list, length, err := FoundIn(in, work, w)
	if err != nil {
		return nil, err
	}
	found, err := foundOf(in, work)
	if err != nil {
		return nil, err
	}
	out := &report.Requests{Work: work, Ref: in[0].Ref, Live: in[0].Live, At: q.At.String(), Length: length, Of: len(list), Slowest: []report.RequestLine{}, Handlers: []report.HandlerRow{}, Traces: report.NewTraceTimes(in[0].Traces(), q.At), Notes: slices.Clone(found.Notes)}
	for what := range requests.Whats {
		out.Whats = append(out.Whats, what.String())
	}
	if work == report.RequestWork {
		left := 0
		for i := range found.Profiles {
			if r := &found.Profiles[i]; r.To >= w.From && (w.To == 0 || r.From <= w.To) {
				left++
			}
		}
		if left > 0 {
			out.Notes = append(out.Notes, unit.Counted(left, "request")+" to /debug/pprof for a profile or a trace left out")
		}
	}
	if len(list) == 0 {
		out.Notes = append(out.Notes, map[report.Work]string{
			report.RequestWork: "no requests were found; hone finds those of net/http, HTTP/2, gRPC and fasthttp servers",
			report.TaskWork:    "the trace has no tasks; programs create them with trace.NewTask (runtime/trace)",
			report.RegionWork:  "the trace has no regions; programs create them with trace.StartRegion or trace.WithRegion (runtime/trace)",
		}[work])
		return out, nil
	}
	type sums struct {
		report.HandlerRow
		took, whole []int64
	}
	by := map[string]*sums{}
	for i := range list {
		r := &list[i]
		sum := by[r.Handler]
		if sum == nil {
			sum = &sums{HandlerRow: report.HandlerRow{Handler: r.Handler, Split: make([]int64, requests.Whats)}}
			by[r.Handler] = sum
		}
		took := r.Took()
		sum.Total += took
		for what, v := range r.Split {
			sum.Split[what] += v
		}
		if sum.took = append(sum.took, took); !r.Begun && !r.Open {
			sum.whole = append(sum.whole, took)
		}
	}
	if of := by[""]; of != nil && work == report.RequestWork {
		out.Unnamed = len(of.took)
	}
	for _, sum := range by {
		sum.Unfinished = len(sum.took) - len(sum.whole)
		out.Unfinished += sum.Unfinished
		if len(sum.whole) == 0 {
			sum.whole = sum.took // better than nothing
		}
		sum.Latencies = quantiles(sum.whole)
		out.Handlers = append(out.Handlers, sum.HandlerRow)
	}
	order.Stable(out.Handlers, func(a, b report.HandlerRow) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Handler, b.Handler))
	})
	if q.Limit > 0 {
		out.Handlers, out.HandlersOf = firstRows(out.Handlers, q.Limit)
	}
	if out.Unnamed > 0 {
		out.Notes = append(out.Notes, noHandlerNote)
	}
	if slow, middle, of := requests.Compared(list); slow != nil {
		paths, err := pathsOf(in, t, slices.Concat(slow, middle))
		if err != nil {
			return nil, err
		}
		if tail := requests.TailOf(paths[:len(slow)], paths[len(slow):]); tail != nil {
			out.Tail = tailOf(tail, q.Limit)
			out.Tail.Of = of
		}
	}
	const few = 10
	limit := q.Limit
	if limit == 0 {
		limit = few
	}
	slowest := make([]*requests.Request, len(list))
	for i := range list {
		slowest[i] = &list[i]
	}
	for _, r := range order.First(slowest, limit, func(a, b *requests.Request) int {
		return cmp.Or(cmp.Compare(b.Took(), a.Took()), cmp.Compare(a.Number, b.Number))
	}) {
		out.Slowest = append(out.Slowest, LineOf(r))
	}
	return out, nil
}

// pathsOf returns the critical paths of requests. If the trace has a cached index, it reads only the parts that it needs.
func pathsOf(in []*recording.Recording, t *exectrace.Trace, list []requests.Request) (paths [][]requests.Segment, err error) {
	of, err := recording.Execution.Read(in[0])
	if err != nil {
		return nil, err
	}
	x, ok := recording.Kept[*indexed](of, indexName)
	if !ok {
		return requests.Paths(t, nil, list)
	}
	err = x.index.Read(func(t *exectrace.Trace, _ *waits.Names) error {
		paths, err = requests.Paths(t, x.index.Index, list)
		return err
	})
	return paths, err
}

func tailOf(t *requests.Tail, limit int) *report.RequestTail {
	out := &report.RequestTail{Slow: t.Slow, Middle: t.Middle, SlowTook: t.SlowTook, MiddleTook: t.MiddleTook}
	for _, c := range t.Causes {
		// What is the same in both is no reason.
		if d := max(c.Slow-c.Middle, c.Middle-c.Slow); limit >= 0 && d*100 < max(t.SlowTook-t.MiddleTook, 1) {
			continue
		}
		out.Causes = append(out.Causes, report.TailCauseOf{What: c.What.String(), Kind: c.Kind, Slow: c.Slow, Middle: c.Middle})
	}
	return out
}
