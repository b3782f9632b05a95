package report

import (
	"iter"
	"strconv"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/unit"
)

// A Spans is the longest spans of goroutines in an execution trace.
type Spans struct {
	Ref    string    `json:"ref"`
	Live   bool      `json:"-"`            // the trace was taken from a server for this answer; the next question would be about another one
	At     string    `json:"at,omitempty"` // as it was asked for
	Length int64     `json:"length_nanos"`
	Of     int       `json:"of"`               // spans there are, but for those of waiting for work
	Idle   int       `json:"waiting_for_work"` // spans
	Spans  []SpanRow `json:"spans"`
	Notes  []string  `json:"notes,omitempty"`
}

// A SpanRow is a stretch of time in which a goroutine did one thing.
type SpanRow struct {
	Goroutine int64  `json:"goroutine"`
	Kind      string `json:"started_as,omitempty"`
	GoroutineSpan
}

// Blocks shows the spans, the longest first.
func (s *Spans) Blocks() iter.Seq[Block] {
	t := Table{Columns: []Column{
		{Name: "at", Unit: nanos}, {Name: "took", Unit: nanos}, {Name: "what"}, {Name: "goroutine"}, {Name: "started as"}, {Name: "function"}, {Name: "line", Path: true}, {Name: "ended by"},
	}}
	at := &Measure{Unit: nanos, Show: Show{Unit: "ms"}}
	for i := range s.Spans {
		r := &s.Spans[i]
		t.Rows = append(t.Rows, []any{
			Value{r.At, at}, Nanos(r.Took), r.State, int(r.Goroutine), Name{Text: r.Kind}, Name{Text: r.Function}, fileLine(r.File, r.Line), r.endedBy(),
		})
	}
	list := []Block{Heading{[]Phrase{{unit.Counted(s.Of, "span"), " of goroutines", Sep{}, Nanos(s.Length), " of trace"}}}, t}
	if len(s.Spans) < s.Of {
		list = append(list, Note{Phrase{"the longest ", len(s.Spans), " of ", s.Of, " spans are shown; raise ", hint.Option{Name: "limit"}, " to see more"}})
	}
	if s.Idle > 0 {
		list = append(list, Note{Phrase{unit.Counted(s.Idle, "span"), " of goroutines that waited for work are left out"}})
	}
	for _, n := range s.Notes {
		list = append(list, Note{Phrase{n}})
	}
	more := []hint.Command{
		during(s.At, "spans", s.Ref).With("o", "spans.parquet").For("all spans, for DuckDB, ClickHouse or pandas"),
		during(s.At, "spans", s.Ref).With("o", "spans.pftrace").For("all spans, for https://ui.perfetto.dev"),
	}
	if len(s.Spans) > 0 {
		more = append(more, during(s.At, "goroutine", s.Ref).Of(strconv.FormatInt(s.Spans[0].Goroutine, 10)).For("all that the goroutine of the longest did"))
	}
	return blocks(append(list, next(s.Live, s.Ref, more...)))
}

// endedBy is what ended a wait, in words.
func (s *GoroutineSpan) endedBy() string {
	switch {
	case s.Open:
		return "(goes on)"
	case s.Waker != 0 && s.EndedBy != "":
		return strconv.FormatInt(s.Waker, 10) + " " + s.EndedBy
	}
	return s.EndedBy
}
