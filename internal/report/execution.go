package report

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/unit"
)

// An Execution is an overview of an execution trace. Times are in nanoseconds.
type Execution struct {
	Ref     string    `json:"ref"`
	Live    bool      `json:"-"`            // the trace was taken from a server for this answer; the next question would be about another one
	At      string    `json:"at,omitempty"` // as it was asked for
	Go      string    `json:"go"`           // version of the format of the trace
	Started time.Time `json:"started,omitzero"`
	From    int64     `json:"from_nanos,omitempty"` // of what is shown
	Length  int64     `json:"length_nanos"`
	Events  int64     `json:"events"`
	Procs   int       `json:"procs"`
	Born    int64     `json:"goroutines_created"`
	Left    int       `json:"goroutines_at_end"`

	Capacity  int64 `json:"capacity_nanos"` // number of Ps × time
	Busy      int64 `json:"busy_nanos"`
	GoCode    int64 `json:"go_nanos"`
	Collector int64 `json:"gc_workers_nanos"`
	IdleReady int64 `json:"idle_while_ready_nanos"`
	Tracer    int64 `json:"tracer_nanos,omitempty"` // running time of the trace's own goroutine
	Runtime   int64 `json:"runtime_nanos"`          // other goroutines of the runtime, such as the sweeper
	OnCPU     int64 `json:"on_cpu_nanos,omitempty"` // CPU time of the process, if known

	Running int64           `json:"running_nanos"`
	Ready   int64           `json:"ready_nanos"`
	Syscall int64           `json:"syscall_nanos"`
	Blocked int64           `json:"blocked_nanos"`
	Idle    int64           `json:"waiting_for_work_nanos"`
	Causes  []ExecutionSpan `json:"causes"`

	Latency Latencies `json:"scheduler_latency"`

	Mutator []MutatorUse  `json:"mutator_utilization,omitempty"`
	Cycles  int           `json:"gc_cycles"`
	Marking int64         `json:"gc_marking_nanos"`
	Assist  ExecutionSpan `json:"gc_assist"`

	AssistRunning int64 `json:"gc_assist_running_nanos,omitempty"` // running time of goroutines during assists
	AssistReady   int64 `json:"gc_assist_ready_nanos,omitempty"`
	AssistWaiting int64 `json:"gc_assist_waiting_nanos,omitempty"`

	Stops     []ExecutionSpan `json:"stops,omitempty"`   // stop-the-world phases by reason
	Stopped   []StoppedRow    `json:"stopped,omitempty"` // goroutines that lost most time to them
	StoppedOf int             `json:"stopped_of,omitempty"`

	Silence ExecutionSpan `json:"silence,omitzero"` // longest time without events although goroutines were ready

	Requests int          `json:"requests"`
	Request  Latencies    `json:"request_latency,omitzero"`
	Slowest  *RequestLine `json:"slowest_request,omitempty"`

	Traces []TraceTime `json:"traces,omitempty"` // all traces of the recording, if it has several
	Notes  []string    `json:"notes,omitempty"`
}

// An ExecutionSpan is a set of time ranges.
type ExecutionSpan struct {
	Name    string `json:"name"`
	Count   int64  `json:"count"`
	Total   int64  `json:"total_nanos"`
	Longest int64  `json:"longest_nanos"`
	At      int64  `json:"longest_at_nanos"`
}

// A StoppedRow is goroutines of one kind that were stopped by stop-the-world phases.
type StoppedRow struct {
	Kind    string        `json:"goroutine"`
	Handler string        `json:"handler,omitempty"` // handler of the requests that they were serving
	Lost    ExecutionSpan `json:"lost"`              // time lost; its name is the reason for the stop
}

// A MutatorUse is the minimum share of Ps that the program had, instead of the collector, in any time window of some length.
type MutatorUse struct {
	Window int64   `json:"window_nanos"`
	Least  float64 `json:"least"`
}

// Latencies is how long something took.
type Latencies struct {
	Count int64 `json:"count"`
	P50   int64 `json:"p50_nanos"`
	P90   int64 `json:"p90_nanos"`
	P99   int64 `json:"p99_nanos"`
	Max   int64 `json:"max_nanos"`
}

