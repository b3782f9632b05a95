package render

import (
	"bufio"
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/report"
)

// A grid is text in columns.
type grid struct {
	columns []gridColumn
	rows    [][]cell // nil is an empty line
}

type gridColumn struct {
	name  string
	right bool // align right
	bar   bool // the first column to omit if the grid is too wide
	whole bool // its text stays on one line
	wraps bool // its text may take several lines
	cut   func(s string, room int, dots string) string
}

// A cell is a text, with optional parts before and after it.
type cell struct {
	mark, text, label string
	name              bool // a function or file name, which is cut at its start
	style             style
}

func (c *cell) width() int { return width(c.mark) + width(c.text) + width(c.label) }

// gap is the number of spaces between columns.
const gap = 2

// Text columns are cut to fairText to make room for bars, and to leastText to keep rows on one line. They are not cut further: a wrapped row is
// readable, a few letters are not. Prose in the last column wraps, and numeric tables are printed in several parts.
const (
	fairText  = 40
	leastText = 16
)

// print writes g in lines of room columns; 0 means no limit.
func (g *grid) print(w *bufio.Writer, f *formatter, room int) {
	widths := g.widths()
	if room > 0 && !g.fit(widths, room, fairText) {
		g.dropBars()
		widths = g.widths()
		if !g.fit(widths, room, leastText) && !g.wrap(widths, room) && !g.named() {
			g.printParts(w, f, widths, room)
			return
		}
	}
	g.printAll(w, f, widths)
}

// wrap breaks texts into lines that fit: those of the last column, and of other columns that wrap. It reports whether the grid then fits.
func (g *grid) wrap(widths []int, room int) bool {
	last := len(g.columns) - 1
	if c := &g.columns[last]; c.right || c.whole || c.cut != nil {
		return false
	}
	texts := []int{last}
	for i := range last {
		if g.columns[i].wraps {
			texts = append(texts, i)
		}
	}
	narrowed := slices.Clone(widths)
	for over := total(widths) - room; over > 0; over-- {
		widest := slices.MaxFunc(texts, func(a, b int) int { return cmp.Compare(narrowed[a], narrowed[b]) })
		if narrowed[widest] <= leastText {
			return false
		}
		narrowed[widest]--
	}
	copy(widths, narrowed)
	var rows [][]cell
	for _, row := range g.rows {
		if row == nil {
			rows = append(rows, nil)
			continue
		}
		lines := make([][]string, len(row))
		most := 1
		for _, i := range texts {
			lines[i] = linesOf(row[i].text, widths[i]-width(row[i].mark), g.columns[i].wraps)
			most = max(most, len(lines[i]))
		}
		for n := range most {
			next := make([]cell, len(row))
			if n == 0 {
				copy(next, row)
			}
			for _, i := range texts {
				next[i].text = ""
				if n < len(lines[i]) {
					next[i] = row[i]
					next[i].text = lines[i][n]
				}
			}
			rows = append(rows, next)
		}
	}
	g.rows = rows
	return true
}

// named reports whether the rows are named by a column, which must not be cut.
func (g *grid) named() bool {
	return slices.ContainsFunc(g.columns, func(c gridColumn) bool { return c.cut != nil })
}

// linesOf breaks text between words into lines of at most room columns. A longer word has its own line, or with parts, lines: it is broken behind
// punctuation, or else anywhere.
func linesOf(text string, room int, parts bool) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && width(line)+1+width(word) > room {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
		for parts && width(line) > room {
			at := breakOf(line, room)
			lines, line = append(lines, line[:at]), line[at:]
		}
	}
	return append(lines, line)
}

// breakOf returns where to break a text that is longer than room columns.
func breakOf(s string, room int) int {
	fits, punctuated := 0, 0
	for i, r := range s {
		if room -= runeWidth(r); room < 0 && fits > 0 {
			break
		}
		fits = i + utf8.RuneLen(r)
		if strings.ContainsRune("./,])}", r) {
			punctuated = fits
		}
	}
	return cmp.Or(punctuated, fits)
}

// printParts prints the grid in several parts. Each has the first column, and as many of the others as fit.
func (g *grid) printParts(w *bufio.Writer, f *formatter, widths []int, room int) {
	for from := 1; from < len(g.columns); {
		part, partWidths := &grid{columns: g.columns[:1:1]}, widths[:1:1]
		to := from
		for ; to < len(g.columns) && (to == from || total(partWidths)+gap+widths[to] <= room); to++ {
			part.columns, partWidths = append(part.columns, g.columns[to]), append(partWidths, widths[to])
		}
		for _, row := range g.rows {
			if row != nil {
				row = slices.Concat(row[:1], row[from:to])
			}
			part.rows = append(part.rows, row)
		}
		if from > 1 {
			w.WriteByte('\n')
		}
		part.printAll(w, f, partWidths)
		from = to
	}
}

func (g *grid) printAll(w *bufio.Writer, f *formatter, widths []int) {
	head := false
	for _, c := range g.columns {
		head = head || c.name != ""
	}
	if head {
		row := make([]cell, len(g.columns))
		for i, c := range g.columns {
			row[i] = cell{text: c.name, style: dim}
		}
		g.line(w, f, row, widths)
	}
	for _, row := range g.rows {
		g.line(w, f, row, widths)
	}
}

