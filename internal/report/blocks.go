package report

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/unit"
)

// Blocks cuts the ranking into a table. There is no running sum as in pprof: the heading says how much all rows account
// for, and a column that only makes sense in one order of the rows is not worth its room.
func (t *Top) Blocks() iter.Seq[Block] {
	m := t.measure()
	names := make([]*Frame, len(t.Rows))
	for i := range t.Rows {
		names[i] = &t.Rows[i].Frame
		m.addCost(&t.Rows[i].Cost)
	}
	if t.Before != nil {
		return t.beside(m, names)
	}
	byCum := !slices.IsSortedFunc(t.Rows, func(a, b TopRow) int { return cmp.Compare(abs(b.Flat), abs(a.Flat)) })
	table := Table{Columns: []Column{
		{Name: "flat", Unit: t.Unit, Shared: true},
		{Name: "flat%", Bar: !byCum},
		{Name: "cum", Unit: t.Unit, Shared: true},
		{Name: "cum%", Bar: byCum},
		{Name: frameColumn(t.By, names), Path: true},
	}}
	for i := range t.Rows {
		r := &t.Rows[i]
		table.Rows = append(table.Rows, []any{
			Value{r.Flat, m}, Share{r.Flat, t.Total}, Value{r.Cum, m}, Share{r.Cum, t.Total},
			Name{r.Frame.String(), r.Inline},
		})
	}
	if t.Mean {
		table.drop("flat%", "cum%")
	}
	return t.answer(m, &t.Trimming, table)
}

// drop removes columns by name.
func (t *Table) drop(names ...string) {
	for i, c := range slices.Backward(t.Columns) {
		if !slices.Contains(names, c.Name) {
			continue
		}
		t.Columns = slices.Delete(t.Columns, i, i+1)
		for r := range t.Rows {
			t.Rows[r] = slices.Delete(t.Rows[r], i, i+1)
		}
	}
}

// beside is the ranking with what each frame cost before.
func (t *Top) beside(m *Measure, names []*Frame) iter.Seq[Block] {
	m.Total = max(abs(t.Total), abs(t.Before.Total))
	table := Table{Columns: []Column{
		{Name: "flat before", Unit: t.Unit}, {Name: "flat", Unit: t.Unit}, {Name: "flat delta", Unit: t.Unit},
		{Name: "cum before", Unit: t.Unit}, {Name: "cum", Unit: t.Unit}, {Name: "cum delta", Unit: t.Unit},
		{Name: frameColumn(t.By, names), Path: true},
	}}
	for i := range t.Rows {
		r := &t.Rows[i]
		m.add(r.Before.Flat)
		m.add(r.Before.Cum)
		table.Rows = append(table.Rows, []any{
			Value{r.Before.Flat, m}, Value{r.Flat, m}, Change{r.Before.Flat, r.Flat, m},
			Value{r.Before.Cum, m}, Value{r.Cum, m}, Change{r.Before.Cum, r.Cum, m},
			Name{r.Frame.String(), r.Inline},
		})
	}
	list := []Block{comparison(&t.Head, t.Before, m), table}
	list = append(list, t.Trimming.notes(m)...)
	return blocks(append(list, t.remarks()...))
}

// frameColumn returns the heading over frames.
func frameColumn(by string, frames []*Frame) string {
	switch key, isLabel := strings.CutPrefix(by, "label:"); {
	case isLabel:
		return key
	case by == "package", by == "module":
		return by
	}
	for _, f := range frames {
		if f.Name != "" {
			return "function"
		}
	}
	for _, f := range frames {
		if f.File != "" {
			return "file"
		}
	}
	return "function"
}

