package benchstat

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchproc"
)

// A table has a row for each benchmark and a column for each input, or whatever was asked to be rows and columns. All of
// its values are in one unit.
type table struct {
	key        benchproc.Key // what its results have in common
	unit       string
	rows, cols []benchproc.Key
	cells      map[place]*cell
	totals     []total // of the columns
}

type place struct{ row, col benchproc.Key }

// A cell is what was measured of one benchmark in one input.
type cell struct {
	values    []float64
	remaining map[benchproc.Key]bool // what its results differ in, beyond row, column and table

	sample  *benchmath.Sample
	summary benchmath.Summary
	base    *cell // in the first column; nil when there is none, or this is it
	change  benchmath.Comparison
}

// A total is about all benchmarks of a column.
type total struct {
	mean, ratio       float64 // geometric means; of the ratios to the first column
	hasMean, hasRatio bool
	warnings          []error
}

// A builder sorts results into tables.
type builder struct {
	q         *question
	unitField *benchproc.Field
	made      map[benchproc.Key]*table
}

func newBuilder(q *question) *builder {
	fields := q.table.Fields()
	return &builder{q: q, unitField: fields[len(fields)-1], made: make(map[benchproc.Key]*table)}
}

func (b *builder) add(r *benchfmt.Result) {
	at := place{b.q.row.Project(r), b.q.col.Project(r)}
	remaining := b.q.remaining.Project(r)
	for i, key := range b.q.table.ProjectValues(r) {
		t := b.made[key]
		if t == nil {
			t = &table{key: key, unit: key.Get(b.unitField), cells: make(map[place]*cell)}
			b.made[key] = t
		}
		c := t.cells[at]
		if c == nil {
			c = &cell{remaining: make(map[benchproc.Key]bool)}
			t.cells[at] = c
		}
		c.values = append(c.values, r.Values[i].Value)
		c.remaining[remaining] = true
	}
}

// allColumns returns the columns of all tables.
func (b *builder) allColumns() []benchproc.Key {
	all := make(map[benchproc.Key]bool)
	for _, t := range b.made {
		for _, col := range t.cols {
			all[col] = true
		}
	}
	return sorted(all)
}

// tables does the statistics, which take a while.
func (b *builder) tables(units benchfmt.UnitMetadataMap) []*table {
	all := make(map[benchproc.Key]bool)
	for key := range b.made {
		all[key] = true
	}
	var out []*table
	var work []func()
	for _, key := range sorted(all) {
		t := b.made[key]
		out = append(out, t)
		rows, cols := make(map[benchproc.Key]bool), make(map[benchproc.Key]bool)
		for at, c := range t.cells {
			rows[at.row], cols[at.col] = true, true
			c.sample = benchmath.NewSample(c.values, &b.q.thresholds)
		}
		t.rows, t.cols = sorted(rows), sorted(cols)
		assume := units.GetAssumption(t.unit)
		for at, c := range t.cells {
			if at.col != t.cols[0] {
				c.base = t.cells[place{at.row, t.cols[0]}]
			}
			work = append(work, func() { c.compute(assume, b.q.confidence) })
		}
	}
	parallel(work)
	for _, t := range out {
		for i := range t.cols {
			t.totals = append(t.totals, t.total(i))
		}
	}
	return out
}

// parallel calls all of work, some at the same time.
func parallel(work []func()) {
	next := make(chan func())
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(work)) {
		wg.Go(func() {
			for f := range next {
				f()
			}
		})
	}
	for _, f := range work {
		next <- f
	}
	close(next)
	wg.Wait()
}

func sorted(set map[benchproc.Key]bool) []benchproc.Key {
	keys := make([]benchproc.Key, 0, len(set))
	for k := range set {
		keys = append(keys, k)
	}
	benchproc.SortKeys(keys)
	return keys
}

