package benchstat

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/perf/benchproc"
	"golang.org/x/perf/benchunit"
)

// Columns of the grid for one column of a table: center, interval and footnotes, then change, p and footnotes. The first
// has no change.
const (
	centerColumns = 3
	changeColumns = 3
)

func firstColumn(col int) int {
	if col == 0 {
		return 1
	}
	return 1 + centerColumns + (col-1)*(centerColumns+changeColumns)
}

func writeText(w io.Writer, tables []*table) error {
	return eachTable(tables,
		func(heading string) error {
			_, err := fmt.Fprintln(w, heading)
			return err
		},
		func(t *table) error {
			p := page{t: t, numbers: make(map[string]int)}
			p.heading()
			p.rows()
			p.total()
			return p.write(w)
		})
}

// A page is a table as text.
type page struct {
	t       *table
	grid    grid
	notes   []string
	numbers map[string]int // of notes
}

// warn puts the numbers of footnotes into the next cell.
func (p *page) warn(lists ...[]error) {
	var numbers []string
	for _, list := range lists {
		for _, err := range list {
			n, ok := p.numbers[err.Error()]
			if !ok {
				p.notes = append(p.notes, err.Error())
				n = len(p.notes)
				p.numbers[err.Error()] = n
			}
			numbers = append(numbers, superscript(n))
		}
	}
	p.grid.add(gridCell{value: strings.Join(numbers, " ")})
}

// heading says what the columns are, and in which unit. A fact may go for several columns; bars show which.
func (p *page) heading() {
	g, t := &p.grid, p.t
	edge := firstColumn(len(t.cols) + 1)
	bar := gridCell{margin: " │"}
	for nodes := benchproc.NewKeyHeader(t.cols).Top; len(nodes) > 0; {
		var below []*benchproc.KeyHeaderNode
		g.newRow()
		for _, n := range nodes {
			first, end := firstColumn(n.Start), firstColumn(n.Start+n.Len)
			g.to(first)
			g.add(gridCell{value: n.Value, span: end - first, align: center, margin: " │ "})
			below = append(below, n.Children...)
		}
		g.to(edge)
		g.add(bar)
		nodes = below
	}
	g.newRow()
	for i := range t.cols {
		first := firstColumn(i)
		g.to(first)
		g.add(gridCell{value: t.unit, span: centerColumns, align: center, margin: " │ "})
		if i > 0 {
			g.add(gridCell{value: "vs base", span: changeColumns, margin: "  "})
		}
		for col := first + 1; col < g.col; col++ {
			g.keep(col) // the outer ones take what room there is to take
		}
	}
	g.to(edge)
	g.add(bar)
}

func (p *page) rows() {
	g, t := &p.grid, p.t
	class := benchunit.ClassOf(t.unit)
	for _, row := range t.rows {
		var centers []float64
		for _, col := range t.cols {
			if c, ok := t.cells[place{row, col}]; ok {
				centers = append(centers, c.summary.Center)
			}
		}
		scale := benchunit.CommonScale(centers, class)
		g.newRow()
		g.add(gridCell{value: row.StringValues()})
		for i, col := range t.cols {
			c, ok := t.cells[place{row, col}]
			if !ok {
				continue
			}
			g.to(firstColumn(i))
			g.add(gridCell{value: scale.Format(c.summary.Center), align: right})
			// The ± is a margin, so that all of them are below each other.
			g.add(gridCell{value: c.summary.PctRangeString(), align: right, margin: " ± "})
			p.warn(c.sample.Warnings, c.summary.Warnings)
			if c.base != nil {
				g.add(gridCell{value: c.deltaText(), align: right})
				g.add(gridCell{value: "(" + c.change.String() + ")"})
				p.warn(c.change.Warnings)
			}
		}
	}
}

func (p *page) total() {
	g, t := &p.grid, p.t
	if len(t.rows) < 2 {
		return
	}
	g.newRow()
	g.add(gridCell{value: "geomean"})
	for i := range t.cols {
		sum := &t.totals[i]
		if sum.hasMean {
			g.to(firstColumn(i))
			g.add(gridCell{value: benchunit.Scale(sum.mean, benchunit.ClassOf(t.unit)), align: right})
		}
		if i > 0 {
			cell := gridCell{value: sum.ratioText()}
			if sum.hasRatio {
				cell.align = right
			}
			g.to(firstColumn(i) + centerColumns)
			g.add(cell)
		}
		g.to(firstColumn(i+1) - 1)
		p.warn(sum.warnings)
	}
}

func (p *page) write(w io.Writer) error {
	if err := p.grid.write(w); err != nil {
		return err
	}
	for i, note := range p.notes {
		if _, err := fmt.Fprintf(w, "%s %s\n", superscript(i+1), note); err != nil {
			return err
		}
	}
	return nil
}

// superscript writes the number of a footnote.
func superscript(n int) string {
	digits := []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")
	return strings.Map(func(d rune) rune { return digits[d-'0'] }, strconv.Itoa(n))
}
