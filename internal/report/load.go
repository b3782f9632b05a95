package report

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/unit"
)

// A Load is the result of a load run.
type Load struct {
	Ref string `json:"ref"`
	*latency.Log

	AnsweredRate float64       `json:"answered_per_second"`
	GoodRate     float64       `json:"good_per_second"`
	SentRate     float64       `json:"sent_per_second"`
	Percentiles  []Percentile  `json:"percentiles"`
	Little       *LittlesLaw   `json:"littles_law,omitempty"`
	CPUShare     float64       `json:"generator_cpu_share"` // share of the CPU time that the generator could use
	LateP99      time.Duration `json:"late_p99_ns"`
	Doubts       hint.Texts    `json:"doubts,omitempty"`
	Server       *LoadServer   `json:"server,omitempty"` // the server, if it was recorded

	Slow     []SlowAnswer `json:"slowest_requests,omitempty"` // if an execution trace was recorded
	Traced   int          `json:"traced_requests,omitempty"`  // requests in the execution traces
	Untraced bool         `json:"untraced,omitempty"`         // the run could have had a trace, but has none

	Charts []Chart `json:"-"`
}

// A SlowAnswer is one of the slowest answers, with its request in the server's execution trace.
type SlowAnswer struct {
	latency.Answer
	Request *RequestLine `json:"request,omitempty"` // nil if the trace has no such request
	Before  bool         `json:"before,omitempty"`  // Request is the one before on the same connection, which the server was not done with
	Trace   *TraceTime   `json:"trace,omitempty"`   // trace with the request, if there are several
}

// trace returns the time of the trace with the request, or "" if there is only one trace.
func (a *SlowAnswer) trace() string {
	if a.Trace == nil {
		return ""
	}
	return a.Trace.String()
}

// A Percentile is the maximum time of a share of all answers.
type Percentile struct {
	Percent  float64       `json:"percent"`
	Service  time.Duration `json:"service_ns"`
	Response time.Duration `json:"response_ns,omitempty"`
}

// LittlesLaw is the number of requests in flight, measured and computed: rate of answers × mean time. A difference means that a measurement is wrong.
type LittlesLaw struct {
	Seen     float64 `json:"seen"`
	Computed float64 `json:"computed"`
}

// Blocks shows counts, times, charts, and doubts.
func (l *Load) Blocks() iter.Seq[Block] {
	list := []Block{Heading{[]Phrase{l.heading()}}, Facts{l.facts()}}
	if len(l.Percentiles) > 0 {
		list = append(list, l.times())
	}
	if t := l.outcomes(); len(t.Rows) > 0 {
		list = append(list, t)
	}
	doubts := slices.Concat(l.Doubts, hint.Said(l.Log.Notes...))
	if l.Server != nil {
		list = append(list, l.Server.blocks()...)
		doubts = append(doubts, hint.Said(l.Server.Doubts...)...)
	}
	if l.Traced > 0 {
		list = append(list, l.slowest())
	}
	for _, c := range l.Charts {
		list = append(list, c)
	}
	for _, n := range doubts {
		list = append(list, Note{Phrase{n}})
	}
	if n := len(l.Slow); l.Traced > 0 {
		for _, a := range l.Slow {
			if a.Request != nil {
				n--
			}
		}
		if n > 0 {
			list = append(list, Note{Phrase{n, " of the ", len(l.Slow), " slowest answers match no request of the trace that took that long: they waited before the server had read them, or after it had answered, or outside of the time of the trace"}})
		}
	}
	if l.Untraced {
		list = append(list, Note{Phrase{"no execution trace was recorded: with ", hint.Option{Name: "flight", Value: "10s"}, ", hone says what the slowest answers of the last seconds waited for"}})
	}
	var next []hint.Command
	if l.Traced > 0 {
		at := ""
		if i := slices.IndexFunc(l.Slow, func(a SlowAnswer) bool { return a.Request != nil }); i >= 0 {
			at = l.Slow[i].trace()
			what := "what the slowest answer waited for"
			if i > 0 {
				what = "what the slowest answer with a request in the trace waited for"
			}
			next = append(next, during(at, "request", l.Ref).Of(strconv.Itoa(l.Slow[i].Request.Number)).For(what))
		}
		next = append(next, during(at, "request", l.Ref).Of("slowest").For("what the slowest request in the trace waited for"), during(at, "requests", l.Ref).For("what slow requests spend more time on"))
	}
	if l.Server != nil {
		next = append(next, l.Server.Next...)
	}
	if len(next) > 0 {
		list = append(list, Commands{Title: "try next", Items: next})
	}
	return blocks(list)
}

