package loadview

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/requests"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/view/traceview"
	"github.com/hone-perf/hone/internal/waits"
)

// ErrNoLoad says that a recording is not of a load run.
var ErrNoLoad = errors.New("it has no load run")

// percents are the percentiles that are shown, if there are enough requests for them.
var percents = []float64{50, 75, 90, 95, 99, 99.9, 99.99, 99.999}

// Load shows the outcomes and latencies of a load run, doubts about them, and the CPU use of the generator.
func Load(in []*recording.Recording, _ query.Query) (report.Report, error) {
	if len(in) == 0 {
		return nil, ErrNoLoad
	}
	l := recording.LoadRun.In(in[0])
	if l == nil {
		return nil, ErrNoLoad
	}
	out := &report.Load{Ref: in[0].Ref, Log: l, LateP99: l.Health.Late.Quantile(0.99)}
	if s := l.Took.Seconds(); s > 0 {
		out.SentRate, out.AnsweredRate, out.GoodRate = float64(l.Sent)/s, float64(l.Answered)/s, float64(l.Good)/s
		// At the start, the generator prepares its connections, which is not typical of a longer run.
		if l.Health.Procs > 0 && l.Took >= 100*time.Millisecond {
			out.CPUShare = l.Health.CPU.Seconds() / s / canUse(l)
		}
	}
	for _, p := range percents {
		if float64(l.Answered)*(100-p)/100 < 1 && p > 50 || l.Answered == 0 {
			break // it would be the longest
		}
		out.Percentiles = append(out.Percentiles, report.Percentile{Percent: p, Service: l.Service.Quantile(p / 100), Response: l.Response.Quantile(p / 100)})
	}
	out.Little = littlesLaw(l)
	out.Doubts = doubts(out)
	out.Charts = loadCharts(l)
	out.Server = loadServer(in[0])
	out.Slow, out.Traced = slowAnswers(in[0], l)
	m := in[0].Manifest
	out.Untraced = m != nil && m.How == recording.Built && l.Answered > 0 && recording.Execution.In(in[0]) == nil
	return out, nil
}

// slowAnswers finds the slowest answers of a run in the execution traces of the server, and returns how many requests these have.
func slowAnswers(rec *recording.Recording, l *latency.Log) (list []report.SlowAnswer, traced int) {
	if recording.Execution.In(rec) == nil || len(l.Slowest) == 0 {
		return nil, 0
	}
	out := make([]report.SlowAnswer, len(l.Slowest))
	for i, a := range l.Slowest {
		out[i].Answer = a
	}
	times := report.NewTraceTimes(rec.Traces(), query.Span{})
	if len(times) == 0 {
		return out, answersIn(rec, l, out, nil)
	}
	for i := range times {
		if of, err := rec.TraceAt(times[i].From, times[i].To); err == nil {
			traced += answersIn(of, l, out, &times[i])
		}
	}
	return out, traced
}

// answersIn finds the answers in one trace that were in none before, and returns how many requests the trace has.
func answersIn(rec *recording.Recording, l *latency.Log, list []report.SlowAnswer, when *report.TraceTime) int {
	in := []*recording.Recording{rec}
	tr, _, err := traceview.TraceOf(in, query.Query{})
	if err != nil {
		return 0
	}
	for _, err := range tr.Events() { // the time of day is known with the first
		if err != nil {
			return 0
		}
		break
	}
	found, _, err := traceview.FoundIn(in, report.RequestWork, waits.Window{})
	if err != nil {
		return 0
	}
	begin, slack := l.Offset, 5*time.Millisecond // where the clocks are not those of one machine's day
	if wall := tr.Wall(); wall != 0 && !l.Began.IsZero() {
		begin, slack = time.Duration(l.Began.UnixNano()-wall), time.Millisecond
	}
	used := map[int]bool{}
	for i := range list {
		a := &list[i]
		if a.Request != nil {
			continue
		}
		r, before := answeredBy(found, int64(begin+a.At), int64(begin+a.At+a.Took), int64(slack), used)
		if r != nil {
			used[r.Number] = true
			line := traceview.LineOf(r)
			a.Request, a.Before, a.Trace = &line, before, when
		}
	}
	return len(found)
}

