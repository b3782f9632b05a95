package report

import (
	"fmt"
	"iter"
	"strconv"
	"time"
)

// A Mem says what the memory of a process is used for: at the end, and when it was largest.
type Mem struct {
	Ref    string        `json:"ref"`
	End    time.Duration `json:"end_ns"`  // when the last values are from
	Peak   time.Duration `json:"peak_ns"` // when most was resident
	RSS    int64         `json:"rss"`
	AtPeak int64         `json:"peak_rss"`
	Rows   []MemRow      `json:"rows"`
	Limits []MemLimit    `json:"limits,omitempty"`
	Notes  []string      `json:"notes,omitempty"`

	Next   []Command `json:"-"`
	Charts []Chart   `json:"-"`
}

// A MemRow is one use of memory, in bytes. The rows that are not Part add up to what is resident.
type MemRow struct {
	Use    string `json:"use"`
	Doc    string `json:"doc"`
	End    int64  `json:"end"`
	AtPeak int64  `json:"peak"`
	Part   bool   `json:"part,omitempty"` // of the row above
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
	head := Phrase{m.Ref, Sep{}, Value{m.RSS, size}, " resident after ", Nanos(int64(m.End)), Sep{}, Value{m.AtPeak, size}, " at most, after ", Nanos(int64(m.Peak))}
	for _, l := range m.Limits {
		head = append(head, Sep{}, l.Name, " ", Value{l.Bytes, size})
	}
	list := []Block{Heading{[]Phrase{head}}}
	for _, c := range m.Charts {
		list = append(list, c)
	}
	list = append(list, t)
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
	t.Rows = append(t.Rows, []any{"resident", strconv.FormatInt(m.RSS, 10), strconv.FormatInt(m.AtPeak, 10)})
	return []Table{t}
}

// A Timeline is how a run went over time.
type Timeline struct {
	Ref    string        `json:"ref"`
	End    time.Duration `json:"end_ns"`
	CPUs   int           `json:"cpus,omitempty"` // that the program may use; 0 when that is not known
	Points []TimePoint   `json:"points"`
	Notes  []string      `json:"notes,omitempty"`

	Charts []Chart `json:"-"`
}

// A TimePoint is what was known at a time. What is not known is left out.
type TimePoint struct {
	At         time.Duration `json:"at_ns"`
	CPU        float64       `json:"cpus,omitempty"`    // that were busy since the point before
	GC         float64       `json:"gc_cpus,omitempty"` // of those, with collecting garbage
	RSS        int64         `json:"rss,omitempty"`
	Heap       int64         `json:"heap,omitempty"` // objects, dead ones too
	Goal       int64         `json:"goal,omitempty"` // heap size at which collecting ends
	Goroutines int64         `json:"goroutines,omitempty"`
	Threads    int64         `json:"threads,omitempty"`
}

// Blocks returns the charts.
func (t *Timeline) Blocks() iter.Seq[Block] {
	list := []Block{Heading{[]Phrase{{t.Ref, Sep{}, Nanos(int64(t.End))}}}}
	for _, c := range t.Charts {
		list = append(list, c)
	}
	list = append(list, t.table())
	for _, n := range t.Notes {
		list = append(list, Note{Phrase{n}})
	}
	return blocks(list)
}

// timeRows is how many of the points a table for people has.
const timeRows = 20

// table returns some of the points, at about equal distances.
func (t *Timeline) table() Table {
	size := &Measure{Unit: "bytes"}
	out := Table{Columns: []Column{
		{Name: "at"}, {Name: "CPUs"}, {Name: "for GC"}, {Name: "resident"}, {Name: "heap"}, {Name: "goal"}, {Name: "goroutines"}, {Name: "threads"},
	}}
	n := len(t.Points)
	rows := min(n, timeRows)
	for i := range rows {
		p := &t.Points[(i+1)*n/rows-1]
		size.Total = max(size.Total, p.RSS)
		out.Rows = append(out.Rows, []any{
			Nanos(p.At), fmt.Sprintf("%.2f", p.CPU), fmt.Sprintf("%.2f", p.GC), Value{p.RSS, size}, Value{p.Heap, size}, Value{p.Goal, size},
			int(p.Goroutines), int(p.Threads),
		})
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