// slowest shows the slowest answers, with the requests in the trace.
func (l *Load) slowest() Table {
	t := Table{Title: "slowest answers, and the requests in the trace", Columns: []Column{
		{Name: "took", Unit: nanos}, {Name: "status"}, {Name: "request"}, {Name: "in the server", Unit: nanos}, {Name: "most of it"}, {Name: "part"}, {Name: "handler"},
	}}
	several := slices.ContainsFunc(l.Slow, func(a SlowAnswer) bool { return a.Trace != nil })
	if several {
		t.Title = "slowest answers, and the requests in the traces"
		t.Columns = append(t.Columns, Column{Name: "in the trace of"})
	}
	for _, a := range l.Slow {
		row := []any{Nanos(a.Took), a.Status}
		if r := a.Request; r != nil {
			most := r.Most
			if a.Before {
				most += ", in the request before it"
			}
			row = append(row, r.Number, Nanos(r.Took), most, Share{r.Part, r.Took}, RequestWork.name(r.Handler))
		} else {
			row = append(row, nil, nil, "(no request this long in the trace)", nil, nil)
		}
		if several {
			row = append(row, a.trace())
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (l *Load) heading() Phrase {
	p := Phrase{l.Method, " ", l.Target}
	if l.Targets > 1 {
		p = append(p, fmt.Sprintf(" and %d more", l.Targets-1))
	}
	switch {
	case len(l.Stages) > 0:
		var words []string
		for _, s := range l.Stages {
			words = append(words, fmt.Sprintf("%s..%s/s in %v", plain(s.From), plain(s.To), s.For))
		}
		p = append(p, Sep{}, strings.Join(words, ", "))
	case l.Rate > 0:
		p = append(p, Sep{}, plain(l.Rate)+"/s")
	default:
		p = append(p, Sep{}, "closed loop")
	}
	p = append(p, Sep{}, l.Conns, plural(l.Conns, " connection"))
	if l.Took > 0 {
		p = append(p, Sep{}, Nanos(l.Took))
	}
	if l.Warmup > 0 {
		p = append(p, " after ", Nanos(l.Warmup), " of warm-up")
	}
	return append(p, Sep{}, l.Engine)
}

// plain writes a rate without an exponent.
func plain(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

func (l *Load) facts() []Fact {
	var out []Fact
	add := func(name string, value ...any) { out = append(out, Fact{name, Phrase(value)}) }
	count := func(n int64) string { return strconv.FormatInt(n, 10) }
	add("asked", count(l.Asked))
	sent := []any{count(l.Sent), ", ", unit.PerSecond(l.SentRate)}
	if l.Unsent > 0 {
		sent = append(sent, "; ", count(l.Unsent), " were due but not sent")
	}
	if n := l.FailedBefore(); n > 0 {
		sent = append(sent, "; for ", count(n), " there was no connection")
	}
	add("sent", sent...)
	answered := []any{count(l.Answered), ", ", unit.PerSecond(l.AnsweredRate)}
	if l.Unfinished > 0 {
		answered = append(answered, "; ", count(l.Unfinished), " were still unanswered at the end")
	}
	add("answered", answered...)
	good := []any{count(l.Good), ", ", unit.PerSecond(l.GoodRate)}
	if l.Asked > 0 {
		good = append(good, ", ", Share{l.Good, l.Asked}, " of all requests")
	}
	add("good", good...)
	if l.Warm.Asked+l.Warm.Sent > 0 {
		add("warm-up", count(l.Warm.Sent), " sent, ", count(l.Warm.Answered), " answered; they do not count")
	}
	if l.Stopped != "" {
		add("stopped", l.Stopped)
	}
	received := []any{Bytes(l.Received), ", of which ", Bytes(l.Body), " are bodies"}
	if l.Took > 0 {
		received = append(received, ", ", Bytes(int64(float64(l.Received)/l.Took.Seconds())), "/s")
	}
	add("received", received...)
	opened := []any{count(l.Opened + l.Warm.Opened), " opened"}
	if l.Connect.Count() > 0 {
		opened = append(opened, ", in ", Nanos(l.Connect.Mean()), " on average")
	}
	if l.TLS != "" {
		opened = append(opened, ", ", l.TLS)
	}
	add("connections", opened...)
	if l.Little != nil {
		add("in flight", unit.Number(l.Little.Seen)+" seen, "+unit.Number(l.Little.Computed)+" by rate times mean")
	}
	h := &l.Health
	if h.CPU > 0 && l.Took > 0 {
		gen := []any{Nanos(h.CPU), " of CPU"}
		if l.CPUShare > 0 {
			gen = append(gen, ", ", unit.Share(l.CPUShare), " of the CPU time that it could use")
		}
		if n := l.Sent; n > 0 {
			gen = append(gen, ", ", Nanos(int64(h.CPU)/n), " for each request")
		}
		if h.GCs > 0 {
			gen = append(gen, "; ", h.GCs, plural(h.GCs, " collection"), " of garbage, ", Nanos(h.Pause), " of pauses")
		}
		if h.Late.Count() > 0 {
			gen = append(gen, "; requests left ", Nanos(l.LateP99), " late (p99)")
		}
		if h.Backlog > 0 {
			gen = append(gen, "; at most ", count(h.Backlog), " waited for a connection")
		}
		add("generator", gen...)
	}
	return out
}

func (l *Load) times() Table {
	t := Table{Title: "latency", Columns: []Column{{Name: ""}, {Name: "service"}}}
	if l.Open() {
		t.Summary = Phrase{"service: from when it was sent; response: from when it was to be sent"}
		t.Columns = append(t.Columns, Column{Name: "response"})
	} else {
		t.Summary = Phrase{"from when it was sent"}
	}
	row := func(name string, service, response time.Duration) {
		r := []any{name, Nanos(service)}
		if l.Open() {
			r = append(r, Nanos(response))
		}
		t.Rows = append(t.Rows, r)
	}
	row("mean", l.Service.Mean(), l.Response.Mean())
	row("deviation", l.Service.Deviation(), l.Response.Deviation())
	for _, p := range l.Percentiles {
		row(percentName(p.Percent), p.Service, p.Response)
	}
	row("longest", l.Service.Max(), l.Response.Max())
	return t
}

func percentName(p float64) string { return strconv.FormatFloat(p, 'f', -1, 64) + "%" }

// outcomes lists status codes, unexpected answers, and errors.
func (l *Load) outcomes() Table {
	t := Table{Title: "outcomes", Columns: []Column{{Name: "what"}, {Name: "requests"}, {Name: "share"}}}
	row := func(what string, n int64) {
		t.Rows = append(t.Rows, []any{what, strconv.FormatInt(n, 10), Share{n, max(l.Asked, 1)}})
	}
	var codes []int
	for code := range l.Status {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	for _, code := range codes {
		row("status "+strconv.Itoa(code), l.Status[code])
	}
	for _, what := range []string{latency.OtherLength, latency.OtherBody} {
		if n := l.Unexpected[what]; n > 0 {
			row("another "+what+" than expected", n)
		}
	}
	for _, cause := range l.causes() {
		row(string(cause), l.Errors[cause])
	}
	if l.Unfinished > 0 {
		row("not finished", l.Unfinished)
	}
	if l.Unsent > 0 {
		row("not sent", l.Unsent)
	}
	return t
}

// causes sorts causes of errors by the phase of a request. Unknown causes come last.
func (l *Load) causes() []latency.Cause {
	var out, others []latency.Cause
	for _, c := range latency.Causes {
		if l.Errors[c] > 0 {
			out = append(out, c)
		}
	}
	for c := range l.Errors {
		if !slices.Contains(latency.Causes, c) {
			others = append(others, c)
		}
	}
	slices.Sort(others)
	return append(out, others...)
}

// Tables returns a row for each second of the run.
func (l *Load) Tables() []Table {
	t := Table{}
	for _, name := range []string{"from", "for", "mean", "p50", "p90", "p99", "max"} {
		t.Columns = append(t.Columns, Column{Name: name, Unit: nanos})
	}
	for _, name := range []string{"sent", "answered", "good", "errors", "received bytes", "in flight", "backlog"} {
		t.Columns = append(t.Columns, Column{Name: name})
	}
	for _, r := range l.Rows {
		var row []any
		for _, v := range []int64{
			int64(r.From), int64(r.For), int64(r.Mean), int64(r.P50), int64(r.P90), int64(r.P99), int64(r.Max),
			r.Sent, r.Answered, r.Good, r.Errors, r.Received, r.InFlight, r.Backlog,
		} {
			row = append(row, strconv.FormatInt(v, 10))
		}
		t.Rows = append(t.Rows, row)
	}
	return []Table{t}
}
