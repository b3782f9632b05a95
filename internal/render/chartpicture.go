package render

import (
	"io"
	"math"
	"strings"

	"github.com/hone-perf/hone/internal/report"
)

// ChartsSVG writes the charts of an answer as one SVG for browsers, with the texts of the answer around them.
func ChartsSVG(w io.Writer, r report.Report, o Options) error {
	c := chartsCanvas(r, o)
	if c == nil {
		return errNoPicture
	}
	return c.svg(w, o.Dark)
}

// ChartsPNG is ChartsSVG as an image with two pixels for each CSS pixel.
func ChartsPNG(w io.Writer, r report.Report, o Options) error {
	c := chartsCanvas(r, o)
	if c == nil {
		return errNoPicture
	}
	return c.png(w, 2, o.Dark)
}

// Lengths in pictures of charts, in CSS pixels.
const (
	chartWide    = 1000.0
	chartMargin  = 20.0
	chartLeft    = 62.0 // room for labels of the vertical axis
	chartLarge   = 250.0
	chartSmall   = 110.0
	chartLetters = 12.0
	chartSmaller = 11.0
	chartLine    = 17.0 // line height of text
	maxNotes     = 8
)

// Colors of charts. The most important series has the most contrast with the paper, so series can be told apart without colors.
var (
	gridInk   = inkOf(0xe4e7eb, 0x2b3037)
	axisInk   = inkOf(0x9aa2ad, 0x5a626d)
	lightArea = inkOf(0xc6d7ec, 0x2c4664)
	solidArea = inkOf(0x4a86c5, 0x5f9ee0)
	goalInk   = inkOf(0xc2560c, 0xf2a65a)
	barInk    = inkOf(0x8a3d78, 0xd48ac0)
	shareArea = inkOf(0x55a07b, 0x5fb98c)
)

func chartsCanvas(r report.Report, o Options) *canvas {
	o.ASCII = false
	f := newFormatter(o)
	var charts []report.Chart
	var titles, notes []string
	var facts []report.Fact
	for b := range r.Blocks() {
		switch b := b.(type) {
		case report.Heading:
			for _, l := range b.Lines {
				titles = append(titles, f.heading(l))
			}
		case report.Facts:
			facts = append(facts, b.Items...)
		case report.Chart:
			charts = append(charts, b)
		case report.Note:
			notes = append(notes, f.text(b.Text))
		}
	}
	if len(charts) == 0 {
		return nil
	}
	c := newCanvas(chartWide, 0, flamePaper)
	y := chartMargin + 4
	const room = chartWide - 2*chartMargin
	for i, t := range titles {
		size, of := chartLetters+2, titleText
		if i > 0 {
			size, of = chartLetters, smallText
		}
		c.text(chartMargin, y+8, t, lettering{size: size, ink: of, room: room})
		y += chartLine + 4
	}
	names := 0.0
	for _, fact := range facts {
		names = max(names, textWidth(clean(fact.Name), chartSmaller))
	}
	for _, fact := range facts {
		c.text(chartMargin, y+8, fact.Name, lettering{size: chartSmaller, ink: smallText})
		for _, line := range wrapWidth(f.text(fact.Value), chartSmaller, room-names-12) {
			c.text(chartMargin+names+12, y+8, line, lettering{size: chartSmaller, ink: titleText})
			y += chartLine
		}
	}
	y += 10
	y = f.drawCharts(c, charts, y)
	for i, n := range notes {
		if i == maxNotes {
			break
		}
		for k, line := range wrapWidth(n, chartLetters, room-14) {
			if k == 0 {
				c.rect(chartMargin, y+1, 6, 6, look{fill: goalInk, radius: 3})
			}
			c.text(chartMargin+14, y+8, line, lettering{size: chartLetters, ink: titleText})
			y += chartLine
		}
		y += 3
	}
	c.height = y + chartMargin - 4
	return c
}

// drawCharts draws charts from y down, one below another, and returns the end. Charts with the same axis have its labels below the last of them.
func (f *formatter) drawCharts(c *canvas, charts []report.Chart, y float64) float64 {
	for i := range charts {
		last := i+1 == len(charts) || charts[i+1].X != charts[i].X
		y = f.drawChart(c, &charts[i], y, last)
	}
	c.height = y
	return y
}

// wrapWidth splits text into lines of at most this width.
func wrapWidth(text string, size, room float64) []string {
	const most = 6
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(clean(text)) {
		if line != "" && textWidth(line+" "+word, size) > room {
			lines = append(lines, line)
			line = ""
			if len(lines) == most {
				return append(lines[:most-1], lines[most-1]+" …")
			}
		}
		if line != "" {
			line += " "
		}
		line += fitText(word, size, room)
	}
	return append(lines, line)
}

