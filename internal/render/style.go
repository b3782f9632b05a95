package render

import (
	"math"
	"strings"

	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// A style is the parameter of the escape sequence that switches it on; "" is plain. Only the sixteen colors of the
// user's own theme are used. Red and cyan can be told apart by nearly everybody, and signs say the same.
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

// The shares of the whole from which on a value deserves attention.
const (
	warmShare = 0.05
	hotShare  = 0.2
)

// heat returns the style of a share of the whole.
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

// fraction returns s as a number, NaN when there is no whole.
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

// glyphs are signs that not every terminal has.
type glyphs struct {
	sep            string   // between parts of a line
	dots           string   // for what was cut
	caller, callee string   // before the neighbors of a frame
	bar            []string // parts of a column, the last is a whole one
	rise           []string // the same from below
	branch, last   string   // before a frame of a tree
	line, space    string   // before what is below it
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

// barWidth is the length of a bar for the whole.
const barWidth = 8

// drawBar draws x, from 0 to 1. Whatever is not nothing can be seen.
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

// indent moves a name below another one to the right.
const indent = "  "

// trend draws amounts from 0 on. Whatever is not nothing can be seen.
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