// answeredBy finds the request that made a client wait from begun to ended, or returns nil. It is the one that was answered then, or the one before it on the
// same connection: the client has an answer before the server is done with the request, and what it sends next waits for that.
func answeredBy(found []requests.Request, begun, ended, slack int64, used map[int]bool) (best *requests.Request, before bool) {
	least := int64(0) // time that is not in both
	last := map[int64]*requests.Request{}
	var own, behind *requests.Request // what ended nearest to the answer, and the request before it
	for i := range found {
		r := &found[i]
		previous := last[r.Goroutine]
		last[r.Goroutine] = r
		if r.From < begun-slack || r.From > ended || r.Open || used[r.Number] {
			continue
		}
		if d := max(r.From-begun, begun-r.From) + max(ended-r.To, r.To-ended); best == nil || d < least {
			best, least = r, d
		}
		away := func(r *requests.Request) int64 { return max(ended-r.To, r.To-ended) }
		if away(r) <= slack && (own == nil || away(r) < away(own)) {
			own, behind = r, previous
		}
	}
	// Most of the time of the one has to be time of the other: otherwise the request was from another client, or was not the slow part.
	both := func(r *requests.Request) int64 { return min(r.To, ended) - max(r.From, begun) }
	if best != nil && both(best)*2 >= max(ended-begun, best.Took()) {
		return best, false
	}
	if behind != nil && !used[behind.Number] && own.From-behind.To <= slack && both(behind)*2 >= max(ended-begun, behind.Took()) {
		return behind, true
	}
	return nil, false
}

// canUse returns how many cores the generator can use: one for each of its threads.
func canUse(l *latency.Log) float64 {
	return min(l.Health.Procs, float64(max(l.Health.Threads, 1)))
}

// littlesLaw compares two ways to know how many requests were under way. It says nothing of very short runs, nor where
// many requests have no answer and so no time.
func littlesLaw(l *latency.Log) *report.LittlesLaw {
	const least = 500 // requests
	if l.Took < time.Second || l.Answered < least || l.Answered < l.Sent*99/100 || l.Health.InFlight == 0 {
		return nil
	}
	// Nothing is under way while a connection is opened, though that counts as service.
	busy := float64(l.Service.Mean())*float64(l.Answered) - float64(l.Connect.Mean())*float64(l.Connect.Count())
	return &report.LittlesLaw{Seen: l.Health.InFlight, Computed: busy / float64(l.Took)}
}

// doubts are the reasons not to trust the measurements.
func doubts(r *report.Load) hint.Texts {
	l := r.Log
	var out hint.Texts
	say := func(format string, args ...any) { out.Add(fmt.Sprintf(format, args...)) }
	const (
		muchCPU  = 0.85
		longLate = 2 * time.Millisecond
	)
	if !l.Open() && l.Answered > 0 {
		out.Add("closed loop: each connection waits for its answer before it sends again, so a stall makes few requests slow; with ", hint.Option{Name: "rate"}, ", times are what users see")
	}
	if r.CPUShare >= muchCPU {
		out.Add("the generator was the bottleneck: it used "+unit.Share(r.CPUShare)+" of the CPU time that it could; use ", hint.Option{Name: "threads"}, " or another machine, or send fewer requests")
	}
	if r.LateP99 > longLate {
		say("the load generator was late: 1%% of requests left %s or more after they were due although a connection was free; the machine may be busy", unit.Time(r.LateP99))
	}
	if l.Unsent > 0 && l.Open() {
		say("the server did not keep up: %d of %d requests were due but not sent, since no connection was free; response times cover only requests that were sent", l.Unsent, l.Asked)
	}
	if n := l.Cut.Count(); n > 0 && l.Answered > 0 {
		all := l.WithCut()
		say("these times exclude %d unanswered requests; with the time that those waited, p99 is %s and the maximum %s", n, unit.Time(all.Quantile(0.99)), unit.Time(all.Max()))
	}
	if k := r.Little; k != nil && math.Abs(k.Seen-k.Computed) > max(0.05*k.Computed, 0.5) {
		say("the numbers are inconsistent: %s requests were in flight, but rate times mean latency gives %s (Little's law); the load may not have been steady", unit.Number(k.Seen), unit.Number(k.Computed))
	}
	if l.Errors[latency.NoPorts] > 0 {
		say("this machine ran out of local ports: a closed connection keeps its port for a minute; use keep-alive, or open fewer than 450 connections a second")
	}
	return out
}