func (l Latencies) phrase() Phrase {
	return Phrase{"p50 ", Nanos(l.P50), ", p90 ", Nanos(l.P90), ", p99 ", Nanos(l.P99), ", max ", Nanos(l.Max)}
}

// ran is how long goroutines ran.
func (e *Execution) ran() int64 { return e.GoCode + e.Collector + e.Tracer + e.Runtime }

// Blocks shows how Ps and goroutines spent their time.
func (e *Execution) Blocks() iter.Seq[Block] {
	head := Phrase{"execution trace", Sep{}, "format of ", e.Go, Sep{}, Nanos(e.Length)}
	if e.From > 0 {
		head = append(head, " from ", Nanos(e.From), " on")
	}
	head = append(head, Sep{}, "GOMAXPROCS ", int(e.Procs), Sep{}, int(e.Events), " events")
	if !e.Started.IsZero() {
		head = append(head, Sep{}, e.Started)
	}
	var facts []Fact
	add := func(name string, value ...any) { facts = append(facts, Fact{name, Phrase(value)}) }
	other := max(0, e.Busy-e.GoCode-e.Collector-e.Runtime-e.Tracer)
	code := []any{"Go code ", Share{e.GoCode, e.Capacity}}
	if e.AssistRunning > 0 {
		code = append(code, " (with GC assist ", Share{e.AssistRunning, e.Capacity}, ")")
	}
	add("Ps", append(code, ", GC workers ", Share{e.Collector, e.Capacity}, ", the rest of the runtime ", Share{e.Runtime + e.Tracer, e.Capacity},
		", system calls and the scheduler ", Share{other, e.Capacity}, ", idle ", Share{max(0, e.Capacity-e.Busy), e.Capacity})...)
	if e.OnCPU > 0 {
		add("CPU time", Nanos(e.OnCPU), " of the process, ", Share{e.OnCPU, e.Capacity}, " of what GOMAXPROCS allows")
	}
	if e.IdleReady > 0 {
		add("idle while ready", Nanos(e.IdleReady), ", ", Share{e.IdleReady, e.Capacity}, " of all P time: a goroutine could run, and a P was idle")
	}
	add("goroutines", int(e.Born), " created, ", e.Left, " at the end; running ", Nanos(e.Running), ", ready ", Nanos(e.Ready), ", in system calls ", Nanos(e.Syscall),
		", blocked ", Nanos(e.Blocked), ", waiting for work ", Nanos(e.Idle))
	if e.Latency.Count > 0 {
		add("ready to running", e.Latency.phrase()...)
	}
	if e.Cycles > 0 {
		add("GC", unit.Counted(e.Cycles, "cycle"), ", marking for ", Nanos(e.Marking), ", ", Share{e.Marking, e.Length}, " of the time")
	}
	if len(e.Mutator) > 0 {
		const whole = 1e6
		use := Phrase{"GC left at least "}
		for i, u := range e.Mutator {
			if i > 0 {
				use = append(use, ", ")
			}
			use = append(use, Share{int64(u.Least * whole), whole})
			if i == 0 {
				use = append(use, " of the Ps")
			}
			use = append(use, " in any ", Nanos(u.Window))
		}
		add("mutator utilization", use...)
	}
	if e.Assist.Count > 0 {
		add("GC assist", Nanos(e.Assist.Total), " in ", unit.Counted(int(e.Assist.Count), "allocation"), " that had to help: running ", Nanos(e.AssistRunning), ", ready ", Nanos(e.AssistReady),
			", waiting ", Nanos(e.AssistWaiting), "; the longest ", Nanos(e.Assist.Longest), " at ", Nanos(e.Assist.At))
	}
	if e.Requests > 0 {
		add("requests", append(Phrase{e.Requests, ": "}, e.Request.phrase()...)...)
	}
	list := []Block{Heading{[]Phrase{head}}}
	for _, n := range e.Notes {
		list = append(list, Note{Phrase{n}}) // about damage, which affects everything below
	}
	list = append(list, traceNote(e.Traces)...)
	list = append(list, Facts{facts})
	list = append(list, spanTable("where goroutines were blocked", "waiting for", e.Causes, e.Blocked))
	if len(e.Stops) > 0 {
		total := int64(0)
		for _, s := range e.Stops {
			total += s.Total
		}
		list = append(list, spanTable("stops of the world", "why", e.Stops, total))
	}
	if len(e.Stopped) > 0 {
		list = append(list, stoppedTable(e.Stopped))
	}
	if len(e.Stopped) < e.StoppedOf {
		list = append(list, Note{Phrase{"showing the ", len(e.Stopped), " of ", e.StoppedOf, " that lost most"}})
	}
	if ran := e.ran(); e.OnCPU > 0 && ran-e.OnCPU > max(e.OnCPU*3/10, e.Length/50) {
		list = append(list, Note{Phrase{"goroutines held a P for ", Nanos(ran), ", but the process had a CPU for only ", Nanos(e.OnCPU),
			": other programs or a CPU limit took the rest, which the trace shows as running"}})
	}
	if e.Silence.Count > 0 {
		list = append(list, Note{Phrase{"nothing happened for ", Nanos(e.Silence.Longest), ", starting at ", Nanos(e.Silence.At), ", although goroutines were ready",
			times(e.Silence.Count), ": the system gave the process no CPU, or stopped it"}})
	}
	if e.Tracer*50 > e.Capacity {
		list = append(list, Note{Phrase{"recording the trace took ", Nanos(e.Tracer), ", ", Share{e.Tracer, e.Capacity}, " of all P time"}})
	}
	more := []hint.Command{during(e.At, "waits", e.Ref).For("where goroutines waited"), during(e.At, "flame", e.Ref).With("metric", "blocked").For("the same as a flame graph")}
	if e.Requests > 0 {
		more = append(more, during(e.At, "requests", e.Ref).For("requests, and what the slow ones spend more time on"))
	}
	if e.Slowest != nil {
		more = append(more, during(e.At, "request", e.Ref).Of("slowest").For("what the slowest request waited for"))
	}
	list = append(list, next(e.Live, e.Ref, more...))
	return blocks(list)
}