// Blocks shows each frame between its callers and its callees.
func (g *Graph) Blocks() iter.Seq[Block] {
	m := g.measure()
	calls := Calls{Measure: m}
	m.add(g.Others)
	for i := range g.Nodes {
		n := &g.Nodes[i]
		m.addCost(&n.Cost)
		node := CallNode{Name: Name{Text: n.Frame.String()}, Flat: n.Flat, Cum: n.Cum}
		for _, id := range n.In {
			node.Callers = append(node.Callers, g.call(id, g.Edges[id].From))
		}
		for _, id := range n.Out {
			node.Callees = append(node.Callees, g.call(id, g.Edges[id].To))
		}
		calls.Nodes = append(calls.Nodes, node)
	}
	return g.answer(m, &g.Trimming, calls)
}

func (g *Graph) call(id, other int) Call {
	e := &g.Edges[id]
	c := Call{Name: Name{Text: g.Frame(other).String()}, V: e.Mean}
	if e.Inline {
		c.Name.Inline = Inlined
	}
	return c
}

// Blocks returns a listing for each file of each function.
func (s *Source) Blocks() iter.Seq[Block] {
	m := s.measure()
	var list []Block
	for _, f := range s.Functions {
		if len(f.Files) == 0 {
			list = append(list, Listing{Title: f.Name, Measure: m, Error: "the profile does not say where it is"})
		}
		for _, file := range f.Files {
			for _, l := range file.Lines {
				m.add(l.Flat)
				m.add(l.Cum)
				if l.Before != nil {
					m.add(l.Before.Cum)
				}
			}
			list = append(list, Listing{
				Title: f.Name, File: file.File, Found: file.Found, Measure: m,
				Flat: file.Flat, Cum: file.Cum, Before: file.Before, Lines: file.Lines, Notes: file.Notes, Error: file.Error,
			})
		}
	}
	return s.answer(m, nil, list...)
}

// Blocks returns the stacks.
func (t *Traces) Blocks() iter.Seq[Block] {
	m := t.measure()
	if m.Show.Unit == "" {
		m.Show.Unit = unit.Auto // the least of them is not known before the last
	}
	return t.answer(m, nil, Stacks{Measure: m, Each: t.stacks})
}

func (t *Traces) stacks(yield func(*Stack) bool) {
	names := make(map[*Frame]string)
	units := make(map[string]*Measure)
	var s Stack
	for tr := range t.Each {
		s.V = tr.Value
		s.Labels = appendLabels(s.Labels[:0], tr.Labels, units)
		s.Frames = s.Frames[:0]
		for _, f := range tr.Frames {
			n, ok := names[f.Frame]
			if !ok {
				n = f.Frame.String()
				names[f.Frame] = n
			}
			inline := Called
			if f.Inline {
				inline = Inlined
			}
			s.Frames = append(s.Frames, Name{n, inline})
		}
		if !yield(&s) {
			return
		}
	}
}

func appendLabels(facts []Fact, set profile.LabelSet, units map[string]*Measure) []Fact {
	for _, l := range set {
		f := Fact{Name: l.Key, Value: l.Str}
		if l.Numeric {
			m := units[l.Unit]
			if m == nil {
				m = alone(l.Unit)
				units[l.Unit] = m
			}
			f.Value = Value{l.Num, m}
		}
		facts = append(facts, f)
	}
	return facts
}

// Blocks returns a table for each key.
func (t *Tags) Blocks() iter.Seq[Block] {
	whole := t.measure()
	var list []Block
	for _, k := range t.Keys {
		// Keys are about different things, and values of one may differ by a factor of millions: each table has the unit that suits it.
		const readable = 100_000
		m, ofKey, least := t.measure(), t.measure(), k.Total/readable
		ofKey.Total = k.Total
		table := Table{
			Group:   "key",
			Title:   k.Key,
			Summary: Phrase{Value{k.Total, ofKey}, " of ", Value{t.Total, whole}, ", ", Share{k.Total, t.Total}},
			Columns: []Column{{Name: "flat", Unit: t.Unit, Shared: true}, {Name: "flat%", Bar: true}, {Name: "value"}},
		}
		for _, v := range k.Values {
			if v.Flat != 0 {
				m.add(max(abs(v.Flat), abs(least)))
			}
			table.Rows = append(table.Rows, []any{Value{v.Flat, m}, Share{v.Flat, t.Total}, v.Name})
		}
		list = append(list, table)
	}
	if len(list) == 0 {
		list = append(list, Note{Phrase{"no sample has a label"}})
	}
	return t.answer(whole, nil, list...)
}

