package report

import (
	"iter"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/unit"
)

// A Work is a kind of work that a program repeats.
type Work string

// The kinds of work in an execution trace.
const (
	RequestWork Work = "request" // requests that a server answers
	TaskWork    Work = "task"    // tasks of runtime/trace
	RegionWork  Work = "region"  // regions of runtime/trace, each on one goroutine
)

// named is the column with names of such work.
func (w Work) named() string {
	if w == RequestWork {
		return "handler"
	}
	return string(w)
}

// Requests are the requests, tasks or regions in an execution trace. Times are in nanoseconds.
type Requests struct {
	Work       Work          `json:"work"`
	Ref        string        `json:"ref"`
	Live       bool          `json:"-"`            // the trace was taken from a server for this answer; the next question would be about another one
	At         string        `json:"at,omitempty"` // as it was asked for
	Length     int64         `json:"length_nanos"`
	Of         int           `json:"requests"`
	Handlers   []HandlerRow  `json:"handlers"`
	HandlersOf int           `json:"handlers_of,omitempty"` // handlers there are, where not all are listed
	Whats      []string      `json:"causes"`                // meaning of the numbers in a split
	Tail       *RequestTail  `json:"tail,omitempty"`
	Slowest    []RequestLine `json:"slowest"`
	Unnamed    int           `json:"unnamed,omitempty"` // requests without an event that has a stack, so their handler is unknown

	Unfinished int         `json:"unfinished,omitempty"` // began before the trace, or did not end in it
	Traces     []TraceTime `json:"traces,omitempty"`     // of the recording, where it has several
	Notes      []string    `json:"notes,omitempty"`
}

// A HandlerRow is the requests of one handler.
type HandlerRow struct {
	Handler    string  `json:"handler,omitempty"`
	Latencies          // of requests that began and ended in the trace, if there are any
	Unfinished int     `json:"unfinished,omitempty"` // requests that did not
	Total      int64   `json:"total_nanos"`
	Split      []int64 `json:"split_nanos"`
}

// A RequestLine is one request in a list.
type RequestLine struct {
	Number  int    `json:"number"`
	At      int64  `json:"at_nanos"`
	Took    int64  `json:"took_nanos"`
	Handler string `json:"handler,omitempty"`
	Most    string `json:"most"` // the part with most of its time
	Part    int64  `json:"most_nanos"`
	Begun   bool   `json:"begun_before,omitempty"` // it began before the trace
	Open    bool   `json:"not_ended,omitempty"`    // it did not end in the trace
}

// A RequestTail says what slow requests spend more time on than those around the median, per request.
type RequestTail struct {
	Slow       int           `json:"slow_requests"`
	Of         int           `json:"of_slow_requests"` // number of slow requests, of which Slow are analyzed
	Middle     int           `json:"middle_requests"`
	SlowTook   int64         `json:"slow_nanos"`
	MiddleTook int64         `json:"middle_nanos"`
	Causes     []TailCauseOf `json:"causes"`
}

// A TailCauseOf is what time was spent on: on the goroutine of the request, or on other goroutines that it waited for.
type TailCauseOf struct {
	What   string `json:"what"`
	Kind   string `json:"goroutine,omitempty"` // "" is the goroutine of the request
	Slow   int64  `json:"slow_nanos"`
	Middle int64  `json:"middle_nanos"`
}

// noHandler is the name of the row for unknown handlers.
const noHandler = "(no handler seen)"

// ownGoroutine names the goroutine that does the work itself.
const ownGoroutine = "its own"

func (w Work) name(name string) any {
	switch {
	case name == "" && w == RequestWork:
		return noHandler
	case name == "":
		return "(begun before the trace)"
	}
	return Name{Text: name}
}

// summary describes the compared requests.
func (t *RequestTail) summary(work Work) Phrase {
	slow := Phrase{"the slowest ", t.Slow}
	if t.Slow < t.Of {
		slow = Phrase{t.Slow, " of the slowest ", t.Of}
	}
	return append(slow, ", ", Nanos(t.SlowTook), " each, beside ", t.Middle, " around the median, ", Nanos(t.MiddleTook), " each; times are per ", string(work))
}

