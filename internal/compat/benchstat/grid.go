package benchstat

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"unicode/utf8"
)

// A grid lays out text in columns. Cells may span several.
type grid struct {
	cells []gridCell
	cols  int
	kept  map[int]bool // columns that a cell which spans them does not make wider

	row, col int // where the next cell comes
}

type gridCell struct {
	row, col, span int // span is 1 when it is not said
	value          string
	margin         string // on the left; one space when it is not said, but not in the first column
	align          align
}

type align int

const (
	left align = iota
	center
	right
)

func (g *grid) newRow() {
	if len(g.cells) > 0 {
		g.row++
	}
	g.col = 0
}

// to goes to a column to the right.
func (g *grid) to(col int) { g.col = col }

// keep marks a column as one that cells which span it do not make wider.
func (g *grid) keep(col int) {
	if g.kept == nil {
		g.kept = make(map[int]bool)
	}
	g.kept[col] = true
}

// add puts a cell where the last one ended.
func (g *grid) add(c gridCell) {
	c.row, c.col, c.span = g.row, g.col, max(c.span, 1)
	if c.margin == "" && c.col > 0 && c.value != "" {
		c.margin = " "
	}
	g.cells = append(g.cells, c)
	g.col += c.span
	g.cols = max(g.cols, g.col)
}

// widths returns how wide columns are, and how wide their margins, which are part of that.
//
// Here and in write, the order of cells that compare equal is that of sort.Slice, as in the original: of cells that
// span the same number of columns, those that come first get the room.
func (g *grid) widths() (widths, margins []int) {
	widths, margins = make([]int, g.cols), make([]int, g.cols)
	for _, c := range g.cells {
		margins[c.col] = max(margins[c.col], utf8.RuneCountInString(c.margin))
	}
	sort.Slice(g.cells, func(i, j int) bool { return g.cells[i].span < g.cells[j].span })
	for _, c := range g.cells {
		need := utf8.RuneCountInString(c.value) + margins[c.col]
		if c.span == 1 {
			widths[c.col] = max(widths[c.col], need)
			continue
		}
		g.widen(c, need, widths)
	}
	return widths, margins
}

// widen makes the columns that c spans wide enough. What they need beyond the columns that are kept is shared out
// evenly, but none gets narrower: so the widest come first, and the others share what is left.
func (g *grid) widen(c gridCell, need int, widths []int) {
	have := 0
	for _, w := range widths[c.col : c.col+c.span] {
		have += w
	}
	if have >= need {
		return
	}
	var cols []int
	for col := c.col; col < c.col+c.span; col++ {
		if g.kept[col] {
			need -= widths[col]
		} else {
			cols = append(cols, col)
		}
	}
	sort.Slice(cols, func(i, j int) bool { return widths[cols[i]] > widths[cols[j]] })
	for i, col := range cols {
		rest := len(cols) - i
		widths[col] = max(widths[col], (need+rest-1)/rest)
		need -= widths[col]
	}
}

// write lays out the grid. There are no blanks at the ends of lines.
func (g *grid) write(w io.Writer) error {
	widths, margins := g.widths()
	starts := make([]int, g.cols+1)
	for i, width := range widths {
		starts[i+1] = starts[i] + width
	}
	sort.Slice(g.cells, func(i, j int) bool {
		a, b := &g.cells[i], &g.cells[j]
		return a.row < b.row || a.row == b.row && a.col < b.col
	})
	var b strings.Builder
	row, at := 0, 0
	for _, c := range g.cells {
		if strings.TrimSpace(c.value) == "" && strings.TrimSpace(c.margin) == "" {
			continue
		}
		for ; row < c.row; row++ {
			b.WriteByte('\n')
			at = 0
		}
		room := starts[c.col+c.span] - starts[c.col] - margins[c.col]
		text := c.align.pad(c.value, room)
		fmt.Fprintf(&b, "%*s%*s%s", starts[c.col]-at, "", margins[c.col], c.margin, text)
		at = starts[c.col] + margins[c.col] + utf8.RuneCountInString(text)
	}
	if len(g.cells) > 0 {
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// pad puts blanks before s.
func (a align) pad(s string, width int) string {
	switch a {
	case center:
		return fmt.Sprintf("%*s%s", (width-utf8.RuneCountInString(s))/2, "", s)
	case right:
		return fmt.Sprintf("%*s", width, s)
	}
	return s
}