func (c *cell) compute(assume benchmath.Assumption, confidence float64) {
	c.summary = assume.Summary(c.sample, confidence)
	switch {
	case c.base == nil:
	case assume == benchmath.AssumeNothing && (hasNaN(c.base.sample) || hasNaN(c.sample)):
		// The test would never end. That of exact values only looks whether they are the same.
		c.change = benchmath.Comparison{
			P: 1, N1: len(c.base.sample.Values), N2: len(c.sample.Values), Alpha: c.sample.Thresholds.CompareAlpha,
			Warnings: []error{errors.New("NaN cannot be compared")},
		}
	default:
		c.change = assume.Compare(c.base.sample, c.sample)
	}
	var names []string
	for _, f := range benchproc.NonSingularFields(sorted(c.remaining)) {
		names = append(names, f.Name)
	}
	if len(names) > 0 {
		c.sample.Warnings = append(c.sample.Warnings, errors.New("benchmarks vary in "+strings.Join(names, ", ")))
	}
}

func hasNaN(s *benchmath.Sample) bool { return slices.ContainsFunc(s.Values, math.IsNaN) }

// total sums up column i. It takes the mean of ratios, not the ratio of means: where columns have different benchmarks,
// that still compares like with like.
func (t *table) total(i int) total {
	var out total
	var centers, ratios []float64
	bases, noRatio := 0, false
	for _, row := range t.rows {
		if _, ok := t.cells[place{row, t.cols[0]}]; ok {
			bases++
		}
		c, ok := t.cells[place{row, t.cols[i]}]
		if !ok {
			continue
		}
		centers = append(centers, c.summary.Center)
		if c.base == nil {
			continue
		}
		switch now, then := c.summary.Center, c.base.summary.Center; {
		case now == then: // also both 0
			ratios = append(ratios, 1)
		case then == 0:
			noRatio = true
			ratios = append(ratios, 0) // it counts as a pair
		default:
			ratios = append(ratios, now/then)
		}
	}
	warn := func(s string) { out.warnings = append(out.warnings, errors.New(s)) }
	if i > 0 && bases != len(ratios) {
		warn("benchmark set differs from baseline; geomeans may not be comparable")
	}
	if out.mean = stats.GeoMean(centers); math.IsNaN(out.mean) {
		warn("summaries must be >0 to compute geomean")
	} else {
		out.hasMean = true
	}
	if i == 0 || noRatio {
		return out
	}
	if out.ratio = stats.GeoMean(ratios); math.IsNaN(out.ratio) {
		warn("ratios must be >0 to compute geomean")
	} else {
		out.hasRatio = true
	}
	return out
}

// ratioText returns how much more the benchmarks of a column cost than those of the first.
func (t *total) ratioText() string {
	if !t.hasRatio {
		return "?"
	}
	return fmt.Sprintf("%+.2f%%", (t.ratio-1)*100)
}

// deltaText returns the change of a cell that has a base.
func (c *cell) deltaText() string {
	return c.change.FormatDelta(c.base.summary.Center, c.summary.Center)
}

// where names what is special about the results of a table.
func (t *table) where() string {
	var facts []string
	for _, f := range t.key.Projection().FlattenedFields() {
		if v := t.key.Get(f); v != "" && f.Name != ".unit" {
			facts = append(facts, f.Name+": "+v)
		}
	}
	if len(facts) == 0 {
		return ""
	}
	return " where " + strings.Join(facts, ", ")
}

// eachTable calls heading for the lines between tables, which say what changes from one to the next, and body for the
// tables.
func eachTable(tables []*table, heading func(string) error, body func(*table) error) error {
	var last benchproc.Key
	for i, t := range tables {
		if i > 0 {
			if err := heading(""); err != nil {
				return err
			}
		}
		for _, f := range tables[0].key.Projection().FlattenedFields() {
			v := t.key.Get(f)
			if f.Name == ".unit" || !last.IsZero() && v == last.Get(f) {
				continue // the unit is in the table
			}
			if err := heading(f.Name + ": " + v); err != nil {
				return err
			}
		}
		last = t.key
		if err := body(t); err != nil {
			return err
		}
	}
	return nil
}
