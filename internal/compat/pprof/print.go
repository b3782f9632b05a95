package pprof

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

func printTop(w io.Writer, r report.Report, f *form) error {
	top := r.(*report.Top)
	f.chooseUnit(topCosts(top), false)
	fmt.Fprintln(w, strings.Join(f.lines(top.Trimming, false), "\n"))
	fmt.Fprintln(w, "      flat  flat%   sum%        cum   cum%")
	var sum int64
	for i := range top.Rows {
		row := &top.Rows[i]
		label := ""
		if row.Inline != report.Called {
			label = " (" + string(row.Inline) + ")"
		}
		sum += row.Flat
		fmt.Fprintf(w, "%10s %s %s %10s %s  %s%s\n",
			f.value(row.Flat), f.percent(row.Flat), f.percent(sum), f.value(row.Cum), f.percent(row.Cum),
			row.Frame.String(), label)
	}
	return nil
}

const (
	treeLine   = "----------------------------------------------------------+-------------"
	treeLegend = "      flat  flat%   sum%        cum   cum%   calls calls% + context \t \t "
)

func printTree(w io.Writer, r report.Report, f *form) error {
	g := r.(*report.Graph)
	f.chooseUnit(graphCosts(g), false)
	fmt.Fprintln(w, strings.Join(f.lines(g.Trimming, false), "\n"))
	fmt.Fprintln(w, treeLine)
	fmt.Fprintln(w, treeLegend)
	var sum int64
	for i := range g.Nodes {
		n := &g.Nodes[i]
		call := func(e *report.Edge, other int) {
			label := ""
			if e.Inline {
				label = " (inline)"
			}
			fmt.Fprintf(w, "%50s %s |   %s%s\n", f.value(e.Weight), unit.Percent(e.Weight, n.Cum), g.Frame(other), label)
		}
		fmt.Fprintln(w, treeLine)
		for _, e := range n.In {
			call(&g.Edges[e], g.Edges[e].From)
		}
		sum += n.Flat
		fmt.Fprintf(w, "%10s %s %s %10s %s                | %s\n",
			f.value(n.Flat), f.percent(n.Flat), f.percent(sum), f.value(n.Cum), f.percent(n.Cum), n.Frame.String())
		for _, e := range n.Out {
			call(&g.Edges[e], g.Edges[e].To)
		}
	}
	if len(g.Nodes) > 0 {
		fmt.Fprintln(w, treeLine)
	}
	return nil
}

func printDot(w io.Writer, r report.Report, f *form) error {
	g := r.(*report.Graph)
	return render.Dot(w, g, f.dotOptions(g))
}

// printSVG and printPNG draw what printDot describes, where pprof calls graphviz.
func printSVG(w io.Writer, r report.Report, f *form) error {
	g := r.(*report.Graph)
	return render.DotSVG(w, g, f.dotOptions(g))
}

func printPNG(w io.Writer, r report.Report, f *form) error {
	g := r.(*report.Graph)
	return render.DotPNG(w, g, f.dotOptions(g))
}

func (f *form) dotOptions(g *report.Graph) render.DotOptions {
	f.chooseUnit(graphCosts(g), false)
	return render.DotOptions{Labels: f.lines(g.Trimming, true), Format: f.value}
}

func printCallgrind(w io.Writer, r report.Report, f *form) error {
	g := r.(*report.Graph)
	f.chooseUnit(graphCosts(g), true)
	return render.Callgrind(w, g, f.head.Metric, f.head.Unit, f.unit)
}

func printList(w io.Writer, r report.Report, f *form) error {
	src := r.(*report.Source)
	fmt.Fprintf(w, "Total: %s\n", f.value(f.head.Total))
	for _, fn := range src.Functions {
		if len(fn.Files) == 0 {
			fmt.Fprintf(w, "No source information for %s\n", fn.Name)
		}
		for _, file := range fn.Files {
			fmt.Fprintf(w, "ROUTINE ======================== %s in %s\n", fn.Name, file.File)
			fmt.Fprintf(w, "%10s %10s (flat, cum) %s of Total\n", f.value(file.Flat), f.value(file.Cum), f.percent(file.Cum))
			if file.Error != "" {
				fmt.Fprintf(w, " Error: %s\n", file.Error)
				continue
			}
			for _, l := range file.Lines {
				fmt.Fprintf(w, "%10s %10s %6d:%s\n", f.valueOrDot(l.Flat), f.valueOrDot(l.Cum), l.Line, l.Text)
			}
		}
	}
	return nil
}

