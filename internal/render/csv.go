package render

import (
	"encoding/csv"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// CSV writes the tables of r with exact values: amounts in the unit in the column heading, shares as fractions. An empty line separates tables with
// different columns. It omits headings and notes.
func CSV(w io.Writer, r report.Report, o Options) error {
	c := csvWriter{formatter: newFormatter(o), out: w, w: csv.NewWriter(w)}
	if t, ok := r.(report.Tabular); ok {
		for _, b := range t.Tables() {
			if err := c.table(&b); err != nil {
				return err
			}
		}
		c.w.Flush()
		return c.w.Error()
	}
	for b := range r.Blocks() {
		if err := c.block(b); err != nil {
			return err
		}
	}
	c.w.Flush()
	return c.w.Error()
}

type csvWriter struct {
	*formatter
	out     io.Writer
	w       *csv.Writer
	heading []string // heading of the current table
}

func (c *csvWriter) block(b report.Block) error {
	switch b := b.(type) {
	case report.Title, report.Heading, report.Note, report.Commands:
		return nil
	case report.Details:
		for _, in := range b.Blocks {
			if err := c.block(in); err != nil {
				return err
			}
		}
		return nil
	case report.Strips:
		for _, in := range b.Draw(report.StripPlaces) {
			if err := c.block(in); err != nil {
				return err
			}
		}
		return nil
	case report.Facts:
		return c.facts(&b)
	case report.Table:
		return c.table(&b)
	case report.Calls:
		return c.calls(&b)
	case report.Listing:
		return c.listing(&b)
	case report.FlameBlock:
		return c.flame(&b)
	case report.Chart:
		return c.chart(&b)
	case report.Stacks:
		return c.stacks(&b)
	case report.Plain:
		for l := range strings.Lines(b.Text) {
			if err := c.w.Write([]string{strings.TrimRight(l, "\n")}); err != nil {
				return err
			}
		}
		return nil
	case report.Lines:
		for l := range b.Each {
			if err := c.w.Write([]string{l}); err != nil {
				return err
			}
		}
		return nil
	case report.Dump:
		return errors.New("writing csv: a raw profile is more than one table; use json")
	}
	panic("render: block of a kind that no renderer knows")
}

// start writes the heading of a table, unless it has the same columns as the previous one.
func (c *csvWriter) start(heading ...string) error {
	if slices.Equal(heading, c.heading) {
		return nil
	}
	if c.heading != nil {
		c.w.Flush()
		if _, err := io.WriteString(c.out, "\n"); err != nil {
			return err
		}
	}
	c.heading = heading
	return c.w.Write(heading)
}

// amount returns the heading of a column of values in a unit.
func amount(name, unit string) string {
	if unit == "" {
		return name
	}
	return name + " (" + unit + ")"
}

func (c *csvWriter) table(t *report.Table) error {
	var heading []string
	if t.Group != "" {
		heading = append(heading, t.Group)
	}
	for _, col := range t.Columns {
		name := col.Name
		if short, ok := strings.CutSuffix(name, "%"); ok {
			name = short + " share"
		}
		if col.Ends {
			heading = append(heading, name+" low", name+" high")
			continue
		}
		heading = append(heading, amount(name, col.Unit))
	}
	if err := c.start(heading...); err != nil {
		return err
	}
	for _, row := range t.Rows {
		var record []string
		if t.Group != "" {
			record = append(record, t.Title)
		}
		for i, item := range row {
			if t.Columns[i].Ends {
				low, high := "", ""
				if ends, ok := item.(report.Interval); ok && ends.Lo > 0 && !math.IsInf(ends.Hi, 1) {
					low, high = decimal(ends.Lo-1), decimal(ends.Hi-1)
				}
				record = append(record, low, high)
				continue
			}
			record = append(record, c.exact(item))
		}
		if err := c.w.Write(record); err != nil {
			return err
		}
	}
	return nil
}

// exact prints an item without rounding it.
func (c *csvWriter) exact(item any) string {
	switch v := item.(type) {
	case string:
		return v
	case report.Name:
		return v.Text
	case report.Qualified:
		return string(v)
	case report.Signs:
		return string(v)
	case report.Indented:
		return v.Name.Text
	case report.Trend:
		var b strings.Builder
		for i, x := range v {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(number(x))
		}
		return b.String()
	case report.ID:
		return string(v)
	case report.Value:
		return number(v.V)
	case report.Share:
		return decimal(fraction(v))
	case report.Change:
		return number(unit.Difference(v.From, v.To))
	case report.Growth:
		return decimal(fraction(report.Share{Part: unit.Difference(v.From, v.To), Whole: unit.Abs(v.From)}))
	case report.Measured:
		return decimal(v.V)
	case report.Delta:
		return decimal(v.V)
	case report.Relative:
		return decimal(float64(v) - 1)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case time.Duration:
		return v.String()
	}
	return c.text(item)
}

func number(v int64) string { return strconv.FormatInt(v, 10) }

// decimal prints a fraction, or "" for NaN.
func decimal(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

func (c *csvWriter) facts(b *report.Facts) error {
	if err := c.start("name", "value"); err != nil {
		return err
	}
	for _, f := range b.Items {
		if err := c.w.Write([]string{f.Name, c.exact(f.Value)}); err != nil {
			return err
		}
	}
	return nil
}

func (c *csvWriter) calls(b *report.Calls) error {
	u, whole := b.Measure.Unit, b.Measure.Total
	if b.Measure.Mean {
		whole = 0 // which shares are empty of
	}
	err := c.start("function", "relation", "neighbor", amount("flat", u), amount("cum", u), "cum share")
	if err != nil {
		return err
	}
	for _, n := range b.Nodes {
		neighbors := func(relation string, calls []report.Call) {
			for _, x := range calls {
				s := report.Share{Part: x.V, Whole: n.Cum}
				if b.Measure.Mean {
					s.Whole = 0
				}
				c.w.Write([]string{n.Name.Text, relation, x.Name.Text, "", number(x.V), decimal(fraction(s))})
			}
		}
		neighbors("caller", n.Callers)
		s := report.Share{Part: n.Cum, Whole: whole}
		c.w.Write([]string{n.Name.Text, "self", "", number(n.Flat), number(n.Cum), decimal(fraction(s))})
		neighbors("callee", n.Callees)
	}
	return nil
}

func (c *csvWriter) listing(b *report.Listing) error {
	u := b.Measure.Unit
	heading := []string{"function", "file", "line", amount("flat", u), amount("cum", u), "source"}
	if b.Before != nil {
		heading = append(heading, amount("flat before", u), amount("cum before", u))
	}
	if err := c.start(heading...); err != nil {
		return err
	}
	for _, l := range b.Lines {
		record := []string{b.Title, b.File, strconv.Itoa(l.Line), number(l.Flat), number(l.Cum), l.Text}
		if b.Before != nil {
			before := report.Cost2{}
			if l.Before != nil {
				before = *l.Before
			}
			record = append(record, number(before.Flat), number(before.Cum))
		}
		c.w.Write(record)
	}
	return nil
}

func (c *csvWriter) flame(b *report.FlameBlock) error {
	u := b.Measure.Unit
	heading := []string{"depth", "function", amount("flat", u), amount("cum", u), "cum share"}
	diff := hasBefore(b.Root)
	if diff {
		heading = append(heading, amount("flat before", u), amount("cum before", u))
	}
	if err := c.start(heading...); err != nil || b.Root == nil {
		return err
	}
	var write func(n *report.FlameNode, depth int)
	write = func(n *report.FlameNode, depth int) {
		s := report.Share{Part: n.Cum, Whole: b.Measure.Total}
		record := []string{strconv.Itoa(depth), frameName(b, n).Text, number(n.Flat), number(n.Cum), decimal(fraction(s))}
		if diff {
			before := costBefore(n)
			record = append(record, number(before.Flat), number(before.Cum))
		}
		c.w.Write(record)
		for _, child := range n.Children {
			write(child, depth+1)
		}
	}
	write(b.Root, 0)
	return nil
}

func (c *csvWriter) chart(b *report.Chart) error {
	x, y := b.Count, "share"
	if b.X != nil && x == "" {
		x = amount("at", b.X.Unit)
	}
	if b.Y != nil {
		y = amount("value", b.Y.Unit)
	}
	if err := c.start("chart", "series", x, y); err != nil {
		return err
	}
	for _, s := range b.Series {
		for _, p := range s.Points {
			v := number(p.Y)
			if b.Y == nil {
				v = decimal(fraction(report.Share{Part: p.Y, Whole: b.Whole}))
			}
			c.w.Write([]string{b.Title, s.Name, number(p.X), v})
		}
	}
	return nil
}

// stacks writes folded stacks: outermost frame first.
func (c *csvWriter) stacks(b *report.Stacks) error {
	if err := c.start(amount("value", b.Measure.Unit), "labels", "stack"); err != nil {
		return err
	}
	var stack strings.Builder
	for s := range b.Each {
		stack.Reset()
		for i, f := range slices.Backward(s.Frames) {
			stack.WriteString(f.Text)
			if i > 0 {
				stack.WriteByte(';')
			}
		}
		labels := make([]string, len(s.Labels))
		for i, l := range s.Labels {
			labels[i] = l.Name + "=" + c.exact(l.Value)
		}
		if err := c.w.Write([]string{number(s.V), strings.Join(labels, ";"), stack.String()}); err != nil {
			return err
		}
	}
	return nil
}