// Blocks shows the handlers, what slow requests spend more time on, and the slowest requests.
func (r *Requests) Blocks() iter.Seq[Block] {
	list := []Block{Heading{[]Phrase{{unit.Counted(r.Of, string(r.Work)), " in ", Nanos(r.Length), " of trace"}}}}
	h := Table{Title: r.Work.named() + "s", Columns: []Column{
		{Name: string(r.Work) + "s"}, {Name: "p50", Unit: nanos}, {Name: "p90", Unit: nanos}, {Name: "p99", Unit: nanos}, {Name: "max", Unit: nanos},
	}}
	some := make([]bool, len(r.Whats))
	for _, row := range r.Handlers {
		for i, v := range row.Split {
			some[i] = some[i] || v*1000 >= row.Total && v > 0
		}
	}
	for i, w := range r.Whats {
		if some[i] {
			h.Columns = append(h.Columns, Column{Name: w})
		}
	}
	h.Columns = append(h.Columns, Column{Name: r.Work.named()})
	for _, row := range r.Handlers {
		cells := []any{int(row.Count)}
		for _, v := range []int64{row.P50, row.P90, row.P99, row.Max} {
			cells = append(cells, Nanos(v))
		}
		for i, v := range row.Split {
			if some[i] {
				cells = append(cells, Share{v, row.Total})
			}
		}
		h.Rows = append(h.Rows, append(cells, r.Work.name(row.Handler)))
	}
	if len(h.Rows) > 0 {
		list = append(list, h)
	}
	if t := r.Tail; t != nil {
		tail := Table{
			Title:   "what the slow " + string(r.Work) + "s spend more time on",
			Summary: t.summary(r.Work),
			Columns: []Column{{Name: "more", Unit: nanos}, {Name: "slow", Unit: nanos}, {Name: "median", Unit: nanos}, {Name: "what"}, {Name: "in goroutines of"}},
		}
		for _, c := range t.Causes {
			var kind any = Name{Text: c.Kind}
			if c.Kind == "" {
				kind = ownGoroutine
			}
			tail.Rows = append(tail.Rows, []any{Change{c.Middle, c.Slow, alone(nanos)}, Nanos(c.Slow), Nanos(c.Middle), c.What, kind})
		}
		list = append(list, tail)
	}
	slow := Table{Title: "slowest", Columns: []Column{{Name: string(r.Work)}, {Name: "at", Unit: nanos}, {Name: "took", Unit: nanos}, {Name: "most of it"}, {Name: "part"}, {Name: r.Work.named()}}}
	at := &Measure{Unit: nanos, Show: Show{Unit: "ms"}}
	for _, s := range r.Slowest {
		most := s.Most
		switch {
		case s.Open:
			most += ", and not ended"
		case s.Begun:
			most += ", and begun before"
		}
		slow.Rows = append(slow.Rows, []any{s.Number, Value{s.At, at}, Nanos(s.Took), most, Share{s.Part, s.Took}, r.Work.name(s.Handler)})
	}
	if len(slow.Rows) > 0 {
		list = append(list, slow)
	}
	if r.Unfinished > 0 {
		list = append(list, Note{Phrase{r.Unfinished, " of ", unit.Counted(r.Of, string(r.Work)), " began before the trace or had not ended by its end: where there are others, the numbers of a ", r.Work.named(), " leave those out"}})
	}
	list = append(list, first(len(r.Handlers), r.HandlersOf, r.Work.named()+"s")...)
	list = append(list, traceNote(r.Traces)...)
	for _, n := range r.Notes {
		list = append(list, Note{Phrase{n}})
	}
	if len(r.Slowest) == 0 {
		list = append(list, next(r.Live, r.Ref, during(r.At, "waits", r.Ref).For("where goroutines waited"), during(r.At, "kinds", r.Ref).For("what goroutines there are")))
	}
	if len(r.Slowest) > 0 {
		list = append(list, next(r.Live, r.Ref,
			during(r.At, string(r.Work), r.Ref).Of("slowest").For("what the slowest "+string(r.Work)+" waited for"),
			during(r.At, "waits", r.Ref).For("where all goroutines waited"),
		))
	}
	return blocks(list)
}

// first says that a list has no more than the first rows.
func first(n, of int, what string) []Block {
	if n >= of {
		return nil
	}
	return []Block{Note{Phrase{"the first ", n, " of ", of, " ", what, " are shown; raise ", hint.Option{Name: "limit"}, " to see more"}}}
}

// A RequestPath is what a request, task or region spent its time on, across all goroutines that it waited for. Times are in nanoseconds.
type RequestPath struct {
	Work Work   `json:"work"`
	Ref  string `json:"ref"`
	RequestLine
	Goroutine  int64              `json:"goroutine"`
	Segments   []PathSegment      `json:"segments"`
	Of         int                `json:"of"` // segments
	Goroutines []RequestGoroutine `json:"goroutines"`
	Traces     []TraceTime        `json:"traces,omitempty"` // of the recording, where it has several
	Notes      []string           `json:"notes,omitempty"`
}

// A PathSegment is a part of the time of a request.
type PathSegment struct {
	At        int64  `json:"at_nanos"` // from the start of the request
	Took      int64  `json:"took_nanos"`
	What      string `json:"what"`
	Goroutine int64  `json:"goroutine"`
	Kind      string `json:"started_as"`
	Function  string `json:"function,omitempty"`
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Depth     int    `json:"depth"` // 0 on the goroutine of the request, 1 on one that it waited for, and so on
}