// times describes how often something happened, or "" for once.
func times(n int64) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(", the longest of %d such times", n)
}

func spanTable(title, what string, list []ExecutionSpan, total int64) Table {
	t := Table{
		Title:   title,
		Columns: []Column{{Name: "total", Unit: nanos, Shared: true}, {Name: "share", Bar: true}, {Name: "times"}, {Name: "longest", Unit: nanos}, {Name: "at", Unit: nanos}, {Name: what}},
	}
	at := &Measure{Unit: nanos, Show: Show{Unit: "ms"}}
	for _, s := range list {
		t.Rows = append(t.Rows, []any{Nanos(s.Total), Share{s.Total, total}, int(s.Count), Nanos(s.Longest), Value{s.At, at}, s.Name})
	}
	return t
}

func stoppedTable(list []StoppedRow) Table {
	t := Table{
		Title:   "goroutines that ran when the world was stopped, and what they lost",
		Columns: []Column{{Name: "lost", Unit: nanos}, {Name: "times"}, {Name: "longest", Unit: nanos}, {Name: "at", Unit: nanos}, {Name: "stopped for"}, {Name: "started as"}, {Name: "handler"}},
	}
	at := &Measure{Unit: nanos, Show: Show{Unit: "ms"}}
	for _, s := range list {
		var handler any
		if s.Handler != "" {
			handler = Name{Text: s.Handler}
		}
		t.Rows = append(t.Rows, []any{Nanos(s.Lost.Total), int(s.Lost.Count), Nanos(s.Lost.Longest), Value{s.Lost.At, at}, s.Lost.Name, Name{Text: s.Kind}, handler})
	}
	return t
}