// drawChart draws a chart from y down and returns the end.
func (f *formatter) drawChart(c *canvas, chart *report.Chart, y float64, labels bool) float64 {
	high := chartSmall
	if len(chart.Series) > 1 {
		high = chartLarge
	}
	x, wide := chartMargin+chartLeft, chartWide-2*chartMargin-chartLeft
	inks := chartInks(chart)
	c.text(x, y+9, chart.Title, lettering{size: chartLetters, ink: titleText})
	at := x + textWidth(chart.Title, chartLetters) + 18
	for i, s := range chart.Series {
		switch {
		case s.Draw == report.Line:
			c.curve(straight([]point{{at, y + 5}, {at + 14, y + 5}}), look{stroke: inks[i], width: 2})
		default:
			c.rect(at, y, 10, 10, look{fill: inks[i], radius: 2})
		}
		c.text(at+18, y+9, s.Name, lettering{size: chartSmaller, ink: smallText})
		at += 18 + textWidth(s.Name, chartSmaller) + 18
	}
	y += 20
	ticks := 4
	if high == chartSmall {
		ticks = 2
	}
	xs, ys := axisX(chart, 10), axisY(chart, ticks)
	px := func(v float64) float64 { return x + (v-xs.lo)/(xs.hi-xs.lo)*wide }
	py := func(v float64) float64 { return y + high - v/ys.hi*high }
	for _, t := range ys.ticks {
		c.curve(straight([]point{{x, py(t.at)}, {x + wide, py(t.at)}}), look{stroke: gridInk, width: 1})
		c.text(x-8, py(t.at)+4, t.text, lettering{size: chartSmaller, ink: smallText, anchor: end})
	}
	for _, t := range xs.ticks {
		c.curve(straight([]point{{px(t.at), y}, {px(t.at), y + high}}), look{stroke: gridInk, width: 1})
	}
	for i := range chart.Series {
		f.drawSeries(c, chart, i, inks[i], xs, px, py)
	}
	c.curve(straight([]point{{x, y + high}, {x + wide, y + high}}), look{stroke: axisInk, width: 1})
	y += high
	if labels {
		free := 0.0
		for _, t := range xs.ticks {
			text := t.text
			if chart.Count != "" && free == 0 {
				text = chart.Count + " " + text
			}
			w := textWidth(text, chartSmaller)
			left := min(max(px(t.at)-w/2, x), x+wide-w)
			if left < free {
				continue
			}
			c.text(left, y+15, text, lettering{size: chartSmaller, ink: smallText})
			free = left + w + 10
		}
		y += 20
	}
	return y + 20
}

func chartInks(c *report.Chart) []ink {
	areas := 0
	for _, s := range c.Series {
		if s.Draw == report.Area {
			areas++
		}
	}
	var out []ink
	for _, s := range c.Series {
		switch {
		case s.Draw == report.Line:
			out = append(out, goalInk)
		case s.Draw == report.Bars:
			out = append(out, barInk)
		case c.Y == nil:
			out = append(out, shareArea)
		case areas > 1:
			out = append(out, lightArea)
			areas = 1
		default:
			out = append(out, solidArea)
		}
	}
	return out
}

// drawSeries draws a series: each point if there are few, otherwise the highest point in each column of pixels.
func (f *formatter) drawSeries(c *canvas, chart *report.Chart, i int, of ink, xs axis, px, py func(float64) float64) {
	s := &chart.Series[i]
	const fine = 900 // narrower columns, of half a pixel, would look the same
	points := make([]point, 0, len(s.Points))
	if len(s.Points) <= fine/2 {
		for _, p := range s.Points {
			points = append(points, point{float64(p.X), float64(p.Y)})
		}
	} else {
		width := (xs.hi - xs.lo) / fine
		for k, v := range columnsOf(s, xs, fine) {
			if !math.IsNaN(v) {
				points = append(points, point{xs.lo + (float64(k)+0.5)*width, v})
			}
		}
	}
	if len(points) == 0 {
		return
	}
	for k, p := range points {
		points[k] = point{px(p.x), py(p.y)}
	}
	base := py(0)
	switch s.Draw {
	case report.Line:
		if len(points) > 1 {
			c.curve(straight(points), look{stroke: of, width: 1.6})
		}
	case report.Area:
		shape := append([]point{{points[0].x, base}}, points...)
		c.polygon(append(shape, point{points[len(points)-1].x, base}), look{fill: of})
	case report.Bars:
		w := min(max((px(xs.hi)-px(xs.lo))/float64(len(points))/3, 1), 5)
		if len(points) != len(s.Points) {
			w = (px(xs.hi) - px(xs.lo)) / fine * 1.1 // slightly wider than the distance, so there are no gaps
		}
		for k, p := range points {
			top := min(p.y, base-0.7) // draw small positive amounts, too
			bar := func() { c.rect(p.x-w/2, top, w, base-top, look{fill: of}) }
			if len(points) != len(s.Points) || chart.Y == nil {
				bar()
				continue
			}
			at := report.Phrase{chart.Count, " ", int(s.Points[k].X), ": "}
			if chart.Count == "" {
				at = report.Phrase{"at ", report.Nanos(s.Points[k].X), ": "}
			}
			at = append(at, report.Value{V: s.Points[k].Y, Measure: &report.Measure{Unit: chart.Y.Unit, Show: report.Show{Unit: "auto"}}})
			c.group(f.text(at), bar)
		}
	}
}

// straight converts lines into the curves of a canvas.
func straight(points []point) []point {
	out := points[:1:1]
	for i, p := range points[1:] {
		out = append(out, points[i], p, p)
	}
	return out
}