func printTraces(w io.Writer, r report.Report, f *form) error {
	traces := r.(*report.Traces)
	const line = "-----------+-------------------------------------------------------"
	fmt.Fprintln(w, strings.Join(f.profileLines(), "\n"))
	const noValue = "             " // as wide as a value
	var out []byte
	for t := range traces.Each {
		out = append(append(out[:0], line...), '\n')
		for _, l := range labelLines(t.Labels) {
			out = append(out, l...)
		}
		for i, fr := range t.Frames {
			if i == 0 {
				out = fmt.Appendf(out, "%10s   ", f.value(t.Value))
			} else {
				out = append(out, noValue...)
			}
			if out = fr.Append(out, " "); fr.Inline {
				out = append(out, " (inline)"...)
			}
			out = append(out, '\n')
		}
		if _, err := w.Write(out); err != nil {
			return err
		}
	}
	fmt.Fprintln(w, line)
	return nil
}

// labelLines are the labels of a sample: texts, then numbers, each sorted as lines.
func labelLines(s profile.LabelSet) []string {
	var texts, numbers []string
	for i := 0; i < len(s); {
		end := s.Key(i)
		var values []string
		for _, l := range s[i:end] {
			if l.Numeric {
				values = append(values, unit.Label(l.Num, l.Unit))
			} else {
				values = append(values, l.Str)
			}
		}
		line := fmt.Sprintf("%10s:  %s\n", s[i].Key, strings.Join(values, " "))
		if s[i].Numeric {
			numbers = append(numbers, line)
		} else {
			texts = append(texts, line)
		}
		i = end
	}
	slices.Sort(texts)
	slices.Sort(numbers)
	return append(texts, numbers...)
}

func printTags(w io.Writer, r report.Report, f *form) error {
	tags := r.(*report.Tags)
	tw := tabwriter.NewWriter(w, 0, 0, 1, ' ', tabwriter.AlignRight)
	total := f.head.Total
	share := func(v int64) string {
		if total <= 0 {
			return ""
		}
		return " (" + unit.Percent(v, total) + ")"
	}
	for _, k := range tags.Keys {
		fmt.Fprintf(tw, "%s:\t Total %s of %s%s\n", k.Key, f.value(k.Total), f.value(total), share(k.Total))
		for i := range k.Values {
			t := &k.Values[i]
			fmt.Fprintf(tw, " \t%s%s:\t %s\n", f.value(t.Flat), share(t.Flat), t.Name)
		}
		fmt.Fprintln(tw)
	}
	return tw.Flush()
}

func printRaw(w io.Writer, r report.Report, _ *form) error {
	return render.WriteRaw(w, r.(*report.Raw).Profile)
}

func printProto(w io.Writer, r report.Report, f *form) error {
	p := r.(*report.Raw).Profile
	if f.ratio > 0 && f.ratio != 1 {
		p = p.Times(f.ratio)
	}
	return p.Write(w)
}

func printComments(w io.Writer, r report.Report, _ *form) error {
	for _, c := range r.(*report.Comments).Comments {
		fmt.Fprintln(w, c)
	}
	return nil
}

// printTopProto writes the table as a profile, one sample for each row.
func printTopProto(w io.Writer, r report.Report, f *form) error {
	top := r.(*report.Top)
	f.chooseUnit(topCosts(top), false)
	src := f.source
	b := profile.NewBuilder(profile.Header{
		SampleTypes:   []profile.ValueType{{Type: "cum", Unit: f.unit}, {Type: "flat", Unit: f.unit}},
		TimeNanos:     src.TimeNanos,
		DurationNanos: src.DurationNanos,
		PeriodType:    src.PeriodType,
		Period:        src.Period,
	})
	functions := make(map[profile.Function]uint32)
	for i := range top.Rows {
		row := &top.Rows[i]
		key := profile.Function{Name: row.Name, File: row.File, StartLine: row.StartLine}
		fn, ok := functions[key]
		if !ok {
			fn = uint32(len(b.Functions))
			functions[key] = fn
			b.Functions = append(b.Functions, key)
		}
		b.Locations = append(b.Locations, profile.Location{
			Mapping: profile.NoMapping,
			Address: row.Address,
			Lines:   []profile.Line{{Function: fn, Line: row.Line, Column: row.Column}},
		})
		flat, _ := unit.Scale(row.Flat, f.head.Unit, f.unit)
		cum, _ := unit.Scale(row.Cum, f.head.Unit, f.unit)
		b.Add([]uint32{uint32(i)}, 0, []int64{int64(cum), int64(flat)})
	}
	b.Renumber()
	p, err := b.Profile()
	if err != nil {
		return err
	}
	return p.Write(w)
}

func topCosts(top *report.Top) func(func(flat, cum int64)) {
	return func(yield func(flat, cum int64)) {
		for i := range top.Rows {
			yield(top.Rows[i].Flat, top.Rows[i].Cum)
		}
	}
}

func graphCosts(g *report.Graph) func(func(flat, cum int64)) {
	return func(yield func(flat, cum int64)) {
		if g.Others != 0 {
			yield(g.Others, g.Others)
		}
		for i := range g.Nodes {
			yield(g.Nodes[i].Flat, g.Nodes[i].Cum)
		}
	}
}