// Blocks returns the profile entry by entry.
func (r *Raw) Blocks() iter.Seq[Block] {
	return blocks(append([]Block{Dump{r.Profile}}, r.remarks()...))
}

// Blocks returns the comments as lines.
func (c *Comments) Blocks() iter.Seq[Block] {
	list := []Block{Plain{strings.Join(c.Comments, "\n") + "\n"}}
	if len(c.Comments) == 0 {
		list = []Block{Note{Phrase{"the profile has no comments"}}}
	}
	return blocks(append(list, c.remarks()...))
}

// Blocks returns the tree of contexts.
func (f *Flame) Blocks() iter.Seq[Block] {
	m := f.measure()
	m.add(f.Below) // what costs less is not shown
	return f.answer(m, &f.Trimming, FlameBlock{Measure: m, Root: f.Root, Below: f.Below, Callers: f.Inverted})
}

// Blocks returns the frames that changed most first.
func (d *Diff) Blocks() iter.Seq[Block] {
	m := d.measure()
	m.Total = max(abs(d.Total), abs(d.Before.Total))
	names := make([]*Frame, len(d.Rows))
	for i := range d.Rows {
		r := &d.Rows[i]
		names[i] = &r.Frame
		for _, v := range []int64{r.FlatBefore, r.Flat, r.CumBefore, r.Cum} {
			m.add(v)
		}
	}
	table := Table{Columns: []Column{
		{Name: "before", Unit: d.Unit},
		{Name: "after", Unit: d.Unit},
		{Name: "delta", Unit: d.Unit},
		{Name: "delta%"},
		{Name: "cum delta", Unit: d.Unit},
		{Name: "cum delta%"},
		{Name: frameColumn(d.By, names), Path: true},
	}}
	for i := range d.Rows {
		r := &d.Rows[i]
		table.Rows = append(table.Rows, []any{
			Value{r.FlatBefore, m}, Value{r.Flat, m}, Change{r.FlatBefore, r.Flat, m}, Growth{r.FlatBefore, r.Flat},
			Change{r.CumBefore, r.Cum, m}, Growth{r.CumBefore, r.Cum}, Name{Text: r.Frame.String()},
		})
	}
	list := []Block{comparison(&d.Head, &d.Before, m), table}
	list = append(list, d.Trimming.notes(m)...)
	return blocks(append(list, d.remarks()...))
}

// comparison is the heading of an answer about two sides.
func comparison(after, before *Head, m *Measure) Heading {
	h := Heading{Lines: []Phrase{{
		after.Metric, " ", Value{before.Total, m}, " before, ", Value{after.Total, m}, " after: ",
		Change{before.Total, after.Total, m}, ", ", Growth{before.Total, after.Total},
	}}}
	if run := before.run(); run != nil {
		h.Lines = append(h.Lines, append(Phrase{"before: "}, run...))
	}
	if run := after.run(); run != nil {
		h.Lines = append(h.Lines, append(Phrase{"after: "}, run...))
	}
	if f := after.filters(); f != nil {
		h.Lines = append(h.Lines, f)
	}
	return h
}

