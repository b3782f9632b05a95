package report

import (
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/unit"
)

// A Mem is the memory of a process by use, at the end and at the peak.
type Mem struct {
	Ref    string        `json:"ref"`
	End    time.Duration `json:"end_ns"`  // time of the last values
	Peak   time.Duration `json:"peak_ns"` // time of the peak of resident memory
	RSS    int64         `json:"rss"`
	AtPeak int64         `json:"peak_rss"`
	Held   bool          `json:"held,omitempty"` // resident memory is unknown: values are memory obtained from the system and not returned
	Rows   []MemRow      `json:"rows"`           // what Go counts as taken from the system
	Limits []MemLimit    `json:"limits,omitempty"`
	Grown  []HeapGrowth  `json:"grown,omitempty"` // functions with more live memory in the last heap profile than in the first
	First  time.Duration `json:"first_ns,omitempty"`
	Last   time.Duration `json:"last_ns,omitempty"`
	AsOf   *LiveAsOf     `json:"last_as_of,omitempty"` // if known, and long before Last
	Notes  hint.Texts    `json:"notes,omitempty"`

	Resident     []MemRow `json:"resident,omitempty"`    // what is resident: of Go, and of the rest
	Absent       int64    `json:"absent,omitempty"`      // of what Go counts, at the end: not resident; no less than that if Resident has bounds
	AbsentAtPeak int64    `json:"peak_absent,omitempty"` // the same at the peak

	Next   []hint.Command `json:"-"`
	Charts []Chart        `json:"-"`
}

// A MemRow is one use of memory, in bytes. The rows without Part add up to the whole.
type MemRow struct {
	Use    string `json:"use"`
	Doc    string `json:"doc"`
	End    int64  `json:"end"`
	AtPeak int64  `json:"peak"`
	Part   bool   `json:"part,omitempty"` // part of the row above
	Bound  Bound  `json:"bound,omitempty"`
}

// A Bound says whether a value is only a limit of what it may be.
type Bound string

// What values are.
const (
	Exactly Bound = ""
	AtLeast Bound = "at least"
	AtMost  Bound = "at most"
)

// A HeapGrowth is the live memory allocated by a function, in the first and the last heap profile.
type HeapGrowth struct {
	Function string `json:"function"`
	From     int64  `json:"from"`
	To       int64  `json:"to"`
}

// A LiveAsOf is the garbage collection as of which a heap profile shows live memory.
type LiveAsOf struct {
	GC   int           `json:"gc"`
	At   time.Duration `json:"at_ns"`
	Live int64         `json:"live"` // that it found
}

// A MemLimit is a memory limit.
type MemLimit struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// Blocks returns a table of uses, and charts over time.
func (m *Mem) Blocks() iter.Seq[Block] {
	size := &Measure{Unit: "bytes", Total: m.AtPeak}
	what := " resident after "
	if m.Held {
		what = " held by Go after "
	}
	head := Phrase{m.Ref, Sep{}, Value{m.RSS, size}, what, Nanos(int64(m.End)), Sep{}, Value{m.AtPeak, size}, " at most, after ", Nanos(int64(m.Peak))}
	for _, l := range m.Limits {
		head = append(head, Sep{}, l.Name, " ", Value{l.Bytes, size})
	}
	list := []Block{Heading{[]Phrase{head}}}
	for _, c := range m.Charts {
		list = append(list, c)
	}
	if len(m.Resident) > 0 {
		list = append(list, memTable("resident", m.Resident, size))
	}
	if len(m.Rows) > 0 {
		list = append(list, memTable("what Go counts", m.Rows, size))
	}
	if m.Absent > 0 || m.AbsentAtPeak > 0 {
		least := ""
		if m.Resident[0].Bound != Exactly {
			least = "at least "
		}
		list = append(list, Note{Phrase{
			"of what Go counts, ", least, Value{m.Absent, size}, " at the end and ", Value{m.AbsentAtPeak, size}, " at the peak are not resident: pages that were never touched, or were swapped out",
		}})
	}
	if len(m.Grown) > 0 {
		grown := Table{Title: "what grew", Columns: []Column{{Name: "grew by"}, {Name: "from"}, {Name: "to"}, {Name: "live, allocated by"}}}
		for _, g := range m.Grown {
			grown.Rows = append(grown.Rows, []any{Value{g.To - g.From, size}, Value{g.From, size}, Value{g.To, size}, g.Function})
		}
		list = append(list, grown, Note{Phrase{"from the heap profile after ", Nanos(int64(m.First)), " to that after ", Nanos(int64(m.Last))}})
		if a := m.AsOf; a != nil {
			list = append(list, Note{Phrase{
				"the last of them shows what was live after gc ", a.GC, ", which began after ", Nanos(int64(a.At)), " and left ", Bytes(a.Live),
				": heap profiles in Go lag by up to two collections",
			}})
		}
	}
	for _, n := range m.Notes {
		list = append(list, Note{Phrase{n}})
	}
	if len(m.Next) > 0 {
		list = append(list, Commands{Title: "try next", Items: m.Next})
	}
	return blocks(list)
}

