package benchstat

import (
	"fmt"
	"io"

	"golang.org/x/perf/benchproc"

	"github.com/hone-perf/hone/internal/bench"
)

// problems says what is wrong with the files and returns how many of these things leave something out. What hone can mend
// is lost all the same where a file is read as the original reads it.
func (in *input) problems(w io.Writer) int {
	n := 0
	for i := range in.files {
		f := &in.files[i]
		for _, note := range f.notes {
			fmt.Fprintf(w, "hone: %s: %s\n", note.Places(f.path), note.What)
			if !f.native || note.Grade != bench.Mended {
				n++
			}
		}
		if f.results == 0 {
			fmt.Fprintf(w, "hone: %s: there are no benchmark results in it\n", f.path)
			n++
		}
	}
	return n
}

// disjoint says which columns have nothing in common with the first one, or are missing where other tables have them.
// Those who compare two files and get two tables with one column each should know.
func disjoint(w io.Writer, tables []*table, all []benchproc.Key) int {
	n := 0
	for _, t := range tables {
		for _, col := range all[1:] {
			common := false
			for _, row := range t.rows {
				_, base := t.cells[place{row, all[0]}]
				_, ok := t.cells[place{row, col}]
				common = common || base && ok
			}
			if !common {
				fmt.Fprintf(w, "hone: %s: %s and %s have no benchmark in common%s\n",
					t.unit, all[0].StringValues(), col.StringValues(), t.where())
				n++
			}
		}
	}
	return n
}
