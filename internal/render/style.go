package render

import (
	"math"
	"strings"

	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// A style is the parameter of an ANSI escape sequence; "" is plain. It uses only the sixteen colors of the user's theme. Most color-blind people can
// distinguish red and cyan, and signs say the same.
type style string

const (
	plain style = ""
	bold  style = "1"
	dim   style = "2"
	warm  style = "33"
	hot   style = "1;31"
	worse style = "31"
	saved style = "36"
)

// paint returns s in a style.
func (f *formatter) paint(s string, st style) string {
	if !f.o.Color || st == plain || s == "" {
		return s
	}
	return "\x1b[" + string(st) + "m" + s + "\x1b[0m"
}

// Shares of the whole above which a value is highlighted.
const (
	warmShare = 0.05
	hotShare  = 0.2
)

// heat returns the style of a share of the total.
func heat(s report.Share) style {
	x := math.Abs(fraction(s))
	switch {
	case s.Part == 0:
		return dim
	case x >= hotShare:
		return hot
	case x >= warmShare:
		return warm
	}
	return plain
}

// fraction returns s as a number, or NaN if the whole is zero.
func fraction(s report.Share) float64 {
	if s.Whole == 0 {
		return math.NaN()
	}
	return float64(s.Part) / float64(s.Whole)
}

// direction returns the style of a change.
func direction(from, to int64) style {
	switch {
	case from < to:
		return worse
	case from > to:
		return saved
	}
	return dim
}

// glyphs are characters that some terminals lack.
type glyphs struct {
	sep            string   // between parts of a line
	dots           string   // for omitted text
	caller, callee string   // before the callers and callees of a frame
	bar            []string // partial blocks, the last one is full
	rise           []string // partial blocks from the bottom up
	branch, last   string   // before a frame of a tree
	line, space    string   // before deeper frames
}

var unicodeGlyphs = glyphs{
	sep: " · ", dots: "…", caller: "  ← ", callee: "  → ",
	bar:    []string{"▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"},
	rise:   []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
	branch: "├─ ", last: "└─ ", line: "│  ", space: "   ",
}

var asciiGlyphs = glyphs{
	sep: " - ", dots: "...", caller: "  <- ", callee: "  -> ",
	bar:    []string{".", ":", "#"},
	rise:   []string{".", "#"},
	branch: "|- ", last: "`- ", line: "|  ", space: "   ",
}

// barWidth is the length of a full bar.
const barWidth = 8

// drawBar draws x, from 0 to 1. Small positive values stay visible.
func (g *glyphs) drawBar(x float64) string {
	if math.IsNaN(x) || x == 0 {
		return ""
	}
	length := min(math.Abs(x), 1) * barWidth * float64(len(g.bar))
	n := max(1, int(math.Round(length)))
	s := strings.Repeat(g.bar[len(g.bar)-1], n/len(g.bar))
	if rest := n % len(g.bar); rest > 0 {
		s += g.bar[rest-1]
	}
	return s
}

// indent moves a name to the right of its parent.
const indent = "  "

// trend draws amounts as a sparkline from zero. Small positive values stay visible.
func (f *formatter) trend(t report.Trend) string {
	most := int64(1)
	for _, v := range t {
		most = max(most, unit.Abs(v))
	}
	var b strings.Builder
	rise := f.glyphs.rise
	for _, v := range t {
		if v == 0 {
			b.WriteByte(' ')
			continue
		}
		n := int(math.Ceil(float64(unit.Abs(v)) / float64(most) * float64(len(rise))))
		b.WriteString(rise[min(max(n, 1), len(rise))-1])
	}
	return b.String()
}
