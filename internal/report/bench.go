package report

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/hint"
)

// A Bench is a summary of benchmark results. Values are in base units, such as seconds and bytes.
type Bench struct {
	Ref        string      `json:"ref"`
	Lines      int         `json:"lines"`           // number of result lines
	Facts      []BenchFact `json:"facts,omitempty"` // facts shared by all benchmarks
	Of         int         `json:"of"`              // number of benchmarks
	Benchmarks []Benchmark `json:"benchmarks"`
	Read       []BenchNote `json:"read,omitempty"` // problems with the lines
	Notes      []string    `json:"notes,omitempty"`

	Next []hint.Command `json:"-"` // next steps, in a first look
}

// A BenchFact is a configuration line of a benchmark file, such as pkg.
type BenchFact struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// A Benchmark is the results of one benchmark.
type Benchmark struct {
	Facts    []BenchFact    `json:"facts,omitempty"` // facts that not all benchmarks share
	Name     string         `json:"name"`
	Procs    int            `json:"gomaxprocs,omitempty"` // suffix of its name
	N        int            `json:"n"`                    // number of runs
	Measured []BenchMeasure `json:"measured"`
}

// A BenchMeasure is the results of a benchmark in one unit.
type BenchMeasure struct {
	Unit   string   `json:"unit"`
	Better string   `json:"better,omitempty"` // higher or lower, if known
	N      int      `json:"n"`
	Center float64  `json:"center"` // median, or the value if Exact
	Low    *float64 `json:"low"`    // limits of the interval around the median; null with too few runs
	High   *float64 `json:"high"`
	Min    float64  `json:"min"`
	Max    float64  `json:"max"`
	Exact  bool     `json:"exact,omitempty"` // all runs gave the same value
}

// A BenchNote is a problem with some lines.
type BenchNote struct {
	Grade string `json:"grade"` // mended, odd or dropped
	What  string `json:"what"`
	Count int    `json:"count"`
	Lines []int  `json:"lines,omitempty"` // numbers of the first such lines
	Text  string `json:"-"`
}

// Full is the complete name, as in the file.
func (b *Benchmark) Full() string {
	if b.Procs == 0 {
		return b.Name
	}
	return b.Name + "-" + strconv.Itoa(b.Procs)
}

func (b *Benchmark) in(unit string) *BenchMeasure {
	for i := range b.Measured {
		if b.Measured[i].Unit == unit {
			return &b.Measured[i]
		}
	}
	return nil
}

// Blocks shows a row for each benchmark.
func (b *Bench) Blocks() iter.Seq[Block] {
	list := []Block{Heading{b.heading()}}
	// More units than this do not fit side by side.
	const most = 4
	units := b.units()
	for len(units) > 0 {
		n := min(most, len(units))
		list = append(list, b.table(units[:n]))
		units = units[n:]
	}
	if len(b.Benchmarks) < b.Of {
		list = append(list, Note{Phrase{"the first ", len(b.Benchmarks), " of ", b.Of, " benchmarks are shown; raise ", hint.Option{Name: "limit"}, " to see more"}})
	}
	for _, n := range b.Read {
		list = append(list, Note{Phrase{n.Text}})
	}
	for _, n := range b.Notes {
		list = append(list, Note{Phrase{n}})
	}
	if len(b.Next) > 0 {
		list = append(list, Commands{Title: "try next", Items: b.Next})
	}
	return slices.Values(list)
}

func (b *Bench) heading() []Phrase {
	many := func(n int, what string) string {
		if n != 1 {
			what += "s"
		}
		return fmt.Sprintf("%d %s", n, what)
	}
	first := Phrase{b.Ref, Sep{}, many(b.Of, "benchmark"), ", ", many(b.Lines, "line")}
	var rest []string
	for _, f := range b.Facts {
		rest = append(rest, f.Key+": "+f.Value)
	}
	if len(rest) == 0 {
		return []Phrase{first}
	}
	return []Phrase{first, {strings.Join(rest, ", ")}}
}

