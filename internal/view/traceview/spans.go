package traceview

import (
	"cmp"
	"io"
	"path/filepath"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/spans"
	"github.com/hone-perf/hone/internal/waits"
)

// Spans shows the longest spans of goroutines in a trace.
func Spans(in []*recording.Recording, q query.Query) (report.Report, error) {
	t, w, err := TraceOf(in, q)
	if err != nil {
		return nil, err
	}
	long, err := spans.Longest(t, w, cmp.Or(q.Limit, executionRows))
	if err != nil {
		return nil, err
	}
	out := &report.Spans{Ref: in[0].Ref, Live: in[0].Live, At: q.At.String(), Length: long.Length, Of: long.Of, Idle: long.Idle, Spans: []report.SpanRow{}, Notes: waits.DamageNotes(t)}
	for _, s := range long.Spans {
		out.Spans = append(out.Spans, report.SpanRow{Goroutine: s.Goroutine, Kind: s.Started, GoroutineSpan: report.GoroutineSpan{
			At: s.At, Took: s.Took, State: s.What, Begun: s.Begun, Open: s.Open, Function: s.Function, File: s.File, Line: s.Line, Waker: s.Waker, EndedBy: s.EndedBy,
		}})
	}
	return out, nil
}

// A SpanFormat is a kind of file that has all spans of a trace.
type SpanFormat string

// The formats of files with all spans.
const (
	SpanParquet   SpanFormat = "parquet"
	SpanCSV       SpanFormat = "csv"
	SpanJSON      SpanFormat = "json"
	SpanJSONLines SpanFormat = "jsonl"
	SpanPerfetto  SpanFormat = "perfetto"
)

// WriteSpans writes all spans that Spans shows the longest of, and those of waiting for work. It returns what could not be read.
func WriteSpans(out io.Writer, format SpanFormat, in []*recording.Recording, q query.Query) (notes []string, err error) {
	in, err = tracesAt(in, q)
	if err != nil {
		return nil, err
	}
	t, w, err := TraceOf(in, q)
	if err != nil {
		return nil, err
	}
	found, _, err := FoundIn(in, report.RequestWork, w)
	if err != nil {
		return nil, err
	}
	switch format {
	case SpanParquet:
		err = spans.Parquet(out, t, w, found)
	case SpanCSV:
		err = spans.CSV(out, t, w, found)
	case SpanJSON:
		err = spans.JSON(out, t, w, found)
	case SpanJSONLines:
		err = spans.JSONLines(out, t, w, found)
	case SpanPerfetto:
		err = spans.Perfetto(out, t, w, found, filepath.Base(in[0].Ref))
	}
	return waits.DamageNotes(t), err
}
