package report

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/unit"
)

// A BenchHistory is the results of several benchmark runs, oldest first, and the changes from the second to last run to the last.
type BenchHistory struct {
	Runs  []BenchRun        `json:"runs"`
	Rows  []BenchHistoryRow `json:"rows"`
	Of    int               `json:"of"` // number of rows
	Notes hint.Texts        `json:"notes,omitempty"`
}

// A BenchRun is a run.
type BenchRun struct {
	Ref      string    `json:"ref"`
	Name     string    `json:"name"`
	Revision string    `json:"revision,omitempty"`
	Dirty    bool      `json:"dirty,omitempty"` // the tree had uncommitted changes
	Started  time.Time `json:"started,omitzero"`
	Go       string    `json:"go,omitempty"`
}

// A BenchHistoryRow is one benchmark in one unit.
type BenchHistoryRow struct {
	Points []BenchPoint `json:"points"`         // results of the runs that have it
	Last   *CompareRow  `json:"last,omitempty"` // change between the last two runs that have it; nil if there is only one
	Pkg    string       `json:"pkg,omitempty"`
	Name   string       `json:"name"`
	What   Dimension    `json:"what"`
	Unit   string       `json:"unit"`
}

// A BenchPoint is the result of one run.
type BenchPoint struct {
	Run    int      `json:"run"` // index in Runs
	N      int      `json:"n"`
	Center float64  `json:"center"` // median
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
}

// historyColumns is the number of runs that fit side by side.
const historyColumns = 4

// Blocks shows the runs, and a table for each unit.
func (h *BenchHistory) Blocks() iter.Seq[Block] {
	list := []Block{Heading{[]Phrase{{unit.Counted(len(h.Runs), "run"), Sep{}, unit.Counted(h.Of, "row")}}}, h.runs()}
	several := slices.ContainsFunc(h.Rows, func(r BenchHistoryRow) bool { return r.Pkg != h.Rows[0].Pkg })
	var whats []Dimension
	for _, r := range h.Rows {
		if !slices.Contains(whats, r.What) {
			whats = append(whats, r.What)
		}
	}
	for _, what := range whats {
		list = append(list, h.table(what, several))
	}
	if len(h.Rows) < h.Of {
		list = append(list, Note{Phrase{"the first ", len(h.Rows), " of ", h.Of, " rows are shown; raise ", hint.Option{Name: "limit"}, " to see more"}})
	}
	for _, n := range h.Notes {
		list = append(list, Note{Phrase{n}})
	}
	return slices.Values(list)
}

// letter names a run in a column heading. A is the oldest run.
func letter(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return letter(i/26-1) + letter(i%26)
}

func (h *BenchHistory) runs() Table {
	t := Table{Group: "runs", Columns: []Column{{Name: "run"}, {Name: "when"}, {Name: "version"}, {Name: "go"}, {Name: "file", Path: true}}}
	for i, r := range h.Runs {
		var when, version any
		if !r.Started.IsZero() {
			when = r.Started
		}
		if r.Revision != "" {
			const short = 12
			p := r.Revision[:min(short, len(r.Revision))]
			if r.Dirty {
				p += " and changes"
			}
			version = p
		}
		t.Rows = append(t.Rows, []any{letter(i), when, version, r.Go, r.Ref})
	}
	return t
}

func (h *BenchHistory) table(what Dimension, several bool) Table {
	t := Table{Group: "what", Title: string(what)}
	if several {
		t.Columns = append(t.Columns, Column{Name: "package", Path: true})
	}
	t.Columns = append(t.Columns, Column{Name: "benchmark"})
	from := max(0, len(h.Runs)-historyColumns)
	for i := from; i < len(h.Runs); i++ {
		t.Columns = append(t.Columns, Column{Name: letter(i)})
	}
	for _, name := range []string{"last change", "interval", "p", "verdict"} {
		t.Columns = append(t.Columns, Column{Name: name})
	}
	for _, r := range h.Rows {
		if r.What != what {
			continue
		}
		var row []any
		if several {
			row = append(row, r.Pkg)
		}
		row = append(row, r.Name)
		for i := from; i < len(h.Runs); i++ {
			var cell any
			if k := slices.IndexFunc(r.Points, func(p BenchPoint) bool { return p.Run == i }); k >= 0 {
				cell = Measured{r.Points[k].Center, r.Unit}
			}
			row = append(row, cell)
		}
		if r.Last == nil {
			row = append(row, nil, nil, nil, nil)
		} else {
			row = append(row, Relative(r.Last.Ratio), r.Last.interval(), r.Last.p(), r.Last.judgment())
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// Tables returns one row for each benchmark, unit and run, for programs.
func (h *BenchHistory) Tables() []Table {
	t := Table{}
	for _, name := range []string{"run", "revision", "started", "pkg", "benchmark", "unit", "n", "center", "low", "high"} {
		t.Columns = append(t.Columns, Column{Name: name})
	}
	for _, r := range h.Rows {
		for _, p := range r.Points {
			run := &h.Runs[p.Run]
			var started any
			if !run.Started.IsZero() {
				started = run.Started.Format(time.RFC3339)
			}
			row := []any{run.Ref, run.Revision, started, r.Pkg, r.Name, r.Unit, p.N, fmt.Sprint(p.Center)}
			for _, v := range []*float64{p.Low, p.High} {
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
