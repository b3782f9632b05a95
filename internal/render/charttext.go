package render

import (
	"math"
	"strings"

	"github.com/hone-perf/hone/internal/report"
)

// Charts in text.
const (
	chartColumns = 80 // width without a terminal
	chartTall    = 10 // height of a chart with several series
	chartLow     = 4  // height of a chart with one series
)

// chart draws a chart of characters.
func (p *printer) chart(c *report.Chart) {
	room := p.o.Width
	if room == 0 {
		room = chartColumns
	}
	high := chartLow
	if len(c.Series) > 1 {
		high = chartTall
	}
	ys := axisY(c, high/2)
	margin := 0
	for _, t := range ys.ticks {
		margin = max(margin, width(t.text))
	}
	cols := min(room, 2*chartColumns) - margin - 2
	if cols < 2*leastText {
		return
	}
	xs := axisX(c, max(cols/10, 2))
	p.title(c.Title, p.legend(c))
	cells := p.cells(c, xs, ys, cols, high)
	for r := high - 1; r >= 0; r-- {
		label := ""
		for _, t := range ys.ticks {
			if int(t.at/ys.hi*float64(high)) == r && (label == "" || r == 0) {
				label = t.text
				if r == 0 {
					break
				}
			}
		}
		var line strings.Builder
		line.WriteString(p.paint(strings.Repeat(" ", margin-width(label))+label+" ", dim))
		row := cells[r]
		for i := 0; i < len(row); {
			j := i
			for j < len(row) && row[j].style == row[i].style {
				j++
			}
			var run strings.Builder
			for _, cell := range row[i:j] {
				run.WriteString(cell.text)
			}
			line.WriteString(p.paint(run.String(), row[i].style))
			i = j
		}
		p.line(strings.TrimRight(line.String(), " "))
	}
	p.line(p.paint(strings.Repeat(" ", margin+1)+xLabels(xs, cols, c.Count), dim))
}

// shades are the characters for the series of a chart.
type shade struct {
	full  string
	style style
}

func (p *printer) shades(c *report.Chart) []shade {
	light, solid, line := "░", "█", "─"
	if p.o.ASCII {
		light, solid, line = ":", "#", "-"
	}
	areas := 0
	for _, s := range c.Series {
		if s.Draw == report.Area {
			areas++
		}
	}
	var out []shade
	for _, s := range c.Series {
		switch {
		case s.Draw == report.Line:
			out = append(out, shade{line, warm})
		case s.Draw == report.Area && areas > 1:
			out = append(out, shade{light, dim})
			areas = 1
		default:
			out = append(out, shade{solid, saved})
		}
	}
	return out
}

func (p *printer) legend(c *report.Chart) report.Phrase {
	var out report.Phrase
	for i, s := range p.shades(c) {
		if i > 0 {
			out = append(out, "  ")
		}
		if len(c.Series) > 1 {
			out = append(out, s.full+" ")
		}
		out = append(out, c.Series[i].Name)
	}
	return out
}

// cells draws the series of a chart, first the lowest.
func (p *printer) cells(c *report.Chart, xs, ys axis, cols, high int) [][]cell {
	rows := make([][]cell, high)
	for r := range rows {
		rows[r] = make([]cell, cols)
		for i := range rows[r] {
			rows[r][i].text = " "
		}
	}
	parts := p.glyphs.rise
	for k, sh := range p.shades(c) {
		s := &c.Series[k]
		for i, v := range columnsOf(s, xs, cols) {
			if math.IsNaN(v) {
				continue
			}
			level := v / ys.hi * float64(high)
			if s.Draw == report.Line {
				r := min(int(level), high-1)
				if rows[r][i].text != parts[len(parts)-1] {
					rows[r][i] = cell{text: sh.full, style: sh.style}
				}
				continue
			}
			for r := 0; r < high && float64(r) < level; r++ {
				part := min(level-float64(r), 1)
				at := &rows[r][i]
				n := int(math.Round(part * float64(len(parts))))
				switch {
				case sh.full != parts[len(parts)-1] || at.text != " ":
					// Shade characters have no partial blocks and cannot overlap.
					if part >= 0.5 {
						*at = cell{text: sh.full, style: sh.style}
					}
				case n > 0:
					*at = cell{text: parts[n-1], style: sh.style}
				case r == 0 && v > 0:
					*at = cell{text: parts[0], style: sh.style} // show small positive amounts, too
				}
			}
		}
	}
	return rows
}

// xLabels names the ticks of an axis below its columns.
func xLabels(a axis, cols int, count string) string {
	line := []rune(strings.Repeat(" ", cols))
	free := 0
	for _, t := range a.ticks {
		text := []rune(t.text)
		if count != "" && free == 0 {
			text = []rune(count + " " + t.text)
		}
		at := int((t.at - a.lo) / (a.hi - a.lo) * float64(cols))
		at = min(at, cols-len(text))
		if at < free {
			continue
		}
		copy(line[at:], text)
		free = at + len(text) + 1
	}
	return strings.TrimRight(string(line), " ")
}
