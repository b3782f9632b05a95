package benchstat

import (
	"encoding/csv"
	"fmt"
	"io"
)

// writeCSV writes tables as comma-separated values. Warnings go elsewhere, with the cells that they are about, as a
// spreadsheet names them.
func writeCSV(w, warnings io.Writer, tables []*table) error {
	s := sheet{csv: csv.NewWriter(w), warnings: warnings, at: 1}
	err := eachTable(tables,
		func(heading string) error {
			s.row = append(s.row, heading)
			s.end()
			return nil
		},
		func(t *table) error {
			s.table(t)
			return nil
		})
	if err != nil {
		return err
	}
	s.csv.Flush()
	return s.csv.Error()
}

// A sheet is all tables below each other.
type sheet struct {
	csv      *csv.Writer
	warnings io.Writer
	row      []string // that is being made
	at       int      // its number, from 1
}

// end writes the row. The writer keeps what goes wrong for later.
func (s *sheet) end() {
	s.csv.Write(s.row) //nolint:errcheck
	s.row = s.row[:0]
	s.at++
}

// to leaves cells empty up to a column.
func (s *sheet) to(col int) {
	for len(s.row) < col {
		s.row = append(s.row, "")
	}
}

// warn says what there is to say about the next cell.
func (s *sheet) warn(list []error) {
	for _, err := range list {
		fmt.Fprintf(s.warnings, "%s%d: %s\n", columnName(len(s.row)), s.at, err)
	}
}

// columnName names a column, from 0. Behind Z the original is not quite a spreadsheet: the next one is BA.
func columnName(col int) string {
	name := string(rune('A' + col%26))
	for col /= 26; col > 0; col /= 26 {
		name = string(rune('A'+col%26)) + name
	}
	return name
}

// Columns of the sheet for one column of a table: center and interval, then what changed. The first has no change.
const (
	centerCells = 2
	changeCells = 2
)

func firstCell(col int) int {
	if col == 0 {
		return 1
	}
	return 1 + centerCells + (col-1)*(centerCells+changeCells)
}

func (s *sheet) table(t *table) {
	for _, field := range t.cols[0].Projection().FlattenedFields() {
		for i, col := range t.cols {
			s.to(firstCell(i))
			s.row = append(s.row, col.Get(field))
		}
		s.to(firstCell(len(t.cols)))
		s.end()
	}
	for i := range t.cols {
		s.to(firstCell(i))
		s.row = append(s.row, t.unit, "CI")
		if i > 0 {
			s.row = append(s.row, "vs base", "P")
		}
	}
	s.end()
	for _, row := range t.rows {
		s.row = append(s.row, row.StringValues())
		for i, col := range t.cols {
			c, ok := t.cells[place{row, col}]
			if !ok {
				continue
			}
			s.to(firstCell(i))
			s.warn(c.sample.Warnings)
			s.warn(c.summary.Warnings)
			s.row = append(s.row, fmt.Sprint(c.summary.Center), c.summary.PctRangeString())
			if c.base != nil {
				s.warn(c.change.Warnings)
				s.row = append(s.row, c.deltaText(), c.change.String())
			}
		}
		s.end()
	}
	s.row = append(s.row, "geomean")
	for i := range t.cols {
		sum := &t.totals[i]
		s.to(firstCell(i))
		s.warn(sum.warnings)
		if sum.hasMean {
			s.row = append(s.row, fmt.Sprint(sum.mean))
		}
		if i > 0 {
			s.to(firstCell(i) + centerCells)
			s.row = append(s.row, sum.ratioText())
		}
	}
	s.to(firstCell(len(t.cols)))
	s.end()
}