// loadCharts are pictures of the times over the run, of what was answered, and of all times.
func loadCharts(l *latency.Log) []report.Chart {
	var out []report.Chart
	if len(l.Rows) > 2 {
		last := l.Rows[len(l.Rows)-1]
		axis := &report.Measure{Unit: "nanoseconds", Total: int64(last.From + last.For)}
		var p50, p99, longest, answered, errs []report.Point
		var most, rate int64
		for _, r := range l.Rows {
			if r.For < 100*time.Millisecond {
				continue // an incomplete second has no rate
			}
			a, b := int64(r.From), int64(r.From+r.For)
			flat := func(to []report.Point, y int64) []report.Point {
				return append(to, report.Point{X: a, Y: y}, report.Point{X: b, Y: y})
			}
			per := func(n int64) int64 { return int64(float64(n) / r.For.Seconds()) }
			if r.Answered > 0 {
				longest, p99, p50 = flat(longest, int64(r.Max)), flat(p99, int64(r.P99)), flat(p50, int64(r.P50))
			}
			answered, errs = flat(answered, per(r.Answered)), flat(errs, per(r.Errors))
			most, rate = max(most, int64(r.Max)), max(rate, per(r.Answered), per(r.Errors))
		}
		out = append(out, report.Chart{
			Title: "latency over time", X: axis, To: axis.Total, Y: &report.Measure{Unit: "nanoseconds", Total: most},
			Series: []report.Series{
				{Name: "longest", Draw: report.Area, Points: longest}, {Name: "50%", Draw: report.Area, Points: p50}, {Name: "99%", Draw: report.Line, Points: p99},
			},
		})
		c := report.Chart{
			Title: "answers each second", X: axis, To: axis.Total, Y: &report.Measure{Unit: "count", Total: rate},
			Series: []report.Series{{Name: "answered", Draw: report.Area, Points: answered}},
		}
		if l.Failed() > 0 {
			c.Series = append(c.Series, report.Series{Name: "errors", Draw: report.Line, Points: errs})
		}
		out = append(out, c)
	}
	if l.Answered >= 100 {
		out = append(out, byPercentile(l))
	}
	return out
}

// byPercentile shows all times: each step to the right leaves a tenth of the requests before it.
func byPercentile(l *latency.Log) report.Chart {
	const step = 1000 // of the axis for each factor of ten
	nines := min(math.Floor(math.Log10(float64(l.Answered))), 6)
	c := report.Chart{
		Title: "latency by percentile", X: &report.Measure{}, To: int64(nines * step),
		Y: &report.Measure{Unit: "nanoseconds", Total: int64(l.Times().Max())},
	}
	for i, name := range []string{"0%", "90%", "99%", "99.9%", "99.99%", "99.999%", "99.9999%"} {
		if float64(i) <= nines {
			c.Marks = append(c.Marks, report.Mark{At: int64(i * step), Text: name})
		}
	}
	draw := func(name string, how report.Drawing, h *latency.Histogram) {
		var points []report.Point
		for x := 0.0; x <= nines*step; x += 10 {
			points = append(points, report.Point{X: int64(x), Y: int64(h.Quantile(1 - math.Pow(10, -x/step)))})
		}
		c.Series = append(c.Series, report.Series{Name: name, Draw: how, Points: points})
	}
	if l.Open() {
		draw("response", report.Area, &l.Response)
		draw("service", report.Line, &l.Service)
	} else {
		draw("service", report.Area, &l.Service)
	}
	return c
}