// memTable shows uses of memory, with their shares of all of them.
func memTable(title string, rows []MemRow, size *Measure) Table {
	t := Table{Title: title, Columns: []Column{
		{Name: "at the end", Shared: true}, {Name: "share"}, {Name: "at the peak", Shared: true}, {Name: "share"}, {Name: "use"}, {Name: ""},
	}}
	var end, peak int64
	for _, r := range rows {
		if !r.Part {
			end, peak = end+r.End, peak+r.AtPeak
		}
	}
	for _, r := range rows {
		use := r.Use
		switch {
		case r.Part:
			use = "  " + use
		case r.Bound != Exactly:
			use += ", " + string(r.Bound)
		}
		t.Rows = append(t.Rows, []any{Value{r.End, size}, Share{r.End, end}, Value{r.AtPeak, size}, Share{r.AtPeak, peak}, use, r.Doc})
	}
	return t
}

// Tables returns the rows, for programs.
func (m *Mem) Tables() []Table {
	t := Table{Columns: []Column{{Name: "use"}, {Name: "end_bytes"}, {Name: "peak_bytes"}}}
	for _, r := range slices.Concat(m.Rows, m.Resident) {
		t.Rows = append(t.Rows, []any{r.Use, strconv.FormatInt(r.End, 10), strconv.FormatInt(r.AtPeak, 10)})
	}
	all := "resident"
	if m.Held {
		all = "held"
	}
	t.Rows = append(t.Rows, []any{all, strconv.FormatInt(m.RSS, 10), strconv.FormatInt(m.AtPeak, 10)})
	return []Table{t}
}

// A Timeline is a run over time.
type Timeline struct {
	Ref    string        `json:"ref"`
	End    time.Duration `json:"end_ns"`
	CPUs   int           `json:"cpus,omitempty"`      // CPUs available to the program; 0 if unknown
	Quota  float64       `json:"cpu_quota,omitempty"` // cores that its control group may use; 0 is no limit
	Points []TimePoint   `json:"points"`
	Events []TimeEvent   `json:"events,omitempty"` // conditions of --when that held
	Notes  []string      `json:"notes,omitempty"`

	Charts []Chart        `json:"-"`
	Next   []hint.Command `json:"-"`
	NoCPU  bool           `json:"-"` // the number of busy cores is unknown
	NoGC   bool           `json:"-"` // the number of cores busy with garbage collection is unknown
}

// A TimePoint has the known values at a time.
type TimePoint struct {
	At         time.Duration `json:"at_ns"`
	CPU        float64       `json:"cpus,omitempty"`      // mean busy cores since the previous point
	GC         float64       `json:"gc_cpus,omitempty"`   // mean cores busy with garbage collection
	Periods    int64         `json:"periods,omitempty"`   // of the CPU limit, since the previous point; 0 is no limit
	Throttled  int64         `json:"throttled,omitempty"` // of these, in which the kernel held the limit
	RSS        int64         `json:"rss,omitempty"`
	Heap       int64         `json:"heap,omitempty"` // heap objects, including dead ones
	Goal       int64         `json:"goal,omitempty"` // heap size at which collecting ends
	Live       int64         `json:"live,omitempty"` // live heap after the last collection
	Alloc      float64       `json:"alloc_bytes_per_second,omitempty"`
	Goroutines int64         `json:"goroutines,omitempty"`
	Threads    int64         `json:"threads,omitempty"`
}

// A TimeEvent is a condition that held, with its description.
type TimeEvent struct {
	recording.Event
	Text string `json:"text"`
}