func (g *grid) line(w *bufio.Writer, f *formatter, row []cell, widths []int) {
	blanks := 0
	for i := range row {
		c, n := &row[i], widths[i]
		if over := c.width() - n; over > 0 && g.columns[i].cut != nil {
			c.text = g.columns[i].cut(c.text, max(width(c.text)-over, leastText/2), f.glyphs.dots)
		}
		rest := max(n-c.width(), 0)
		if g.columns[i].right {
			blanks += rest
			rest = 0
		}
		if c.mark+c.text+c.label != "" {
			w.WriteString(strings.Repeat(" ", blanks))
			w.WriteString(f.paint(c.mark, dim))
			path := 0
			if c.name && c.style == plain {
				path = strings.LastIndexByte(c.text[:pathEnd(c.text)], '/') + 1
			}
			w.WriteString(f.paint(c.text[:path], dim))
			w.WriteString(f.paint(c.text[path:], c.style))
			w.WriteString(f.paint(c.label, dim))
			blanks = 0
		}
		blanks += rest + gap
	}
	w.WriteByte('\n')
}

// widths returns the width of each column.
func (g *grid) widths() []int {
	widths := make([]int, len(g.columns))
	for i, c := range g.columns {
		widths[i] = width(c.name)
	}
	for _, row := range g.rows {
		for i := range row {
			widths[i] = max(widths[i], row[i].width())
		}
	}
	return widths
}

func total(widths []int) int {
	sum := -gap
	for _, w := range widths {
		sum += w + gap
	}
	return sum
}

func (g *grid) dropBars() { g.drop(func(c *gridColumn) bool { return c.bar }) }

// drop removes columns.
func (g *grid) drop(gone func(*gridColumn) bool) {
	for i := len(g.columns) - 1; i >= 0; i-- {
		if !gone(&g.columns[i]) {
			continue
		}
		g.columns = slices.Delete(g.columns, i, i+1)
		for j, row := range g.rows {
			if row != nil {
				g.rows[j] = slices.Delete(row, i, i+1)
			}
		}
	}
}

// fit narrows the widest text columns, to no less than least, and reports whether the grid then fits.
func (g *grid) fit(widths []int, room, least int) bool {
	for over := total(widths) - room; over > 0; over-- {
		widest := -1
		for i, c := range g.columns {
			if c.cut != nil && widths[i] > least && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return false
		}
		widths[widest]--
	}
	return true
}

// table lays out a table. Only terminals show bars.
func (f *formatter) table(t *report.Table, bars bool) *grid {
	g := &grid{}
	longest := make([]float64, len(t.Columns)) // the largest share in each column with bars
	for i, c := range t.Columns {
		col := gridColumn{name: c.Name, right: isNumeric(t.Rows, i), whole: c.Whole, wraps: c.Wraps}
		if c.Path {
			col.cut = cutLeft
		}
		g.columns = append(g.columns, col)
		if !bars || !c.Bar {
			continue
		}
		g.columns = append(g.columns, gridColumn{bar: true})
		for _, row := range t.Rows {
			if s, ok := row[i].(report.Share); ok && s.Whole != 0 {
				longest[i] = max(longest[i], math.Abs(fraction(s)))
			}
		}
	}
	for _, row := range t.Rows {
		cells := make([]cell, 0, len(g.columns))
		for i, item := range row {
			c := f.cell(item)
			if t.Columns[i].Shared {
				// An amount has the color of its share.
				if s, ok := row[i+1].(report.Share); ok {
					c.style = heat(s)
				}
			}
			cells = append(cells, c)
			if bars && t.Columns[i].Bar {
				cells = append(cells, f.bar(item, longest[i]))
			}
		}
		g.rows = append(g.rows, cells)
	}
	return g
}

// bar draws a share. The largest share in the column has a bar of full length, because in most profiles no function would have a visible bar
// otherwise.
func (f *formatter) bar(item any, longest float64) cell {
	s, ok := item.(report.Share)
	if !ok || longest == 0 {
		return cell{}
	}
	return cell{text: f.glyphs.drawBar(fraction(s) / longest), style: heat(s)}
}

func (f *formatter) cell(item any) cell {
	switch v := item.(type) {
	case report.Name:
		return f.nameCell(v)
	case report.Share:
		return cell{text: share(v), style: heat(v)}
	case report.Change:
		return cell{text: f.text(v), style: direction(v.From, v.To)}
	case report.Growth:
		return cell{text: f.text(v), style: direction(v.From, v.To)}
	case report.Indented:
		c := f.nameCell(v.Name)
		c.mark = strings.Repeat(indent, v.Depth)
		return c
	case report.Judgment:
		return cell{text: f.text(v), style: [...]style{worse, plain, saved}[v.Good+1]}
	}
	return cell{text: f.text(item)}
}

func (f *formatter) nameCell(n report.Name) cell {
	return cell{text: f.nameText(n), label: label(n), name: true}
}

// isNumeric reports whether column i has numbers.
func isNumeric(rows [][]any, i int) bool {
	for _, row := range rows {
		switch row[i].(type) {
		case nil:
			continue
		case string, report.Name, report.Qualified, report.Signs, report.ID, report.Judgment, report.Trend, report.Indented, report.Phrase:
			return false
		}
		return true
	}
	return true
}