// units returns the units of the results, in the order of the file.
func (b *Bench) units() []string {
	var units []string
	for i := range b.Benchmarks {
		for _, m := range b.Benchmarks[i].Measured {
			if !slices.Contains(units, m.Unit) {
				units = append(units, m.Unit)
			}
		}
	}
	return units
}

// facts returns the names of facts that differ between benchmarks.
func (b *Bench) facts() []string {
	var keys []string
	for i := range b.Benchmarks {
		for _, f := range b.Benchmarks[i].Facts {
			if !slices.Contains(keys, f.Key) {
				keys = append(keys, f.Key)
			}
		}
	}
	return keys
}

func (b *Benchmark) fact(key string) any {
	for _, f := range b.Facts {
		if f.Key == key {
			return f.Value
		}
	}
	return nil
}

// table shows medians in some units, with their intervals.
func (b *Bench) table(units []string) Table {
	var t Table
	keys := b.facts()
	for _, k := range keys {
		t.Columns = append(t.Columns, Column{Name: k, Path: k == "pkg"})
	}
	t.Columns = append(t.Columns, Column{Name: "benchmark"})
	spread := make(map[string]bool) // units that have intervals
	for _, u := range units {
		spread[u] = slices.ContainsFunc(b.Benchmarks, func(b Benchmark) bool { m := b.in(u); return m != nil && m.interval() != nil })
		t.Columns = append(t.Columns, Column{Name: benchHeading(u)})
		if spread[u] {
			t.Columns = append(t.Columns, Column{Name: "interval", Ends: true})
		}
	}
	t.Columns = append(t.Columns, Column{Name: "runs"})
	for i := range b.Benchmarks {
		one := &b.Benchmarks[i]
		var row []any
		for _, k := range keys {
			row = append(row, one.fact(k))
		}
		row = append(row, one.Full())
		for _, u := range units {
			var center, interval any
			if m := one.in(u); m != nil {
				center, interval = Measured{m.Center, benchScale(u)}, m.interval()
			}
			row = append(row, center)
			if spread[u] {
				row = append(row, interval)
			}
		}
		t.Rows = append(t.Rows, append(row, one.N))
	}
	return t
}

// interval returns the limits of the median, relative to it.
func (m *BenchMeasure) interval() any {
	if m.Low == nil || *m.Low == *m.High || m.Center <= 0 || *m.Low <= 0 {
		return nil
	}
	return Interval{*m.Low / m.Center, *m.High / m.Center}
}

// benchHeading returns the column heading for values in a unit.
func benchHeading(unit string) string {
	switch unit {
	case "sec/op":
		return "time/op"
	case "B/s":
		return "speed"
	}
	return unit
}

// benchScale returns the unit for printing values: for cpu-sec/op and sec/GC it is seconds, because the heading has the rest.
func benchScale(unit string) string {
	what, per, _ := strings.Cut(unit, "/")
	if i := strings.LastIndexByte(what, '-'); i >= 0 {
		what = what[i+1:]
	}
	switch {
	case what == "sec", what == "B" && per != "s":
		return what
	case what == "B":
		return "B/s"
	}
	return unit
}

// Tables returns one row for each benchmark and unit, for programs.
func (b *Bench) Tables() []Table {
	var t Table
	keys := b.facts()
	for _, k := range keys {
		t.Columns = append(t.Columns, Column{Name: k})
	}
	for _, name := range []string{"benchmark", "gomaxprocs", "unit", "n", "center", "low", "high", "min", "max"} {
		t.Columns = append(t.Columns, Column{Name: name})
	}
	for i := range b.Benchmarks {
		one := &b.Benchmarks[i]
		for _, m := range one.Measured {
			var row []any
			for _, k := range keys {
				row = append(row, one.fact(k))
			}
			var procs any
			if one.Procs > 0 {
				procs = one.Procs
			}
			row = append(row, one.Name, procs, m.Unit, m.N)
			for _, v := range []*float64{&m.Center, m.Low, m.High, &m.Min, &m.Max} {
				if v == nil {
					row = append(row, nil)
				} else {
					row = append(row, fmt.Sprint(*v))
				}
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return []Table{t}
}