// NewTimeEvent returns an event with its description.
func NewTimeEvent(e recording.Event) TimeEvent { return TimeEvent{e, trouble(&e)} }

// Blocks returns the charts.
func (t *Timeline) Blocks() iter.Seq[Block] {
	head := Phrase{t.Ref, Sep{}, Nanos(int64(t.End))}
	if t.Quota > 0 {
		head = append(head, Sep{}, limited(t.Quota))
	}
	list := []Block{Heading{[]Phrase{head}}}
	for _, c := range t.Charts {
		list = append(list, c)
	}
	list = append(list, t.table())
	if len(t.Events) > 0 {
		events := Table{Title: "trouble", Columns: []Column{{Name: "at"}, {Name: "condition"}, {Name: "what"}}}
		for _, e := range t.Events {
			events.Rows = append(events.Rows, []any{Nanos(e.At), e.When, e.Text})
		}
		list = append(list, events)
	}
	for _, n := range t.Notes {
		list = append(list, Note{Phrase{n}})
	}
	if len(t.Next) > 0 {
		list = append(list, Commands{Title: "try next", Items: t.Next})
	}
	return blocks(list)
}

// timeRows is the maximum number of points in the table for people.
const timeRows = 20

// table returns some of the points, at about equal distances, and only columns with values.
func (t *Timeline) table() Table {
	size := &Measure{Unit: "bytes"}
	var rss, heap, goal, goroutines, threads, throttled bool
	for i := range t.Points {
		p := &t.Points[i]
		rss, heap, goal = rss || p.RSS > 0, heap || p.Heap > 0, goal || p.Goal > 0
		goroutines, threads = goroutines || p.Goroutines > 0, threads || p.Threads > 0
		throttled = throttled || p.Throttled > 0
		size.Total = max(size.Total, p.RSS, p.Heap, p.Goal)
	}
	// Unknown values are empty. A process that has ended uses no memory, but exists until its parent waits for it.
	known := func(n int64, v any) any {
		if n == 0 {
			return ""
		}
		return v
	}
	columns := []struct {
		name  string
		known bool
		value func(p *TimePoint) any
	}{
		{"at", true, func(p *TimePoint) any { return Nanos(p.At) }},
		{"cores", !t.NoCPU, func(p *TimePoint) any { return unit.Cores(p.CPU) }},
		{"for GC", !t.NoGC, func(p *TimePoint) any { return unit.Cores(p.GC) }},
		{"throttled", throttled, func(p *TimePoint) any { return Share{p.Throttled, p.Periods} }},
		{"resident", rss, func(p *TimePoint) any { return known(p.RSS, Value{p.RSS, size}) }},
		{"heap", heap, func(p *TimePoint) any { return known(p.Heap, Value{p.Heap, size}) }},
		{"goal", goal, func(p *TimePoint) any { return known(p.Goal, Value{p.Goal, size}) }},
		{"goroutines", goroutines, func(p *TimePoint) any { return known(p.Goroutines, int(p.Goroutines)) }},
		{"threads", threads, func(p *TimePoint) any { return known(p.Threads, int(p.Threads)) }},
	}
	var out Table
	n := len(t.Points)
	rows := min(n, timeRows)
	out.Rows = make([][]any, rows)
	for _, c := range columns {
		if !c.known {
			continue
		}
		out.Columns = append(out.Columns, Column{Name: c.name})
		for i := range rows {
			out.Rows[i] = append(out.Rows[i], c.value(&t.Points[(i+1)*n/rows-1]))
		}
	}
	return out
}

// Tables returns the points, for programs.
func (t *Timeline) Tables() []Table {
	out := Table{Columns: []Column{
		{Name: "seconds"}, {Name: "cpus"}, {Name: "gc_cpus"}, {Name: "rss_bytes"}, {Name: "heap_bytes"}, {Name: "goal_bytes"},
		{Name: "goroutines"}, {Name: "threads"},
	}}
	for _, p := range t.Points {
		out.Rows = append(out.Rows, []any{
			decimal(p.At.Seconds()), decimal(p.CPU), decimal(p.GC),
			strconv.FormatInt(p.RSS, 10), strconv.FormatInt(p.Heap, 10),
			strconv.FormatInt(p.Goal, 10), strconv.FormatInt(p.Goroutines, 10), strconv.FormatInt(p.Threads, 10),
		})
	}
	return []Table{out}
}

// decimal formats a fraction for programs.
func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