// Blocks returns what the profile says about itself as facts, its sample types and its programs as tables.
func (i *Info) Blocks() iter.Seq[Block] {
	var f Facts
	add := func(name string, v any) { f.Items = append(f.Items, Fact{name, v}) }
	if i.File != "" {
		add("program", i.File)
	}
	if i.BuildID != "" {
		add("build id", ID(i.BuildID))
	}
	if i.Time != 0 {
		add("time", time.Unix(0, i.Time))
	}
	if i.Duration != 0 {
		add("duration", time.Duration(i.Duration))
	}
	if i.Machine != nil {
		add("machine", strings.Join(slices.DeleteFunc(machine(i.Machine), func(s string) bool { return s == "" }), ", "))
	}
	if i.Period != 0 {
		add("period", Phrase{i.PeriodType, " ", Value{i.Period, alone(i.PeriodUnit)}})
	}
	add("samples", i.Samples)
	add("stacks", i.Contexts)
	add("locations", i.Locations)
	add("functions", i.Functions)
	if len(i.Labels) > 0 {
		add("labels", listed(i.Labels))
	}
	if i.DropFrames != "" {
		add("drop frames", i.DropFrames)
	}
	if i.KeepFrames != "" {
		add("keep frames", i.KeepFrames)
	}
	if i.Doc != "" {
		add("doc", i.Doc)
	}
	for _, c := range i.Comments {
		add("comment", c)
	}
	types := Table{Title: "sample types", Columns: []Column{{Name: "total"}, {Name: "unit"}, {Name: "type"}, {Name: "default"}}}
	for _, t := range i.Types {
		mark := ""
		if t.Default {
			mark = "yes"
		}
		types.Rows = append(types.Rows, []any{Value{t.Total, alone(t.Unit)}, t.Unit, t.Type, mark})
	}
	list := []Block{f, types}
	if len(i.Traces) > 0 {
		traces := Table{Title: "execution traces", Columns: []Column{{Name: "time"}, {Name: "read without a time"}}}
		for _, t := range i.Traces {
			mark := ""
			if t.Read {
				mark = "yes"
			}
			traces.Rows = append(traces.Rows, []any{t.String(), mark})
		}
		list = append(list, traces)
	}
	if len(i.Mappings) > 0 {
		list = append(list, i.programs())
	}
	return blocks(append(list, i.remarks()...))
}

func (i *Info) programs() Table {
	t := Table{Title: "programs and libraries", Columns: []Column{
		{Name: "locations"}, {Name: "names"}, {Name: "addresses"}, {Name: "build id"}, {Name: "file", Path: true},
	}}
	for _, m := range i.Mappings {
		names := "no"
		if m.Named {
			names = "yes"
		}
		t.Rows = append(t.Rows, []any{
			m.Locations, names, fmt.Sprintf("%#x-%#x", m.Start, m.Limit), ID(m.BuildID), Name{Text: m.File},
		})
	}
	return t
}

func blocks(list []Block) iter.Seq[Block] { return slices.Values(list) }

// answer returns the blocks of an answer: heading, the answer itself, and what there is to say about it.
func (h *Head) answer(m *Measure, t *Trimming, list ...Block) iter.Seq[Block] {
	all := append([]Block{h.heading(m, t)}, list...)
	if t != nil {
		all = append(all, t.notes(m)...)
	}
	return blocks(append(all, h.remarks()...))
}

// heading says what was measured, how much of it is shown, and of which run.
func (h *Head) heading(m *Measure, t *Trimming) Heading {
	p := Phrase{h.Metric, " ", Value{h.Total, m}}
	if h.Left != nil {
		p = Phrase{h.Metric, " ", Value{*h.Left, m}, " of ", Value{h.Total, m}}
	}
	if t != nil && t.Accounted != h.Total && !h.Mean {
		p = Phrase{h.Metric, " ", Value{t.Accounted, m}, " of ", Value{h.Total, m}, " shown"}
	}
	if run := h.run(); run != nil {
		p = append(append(p, Sep{}), run...)
	}
	lines := []Phrase{p}
	for _, c := range h.Comments {
		// Those are for programs.
		if !strings.HasPrefix(c, "#") {
			lines = append(lines, Phrase{"comment: ", c})
		}
	}
	if f := h.filters(); f != nil {
		lines = append(lines, f)
	}
	return Heading{lines}
}

