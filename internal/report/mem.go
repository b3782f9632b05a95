package report

import (
	"iter"
	"strconv"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/unit"
)

// A Mem says what the memory of a process is used for: at the end, and when it was largest.
type Mem struct {
	Ref    string        `json:"ref"`
	End    time.Duration `json:"end_ns"`  // when the last values are from
	Peak   time.Duration `json:"peak_ns"` // when most was resident
	RSS    int64         `json:"rss"`
	AtPeak int64         `json:"peak_rss"`
	Held   bool          `json:"held,omitempty"` // what is resident is not known: these are what Go has from the system and did not give back
	Rows   []MemRow      `json:"rows"`
	Limits []MemLimit    `json:"limits,omitempty"`
	Grown  []HeapGrowth  `json:"grown,omitempty"` // what is live of allocations of functions, where there is more in the last heap profile than in the first
	First  time.Duration `json:"first_ns,omitempty"`
	Last   time.Duration `json:"last_ns,omitempty"`
	Notes  hint.Texts    `json:"notes,omitempty"`

	Next   []hint.Command `json:"-"`
	Charts []Chart        `json:"-"`
}

// A MemRow is one use of memory, in bytes. The rows that are not Part add up to what is resident.
type MemRow struct {
	Use    string `json:"use"`
	Doc    string `json:"doc"`
	End    int64  `json:"end"`
	AtPeak int64  `json:"peak"`
	Part   bool   `json:"part,omitempty"` // of the row above
}

// A HeapGrowth is how much was live of what a function allocated, at first and at last.
type HeapGrowth struct {
	Function string `json:"function"`
	From     int64  `json:"from"`
	To       int64  `json:"to"`
}

// A MemLimit is how much memory something allows.
type MemLimit struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// Blocks returns the uses as a table, with charts of them over time.
func (m *Mem) Blocks() iter.Seq[Block] {
	size := &Measure{Unit: "bytes", Total: m.AtPeak}
	t := Table{Columns: []Column{
		{Name: "at the end"}, {Name: "share"}, {Name: "at the peak"}, {Name: "share"}, {Name: "use"}, {Name: ""},
	}}
	for _, r := range m.Rows {
		use := r.Use
		if r.Part {
			use = "  " + use
		}
		t.Rows = append(t.Rows, []any{
			Value{r.End, size}, Share{r.End, m.RSS}, Value{r.AtPeak, size}, Share{r.AtPeak, m.AtPeak}, use, r.Doc,
		})
	}
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
	list = append(list, t)
	if len(m.Grown) > 0 {
		grown := Table{Title: "what grew", Columns: []Column{{Name: "grew by"}, {Name: "from"}, {Name: "to"}, {Name: "live, allocated by"}}}
		for _, g := range m.Grown {
			grown.Rows = append(grown.Rows, []any{Value{g.To - g.From, size}, Value{g.From, size}, Value{g.To, size}, g.Function})
		}
		list = append(list, grown, Note{Phrase{"from the heap profile after ", Nanos(int64(m.First)), " to that after ", Nanos(int64(m.Last))}})
	}
	for _, n := range m.Notes {
		list = append(list, Note{Phrase{n}})
	}
	if len(m.Next) > 0 {
		list = append(list, Commands{Title: "try next", Items: m.Next})
	}
	return blocks(list)
}

// Tables returns the rows, for programs.
func (m *Mem) Tables() []Table {
	t := Table{Columns: []Column{{Name: "use"}, {Name: "end_bytes"}, {Name: "peak_bytes"}}}
	for _, r := range m.Rows {
		t.Rows = append(t.Rows, []any{r.Use, strconv.FormatInt(r.End, 10), strconv.FormatInt(r.AtPeak, 10)})
	}
	all := "resident"
	if m.Held {
		all = "held"
	}
	t.Rows = append(t.Rows, []any{all, strconv.FormatInt(m.RSS, 10), strconv.FormatInt(m.AtPeak, 10)})
	return []Table{t}
}

// A Timeline is how a run went over time.
type Timeline struct {
	Ref    string        `json:"ref"`
	End    time.Duration `json:"end_ns"`
	CPUs   int           `json:"cpus,omitempty"` // that the program may use; 0 when that is not known
	Points []TimePoint   `json:"points"`
	Events []TimeEvent   `json:"events,omitempty"` // trouble that was looked out for
	Notes  []string      `json:"notes,omitempty"`

	Charts []Chart        `json:"-"`
	Next   []hint.Command `json:"-"`
	NoCPU  bool           `json:"-"` // nobody knows how many cores were busy
	NoGC   bool           `json:"-"` // nor how many of them collected garbage
}

// A TimePoint is what was known at a time. What is not known is left out.
type TimePoint struct {
	At         time.Duration `json:"at_ns"`
	CPU        float64       `json:"cpus,omitempty"`    // that were busy since the point before
	GC         float64       `json:"gc_cpus,omitempty"` // of those, with collecting garbage
	RSS        int64         `json:"rss,omitempty"`
	Heap       int64         `json:"heap,omitempty"` // objects, dead ones too
	Goal       int64         `json:"goal,omitempty"` // heap size at which collecting ends
	Live       int64         `json:"live,omitempty"` // heap that the last collection left
	Alloc      float64       `json:"alloc_bytes_per_second,omitempty"`
	Goroutines int64         `json:"goroutines,omitempty"`
	Threads    int64         `json:"threads,omitempty"`
}

// A TimeEvent is trouble, with what there is to say of it in words.
type TimeEvent struct {
	recording.Event
	Text string `json:"text"`
}

// NewTimeEvent returns an event with its words.
func NewTimeEvent(e recording.Event) TimeEvent { return TimeEvent{e, trouble(&e)} }

// Blocks returns the charts.
func (t *Timeline) Blocks() iter.Seq[Block] {
	list := []Block{Heading{[]Phrase{{t.Ref, Sep{}, Nanos(int64(t.End))}}}}
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

// timeRows is how many of the points a table for people has.
const timeRows = 20

// table returns some of the points, at about equal distances, with what is known of any.
func (t *Timeline) table() Table {
	size := &Measure{Unit: "bytes"}
	var rss, heap, goal, goroutines, threads bool
	for i := range t.Points {
		p := &t.Points[i]
		rss, heap, goal = rss || p.RSS > 0, heap || p.Heap > 0, goal || p.Goal > 0
		goroutines, threads = goroutines || p.Goroutines > 0, threads || p.Threads > 0
		size.Total = max(size.Total, p.RSS, p.Heap, p.Goal)
	}
	// What is not known at one time stays empty. A process that has ended uses no memory, but it may be there until its parent has seen that.
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

// decimal is a number with a fraction, as programs read it.
func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
