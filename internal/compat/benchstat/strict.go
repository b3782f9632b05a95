package benchstat

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

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

// disjoint says which columns have nothing in common with the first one. Those who compare two files and get tables with
// one column each should know, and know why. It returns how many things it said.
func disjoint(w io.Writer, tables []*table, all []benchproc.Key) int {
	n := 0
	for i := 1; i < len(all); i++ {
		base, col := all[0], all[i]
		var apart []*table
		for _, t := range tables {
			if !t.common(base, col) {
				apart = append(apart, t)
			}
		}
		names := shownName(base) + " and " + shownName(col)
		if len(apart) == len(tables) {
			fmt.Fprintf(w, "hone: %s have no benchmark in common%s\n", names, why(tables, base, col))
			n++
			continue
		}
		for _, t := range apart {
			fmt.Fprintf(w, "hone: %s have no benchmark in common in %s%s\n", names, t.unit, t.where())
			n++
		}
	}
	return n
}

// shownName is how a column is called in messages: the one without a value is "".
func shownName(col benchproc.Key) string {
	if name := col.StringValues(); name != "" {
		return name
	}
	return `""`
}

// common reports whether a row has both columns.
func (t *table) common(a, b benchproc.Key) bool {
	return slices.ContainsFunc(t.rows, func(row benchproc.Key) bool {
		return t.cells[place{row, a}] != nil && t.cells[place{row, b}] != nil
	})
}

// why names the facts that keep two columns in tables of their own.
func why(tables []*table, a, b benchproc.Key) string {
	var differ []string
	for _, f := range tables[0].key.Projection().FlattenedFields() {
		values := make(map[string]int) // 1 with the first column, 2 with the second, 3 with both
		for _, t := range tables {
			for i, col := range []benchproc.Key{a, b} {
				if slices.Contains(t.cols, col) {
					values[t.key.Get(f)] |= 1 << i
				}
			}
		}
		if shared := slices.Contains(slices.Collect(maps.Values(values)), 3); !shared {
			differ = append(differ, f.Name)
		}
	}
	if len(differ) == 0 {
		return ""
	}
	return ": they differ in " + strings.Join(differ, ", ")
}