// A Waits is the places where goroutines of a trace waited for something other than work.
type Waits struct {
	Ref    string      `json:"ref"`
	Live   bool        `json:"-"`            // the trace was taken from a server for this answer; the next question would be about another one
	At     string      `json:"at,omitempty"` // as it was asked for
	Length int64       `json:"length_nanos"`
	Total  int64       `json:"blocked_nanos"`
	Count  int64       `json:"waits"`
	Of     int         `json:"of"` // places
	Places []WaitPlace `json:"places"`
	Traces []TraceTime `json:"traces,omitempty"` // of the recording, where it has several
	Notes  []string    `json:"notes,omitempty"`
}

// A WaitPlace is a place in the code where goroutines waited for one reason.
type WaitPlace struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Reason   string `json:"reason"`
	Total    int64  `json:"total_nanos"`
	Count    int64  `json:"waits"`
	Longest  int64  `json:"longest_nanos"`
	At       int64  `json:"longest_at_nanos"`
	Open     int64  `json:"still_waiting,omitempty"`
}

// Blocks shows the places, longest waits first.
func (w *Waits) Blocks() iter.Seq[Block] {
	t := Table{Columns: []Column{
		{Name: "total", Unit: nanos, Shared: true}, {Name: "share", Bar: true}, {Name: "waits"}, {Name: "longest", Unit: nanos}, {Name: "at", Unit: nanos},
	}}
	still := slices.ContainsFunc(w.Places, func(p WaitPlace) bool { return p.Open > 0 })
	if still {
		t.Columns = append(t.Columns, Column{Name: "not ended"})
	}
	t.Columns = append(t.Columns, Column{Name: "for"}, Column{Name: "function"}, Column{Name: "line", Path: true})
	at := &Measure{Unit: nanos, Show: Show{Unit: "ms"}}
	for _, p := range w.Places {
		row := []any{Nanos(p.Total), Share{p.Total, w.Total}, int(p.Count), Nanos(p.Longest), Value{p.At, at}}
		switch {
		case p.Open > 0:
			row = append(row, int(p.Open))
		case still:
			row = append(row, nil)
		}
		t.Rows = append(t.Rows, append(row, p.Reason, Name{Text: p.Function}, fileLine(p.File, p.Line)))
	}
	list := []Block{
		Heading{[]Phrase{{"blocked ", Nanos(w.Total), " in ", unit.Counted(int(w.Count), "wait"), Sep{}, Nanos(w.Length), " of trace"}}},
		t,
	}
	if len(w.Places) < w.Of {
		list = append(list, Note{Phrase{"the first ", len(w.Places), " of ", w.Of, " places are shown; raise ", hint.Option{Name: "limit"}, " to see more"}})
	}
	list = append(list, traceNote(w.Traces)...)
	for _, n := range w.Notes {
		list = append(list, Note{Phrase{n}})
	}
	list = append(list, next(w.Live, w.Ref,
		during(w.At, "flame", w.Ref).With("metric", "blocked").For("the same with all calls"),
		during(w.At, "top", w.Ref).With("metric", "ready").For("where goroutines waited for a P"),
		during(w.At, "tags", w.Ref).With("metric", "blocked").For("by reason, goroutine, handler and waker"),
	))
	return blocks(list)
}

// next lists the commands to run next. Of a server, each would be about another trace than the one in the answer, so there the next step is to keep one.
func next(live bool, ref string, list ...hint.Command) Commands {
	if live {
		list = []hint.Command{hint.Ask("record", ref).With("trace", "").For("keep a trace in a file, and ask about that: each command takes a new one from the server")}
	}
	return Commands{Title: "try next", Items: list}
}

// during returns another question about the same time.
func during(at, verb, ref string) hint.Command {
	c := hint.Ask(verb, ref)
	if at != "" {
		c = c.With("at", at)
	}
	return c
}

// A TraceTime is the time of one of several execution traces of a recording.
type TraceTime struct {
	From time.Duration `json:"from_nanos"`
	To   time.Duration `json:"to_nanos"`
	Read bool          `json:"read,omitempty"` // the answer is about this trace

	// Asked is the part that was asked for, "" where none was, or where the answer has it: an answer is about one trace.
	Asked string `json:"asked,omitempty"`
}