// run says which program was measured, and when.
func (h *Head) run() Phrase {
	var p Phrase
	part := func(items ...any) {
		if p != nil {
			p = append(p, Sep{})
		}
		p = append(p, items...)
	}
	switch {
	case h.File != "" && h.BuildID != "":
		part(h.File, " (build id ", ID(h.BuildID), ")")
	case h.File != "":
		part(h.File)
	case h.BuildID != "":
		part("build id ", ID(h.BuildID))
	}
	if h.Time != 0 {
		part(time.Unix(0, h.Time))
	}
	if h.Duration == 0 {
		return p
	}
	part(time.Duration(h.Duration))
	ns := h.cpuNanos()
	switch cores := ns / float64(h.Duration); {
	case cores > 1:
		p = append(p, " at ", unit.Cores(cores)+" cores")
	case cores > 0:
		p = append(p, " at ", Share{int64(ns), h.Duration}, " of one core")
	}
	return p
}

// cpuNanos is the total where that is CPU time, or 0. Other times, such as of waiting, say nothing about cores.
func (h *Head) cpuNanos() float64 {
	ns, u := unit.Scale(h.Total, h.Unit, "nanoseconds")
	if h.Metric != "cpu" || h.Scaled || u != "ns" || ns <= 0 || ns >= math.MaxInt64 {
		return 0
	}
	return ns
}

// BusyCores is how many cores were busy on average, or 0 where that is not known.
func (h *Head) BusyCores() float64 {
	if h.Duration <= 0 {
		return 0
	}
	return h.cpuNanos() / float64(h.Duration)
}

func (h *Head) filters() Phrase {
	if len(h.Filters) == 0 {
		return nil
	}
	return Phrase{"filters: " + strings.Join(h.Filters, ", ")}
}

func (h *Head) remarks() []Block {
	var list []Block
	for _, n := range h.Notes {
		list = append(list, Note{Phrase{n}})
	}
	return list
}

// notes says what was left out, and how to see it.
func (t *Trimming) notes(m *Measure) []Block {
	var list []Block
	note := func(p ...any) { list = append(list, Note{p}) }
	if t.Shown < t.Of {
		note("the first ", t.Shown, " of ", t.Of, " rows are shown; raise ", hint.Option{Name: "limit"}, " to see more")
	}
	if t.Dropped > 0 {
		rows := plural(t.Dropped, " row")
		if t.Below != 0 {
			note(t.Dropped, rows, " below ", Value{t.Below, m}, " left out; ", hint.Option{Name: "min", Value: "0"}, " shows them")
		} else { // only differences have rows of nothing at all
			note(t.Dropped, rows, " without a change left out; ", hint.Option{Name: "min", Value: "0"}, " shows them")
		}
	}
	if t.DroppedEdges > 0 {
		note(t.DroppedEdges, plural(t.DroppedEdges, " call"), " below ", Value{t.EdgesBelow, m}, " left out")
	}
	return list
}

func plural(n int, s string) string {
	if n == 1 {
		return s
	}
	return s + "s"
}

func (h *Head) measure() *Measure {
	return &Measure{Unit: h.Unit, Show: h.Show, Total: h.Total, Mean: h.Mean}
}

// alone returns the measure of a value that is compared with nothing.
func alone(u string) *Measure { return &Measure{Unit: u, Show: Show{Unit: unit.Auto}} }

func (m *Measure) add(v int64) {
	if v = abs(v); v != 0 && (m.Least == 0 || v < m.Least) {
		m.Least = v
	}
}

// addCost takes what a frame costs by itself into account, or else what it costs in all: pprof chooses its unit so.
func (m *Measure) addCost(c *Cost) {
	if c.Flat != 0 {
		m.add(c.Flat)
	} else {
		m.add(c.Cum)
	}
}

// abs returns the magnitude of v, or the nearest there is.
func abs(v int64) int64 {
	if v < 0 {
		return max(-v, -(v + 1))
	}
	return v
}