// A RequestGoroutine is a goroutine that contributed to a request.
type RequestGoroutine struct {
	Goroutine int64  `json:"goroutine"`
	Kind      string `json:"started_as"`
	Took      int64  `json:"took_nanos"`
	Own       bool   `json:"own,omitempty"`
}

// Blocks shows the segments in order of time, and the goroutines.
func (r *RequestPath) Blocks() iter.Seq[Block] {
	head := Phrase{string(r.Work), " ", r.Number, Sep{}, Nanos(r.Took), " from ", Nanos(r.At), " on"}
	if r.Handler != "" {
		head = append(head, Sep{}, Name{Text: r.Handler})
	}
	t := Table{Title: "critical path", Columns: []Column{
		{Name: "at", Unit: nanos}, {Name: "took", Unit: nanos, Shared: true}, {Name: "share", Bar: true}, {Name: "what"}, {Name: "goroutine"}, {Name: "started as"}, {Name: "function"}, {Name: "line", Path: true},
	}}
	for _, s := range r.Segments {
		t.Rows = append(t.Rows, []any{
			Nanos(s.At), Nanos(s.Took), Share{s.Took, r.Took}, s.What, int(s.Goroutine), Name{Text: s.Kind}, Name{Text: s.Function}, fileLine(s.File, s.Line),
		})
	}
	g := Table{Title: "goroutines", Columns: []Column{{Name: "took", Unit: nanos, Shared: true}, {Name: "share", Bar: true}, {Name: "goroutine"}, {Name: ""}, {Name: "started as"}}}
	for _, x := range r.Goroutines {
		own := ""
		if x.Own {
			own = map[Work]string{RequestWork: "answers it", TaskWork: "ended it", RegionWork: ownGoroutine}[r.Work]
		}
		g.Rows = append(g.Rows, []any{Nanos(x.Took), Share{x.Took, r.Took}, int(x.Goroutine), own, Name{Text: x.Kind}})
	}
	list := []Block{Heading{[]Phrase{head}}, t}
	if len(r.Segments) < r.Of {
		list = append(list, Note{Phrase{"the longest ", len(r.Segments), " of ", r.Of, " segments are shown; raise ", hint.Option{Name: "limit"}, " to see more"}})
	}
	list = append(list, g)
	if r.Begun {
		list = append(list, Note{Phrase{"the ", string(r.Work), " began before the trace"}})
	}
	if r.Open {
		list = append(list, Note{Phrase{"the ", string(r.Work), " had not ended by the end of the trace"}})
	}
	list = append(list, traceNote(r.Traces)...)
	for _, n := range r.Notes {
		list = append(list, Note{Phrase{n}})
	}
	return blocks(list)
}

// A Blame is the wakers that ended waits in some functions, and how long these waits were. Times are in nanoseconds.
type Blame struct {
	Ref   string     `json:"ref"`
	Arg   string     `json:"functions"`
	Total int64      `json:"blocked_nanos"`
	Count int64      `json:"waits"`
	Of    int        `json:"of"`
	Rows  []BlameRow `json:"wakers"`
	Notes []string   `json:"notes,omitempty"`
}

// A BlameRow is one waker.
type BlameRow struct {
	Waker   string `json:"waker"` // function, or timer, network, runtime
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Kind    string `json:"goroutine,omitempty"` // start function of its goroutine
	Waits   int64  `json:"waits"`
	Total   int64  `json:"total_nanos"`
	Longest int64  `json:"longest_nanos"`
	At      int64  `json:"longest_at_nanos"`
}

// Blocks shows the wakers, longest waits first.
func (b *Blame) Blocks() iter.Seq[Block] {
	t := Table{Columns: []Column{
		{Name: "total", Unit: nanos, Shared: true}, {Name: "share", Bar: true}, {Name: "waits"}, {Name: "longest", Unit: nanos}, {Name: "at", Unit: nanos}, {Name: "ended by"}, {Name: "line", Path: true}, {Name: "in goroutines of"},
	}}
	at := &Measure{Unit: nanos, Show: Show{Unit: "ms"}}
	for _, r := range b.Rows {
		t.Rows = append(t.Rows, []any{
			Nanos(r.Total), Share{r.Total, b.Total}, int(r.Waits), Nanos(r.Longest), Value{r.At, at}, Name{Text: r.Waker}, fileLine(r.File, r.Line), Name{Text: r.Kind},
		})
	}
	list := []Block{Heading{[]Phrase{{"waits at ", b.Arg, Sep{}, Nanos(b.Total), " in ", unit.Counted(int(b.Count), "wait")}}}, t}
	if len(b.Rows) < b.Of {
		list = append(list, Note{Phrase{"the first ", len(b.Rows), " of ", b.Of, " are shown; raise ", hint.Option{Name: "limit"}, " to see more"}})
	}
	for _, n := range b.Notes {
		list = append(list, Note{Phrase{n}})
	}
	return blocks(list)
}