// NewTraceTimes lists the execution traces of a recording that has several, for a question about a time.
func NewTraceTimes(list []recording.TraceTime, at query.Span) []TraceTime {
	var out []TraceTime
	for _, t := range list {
		one := TraceTime{From: t.From, To: t.To, Read: t.Read}
		if from, to := max(t.From, at.From), t.To; !t.Read && !at.Moment() && at != (query.Span{}) {
			if at.To != 0 {
				to = min(to, at.To)
			}
			if from < to {
				one.Asked = query.Span{From: from, To: to}.String()
			}
		}
		out = append(out, one)
	}
	return out
}

func (t TraceTime) String() string { return t.From.String() + ".." + t.To.String() }

// traceNote lists the other traces of the recording, and how to see them.
func traceNote(list []TraceTime) []Block {
	var this string
	var others, asked Phrase
	add := func(to *Phrase, at string) {
		if *to != nil {
			*to = append(*to, ", ")
		}
		*to = append(*to, hint.Option{Name: "at", Value: at})
	}
	for _, t := range list {
		switch {
		case t.Read:
			this = t.String()
		case t.Asked != "":
			add(&asked, t.Asked)
		default:
			add(&others, t.String())
		}
	}
	if others == nil && asked == nil {
		return nil
	}
	note := Phrase{"the recording has ", len(list), " execution traces; this one is at ", this}
	if asked != nil {
		note = append(append(note, "; the rest of the time that you asked for is in others, and not in this answer: "), asked...)
	}
	if others != nil {
		note = append(append(note, "; for the others: "), others...)
	}
	return []Block{Note{note}}
}

