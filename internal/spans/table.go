package spans

import (
	"encoding/csv"
	"io"
	"strconv"
	"time"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/requests"
	"github.com/hone-perf/hone/internal/spans/parquet"
	"github.com/hone-perf/hone/internal/waits"
)

// Columns are those of a table of spans. Times are in nanoseconds from the begin of the trace.
var columns = []parquet.Column{
	{Name: "goroutine", Type: parquet.Int},
	{Name: "started_as", Type: parquet.Text, Optional: true},
	{Name: "state", Type: parquet.Text},
	{Name: "cause", Type: parquet.Text, Optional: true},
	{Name: "from_ns", Type: parquet.Int},
	{Name: "took_ns", Type: parquet.Int},
	{Name: "function", Type: parquet.Text, Optional: true},
	{Name: "file", Type: parquet.Text, Optional: true},
	{Name: "line", Type: parquet.Int, Optional: true},
	{Name: "begun", Type: parquet.Bool},
	{Name: "open", Type: parquet.Bool},
	{Name: "ended_by", Type: parquet.Text, Optional: true},
	{Name: "waker", Type: parquet.Int, Optional: true},
	{Name: "waker_function", Type: parquet.Text, Optional: true},
	{Name: "waker_line", Type: parquet.Int, Optional: true},
	{Name: "stack", Type: parquet.Text, Optional: true},
	{Name: "request", Type: parquet.Int, Optional: true},
	{Name: "handler", Type: parquet.Text, Optional: true},
}

// A table takes the values of a row, column by column.
type table interface {
	Int(col int, v int64)
	Bool(col int, v bool)
	Text(col int, id uint32)
	End() error
}

// fill hands the values of rows to a table.
func (r *reader) fill(t table) func(*Row, *goroutine, *waits.Span) error {
	return func(row *Row, _ *goroutine, _ *waits.Span) error {
		col := -1
		text := func(id Text) {
			if col++; id != 0 {
				t.Text(col, id)
			}
		}
		number := func(v int64) {
			if col++; v != 0 || !columns[col].Optional {
				t.Int(col, v)
			}
		}
		truth := func(v bool) {
			col++
			t.Bool(col, v)
		}
		number(row.Goroutine)
		text(row.Started)
		text(row.State)
		text(row.Cause)
		number(row.From)
		number(row.Took)
		text(row.Place.Function)
		text(row.Place.File)
		number(int64(row.Place.Line))
		truth(row.Begun)
		truth(row.Open)
		text(row.EndedBy)
		number(row.Waker)
		text(row.WakerAt.Function)
		number(int64(row.WakerAt.Line))
		text(row.Stack)
		if row.Request != nil {
			number(int64(row.Request.Number))
			text(r.number(row.Request.Handler))
		}
		return t.End()
	}
}

// Parquet writes the spans of goroutines of the program in a window of a trace as a Parquet file.
func Parquet(out io.Writer, t *exectrace.Trace, w waits.Window, found []requests.Request) error {
	r := newReader(t, w, found, nil)
	facts := []parquet.Fact{{Key: "hone.table", Value: "spans"}}
	var p *parquet.Writer
	// What time of day it was is known with the first event.
	r.on = func(row *Row, g *goroutine, s *waits.Span) error {
		p = r.parquet(out, facts)
		r.on = r.fill(p)
		return r.on(row, g, s)
	}
	if err := r.run(); err != nil {
		return err
	}
	if p == nil {
		p = r.parquet(out, facts)
	}
	return p.Close()
}

// parquet begins a file.
func (r *reader) parquet(out io.Writer, facts []parquet.Fact) *parquet.Writer {
	if wall := r.trace.Wall(); wall != 0 {
		facts = append(facts, parquet.Fact{Key: "hone.started", Value: time.Unix(0, wall).UTC().Format(time.RFC3339Nano)})
	}
	return parquet.New(out, columns, r.text, facts...)
}

// CSV writes the spans of goroutines of the program in a window of a trace as lines of CSV.
func CSV(out io.Writer, t *exectrace.Trace, w waits.Window, found []requests.Request) error {
	r := newReader(t, w, found, nil)
	c := &csvTable{out: csv.NewWriter(out), text: r.text, row: make([]string, len(columns)), stacks: map[Text]string{}}
	for i, col := range columns {
		c.row[i] = col.Name
	}
	if err := c.End(); err != nil {
		return err
	}
	r.on = r.fill(c)
	if err := r.run(); err != nil {
		return err
	}
	c.out.Flush()
	return c.out.Error()
}

// A csvTable writes rows as lines of text.
type csvTable struct {
	out    *csv.Writer
	text   func(Text) string
	row    []string
	stacks map[Text]string // that were made, of the last rows
}

// mostStacks bounds the stacks that are kept as text.
const mostStacks = 4096

func (c *csvTable) Int(col int, v int64) { c.row[col] = strconv.FormatInt(v, 10) }
func (c *csvTable) Bool(col int, v bool) { c.row[col] = strconv.FormatBool(v) }

func (c *csvTable) Text(col int, id Text) {
	if id&stackText == 0 {
		c.row[col] = c.text(id)
		return
	}
	s, ok := c.stacks[id]
	if !ok {
		if len(c.stacks) >= mostStacks {
			clear(c.stacks)
		}
		s = c.text(id)
		c.stacks[id] = s
	}
	c.row[col] = s
}

func (c *csvTable) End() error {
	err := c.out.Write(c.row)
	clear(c.row)
	return err
}