// fileLine formats a file and line, "" if unknown.
func fileLine(file string, line int) string {
	if file == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// An Idle is the time in which Ps were idle, by what ended it. Times are in nanoseconds.
type Idle struct {
	Ref      string    `json:"ref"`
	At       string    `json:"at,omitempty"` // as it was asked for
	Length   int64     `json:"length_nanos"`
	Capacity int64     `json:"capacity_nanos"` // Ps times time
	Idle     int64     `json:"idle_nanos"`
	Ready    int64     `json:"idle_while_ready_nanos"`
	All      int64     `json:"all_idle_nanos"` // time in which all Ps were idle
	Of       int       `json:"of"`
	Rows     []IdleRow `json:"rows"`
	Notes    []string  `json:"notes,omitempty"`
}

// An IdleRow is idle times that ended with the same waits.
type IdleRow struct {
	For      string `json:"for"` // reason of the wait
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Kind     string `json:"started_as,omitempty"` // the goroutine that ran next
	Times    int64  `json:"times"`
	Total    int64  `json:"total_nanos"`
	Longest  int64  `json:"longest_nanos"`
	At       int64  `json:"longest_at_nanos"`
}

// Blocks shows why Ps were idle, longest times first.
func (x *Idle) Blocks() iter.Seq[Block] {
	t := Table{Title: "what the next goroutine had waited for", Columns: []Column{
		{Name: "idle", Unit: nanos, Shared: true}, {Name: "share", Bar: true}, {Name: "times"}, {Name: "longest", Unit: nanos}, {Name: "at", Unit: nanos}, {Name: "for"}, {Name: "function"},
		{Name: "line", Path: true}, {Name: "started as"},
	}}
	at := &Measure{Unit: nanos, Show: Show{Unit: "ms"}}
	left := x.Idle
	for _, r := range x.Rows {
		t.Rows = append(t.Rows, []any{
			Nanos(r.Total), Share{r.Total, x.Idle}, int(r.Times), Nanos(r.Longest), Value{r.At, at}, r.For, Name{Text: r.Function}, fileLine(r.File, r.Line), Name{Text: r.Kind},
		})
		left -= r.Total
	}
	list := []Block{
		Heading{[]Phrase{{"Ps idle for ", Nanos(x.Idle), ", ", Share{x.Idle, x.Capacity}, " of their time", Sep{}, Nanos(x.Length), " of trace"}}},
		Facts{[]Fact{
			{"nothing ran at all", Phrase{Nanos(x.All), ", ", Share{x.All, x.Length}, " of the time"}},
			{"idle while ready", Phrase{Nanos(x.Ready), ": a goroutine could run, and a P was idle"}},
		}},
	}
	if len(t.Rows) > 0 {
		list = append(list, t)
	}
	if len(x.Rows) < x.Of {
		list = append(list, Note{Phrase{"the first ", len(x.Rows), " of ", x.Of, " are shown; raise ", hint.Option{Name: "limit"}, " to see more"}})
	} else if left*100 > x.Idle {
		list = append(list, Note{Phrase{"another ", Nanos(left), " is idle time of Ps that stayed idle to the end, or were never used"}})
	}
	for _, n := range x.Notes {
		list = append(list, Note{Phrase{n}})
	}
	return blocks(list)
}

// Kinds are the goroutines of an execution trace, by the function that they were started with and where. Times are in nanoseconds.
type Kinds struct {
	Ref        string    `json:"ref"`
	Length     int64     `json:"length_nanos"`
	Goroutines int64     `json:"goroutines"`
	Of         int       `json:"of"` // kinds
	Rows       []KindRow `json:"kinds"`
	Notes      []string  `json:"notes,omitempty"`
}

// A KindRow is the goroutines of one kind.
type KindRow struct {
	Kind    string    `json:"started_as"`
	Created string    `json:"created_in,omitempty"`
	File    string    `json:"file,omitempty"`
	Line    int       `json:"line,omitempty"`
	Count   int64     `json:"count"`
	Born    int64     `json:"created"`
	Ended   int64     `json:"ended"`
	Life    Latencies `json:"life"` // lifetime of goroutines that began and ended in the trace
	Running int64     `json:"running_nanos"`
	Ready   int64     `json:"ready_nanos"`
	Syscall int64     `json:"syscall_nanos"`
	Blocked int64     `json:"blocked_nanos"`
	Idle    int64     `json:"waiting_for_work_nanos"`
	Waiting string    `json:"left_wait_for,omitempty"` // what most of the remaining goroutines wait for
	Since   int64     `json:"longest_since_nanos,omitempty"`
}

// Blocks shows the kinds with most goroutines first.
func (k *Kinds) Blocks() iter.Seq[Block] {
	t := Table{Columns: []Column{
		{Name: "goroutines"}, {Name: "created"}, {Name: "ended"}, {Name: "life p50", Unit: nanos}, {Name: "p99", Unit: nanos}, {Name: "running", Unit: nanos}, {Name: "ready", Unit: nanos},
		{Name: "syscall", Unit: nanos}, {Name: "blocked", Unit: nanos}, {Name: "idle", Unit: nanos}, {Name: "still waiting for"}, {Name: "started as"}, {Name: "at", Path: true},
	}}
	for _, r := range k.Rows {
		t.Rows = append(t.Rows, []any{
			int(r.Count), int(r.Born), int(r.Ended), some(r.Life.P50), some(r.Life.P99), Nanos(r.Running), some(r.Ready),
			some(r.Syscall), some(r.Blocked), some(r.Idle), r.Waiting, Name{Text: r.Kind}, fileLine(r.File, r.Line),
		})
	}
	list := []Block{Heading{[]Phrase{{int(k.Goroutines), " goroutines of ", unit.Counted(k.Of, "kind"), " in ", Nanos(k.Length), " of trace"}}}, t}
	if len(k.Rows) < k.Of {
		list = append(list, Note{Phrase{"the first ", len(k.Rows), " of ", k.Of, " kinds are shown; raise ", hint.Option{Name: "limit"}, " to see more"}})
	}
	for _, n := range k.Notes {
		list = append(list, Note{Phrase{n}})
	}
	return blocks(list)
}

// some prints a duration, or nothing for zero.
func some(v int64) any {
	if v == 0 {
		return nil
	}
	return Nanos(v)
}
