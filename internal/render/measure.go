package render

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/heapgraph"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/render/words"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
	"github.com/hone-perf/hone/internal/unit"
)

// A scale is the format of all values of a measure.
type scale struct {
	from, to string
	factor   float64 // 0 means 1
}

// scaleOf chooses the unit for all values of m.
func scaleOf(m *report.Measure, asked string) scale {
	s := scale{from: m.Unit, to: cmp.Or(asked, m.Show.Unit, unit.Minimum), factor: m.Show.Factor}
	if s.to != unit.Minimum {
		return s
	}
	most := s.times(m.Total)
	least := s.times(cmp.Or(m.Least, unit.Abs(m.Total)))
	s.to = cmp.Or(unit.Common(least, most, m.Unit), m.Unit)
	return s
}

func (s scale) times(v int64) int64 {
	if s.factor > 0 && s.factor != 1 {
		switch x := float64(v) * s.factor; {
		case x >= math.MaxInt64:
			return math.MaxInt64
		case x <= math.MinInt64:
			return math.MinInt64
		default:
			return int64(x)
		}
	}
	return v
}

// format prints a value. Package unit cannot handle the magnitude of −2⁶³, so it prints −2⁶³+1, which looks the same.
func (s scale) format(v int64) string {
	return unit.Format(max(s.times(v), math.MinInt64+1), s.from, s.to)
}

// percent prints |part| as a percentage of |whole|.
func percent(part, whole int64) string { return strings.TrimSpace(unit.Percent(part, whole)) }

// A formatter prints items as text.
type formatter struct {
	o      Options
	glyphs *glyphs
	short  bool // shorten identifiers
	alone  bool // the value is in a sentence, so it need not have the same unit as others
	scales map[*report.Measure]scale
}

func newFormatter(o Options) *formatter {
	f := &formatter{o: o, glyphs: &unicodeGlyphs, scales: make(map[*report.Measure]scale)}
	if o.ASCII {
		f.glyphs = &asciiGlyphs
	}
	return f
}

func (f *formatter) scale(m *report.Measure) scale {
	if f.alone {
		return scaleOf(m, cmp.Or(f.o.Unit, m.Show.Unit, unit.Auto))
	}
	s, ok := f.scales[m]
	if !ok {
		s = scaleOf(m, f.o.Unit)
		f.scales[m] = s
	}
	return s
}

// text prints an item on one line.
func (f *formatter) text(item any) string {
	switch v := item.(type) {
	case nil:
		return ""
	case string:
		return clean(v)
	case report.Name:
		return clean(v.Text) + label(v)
	case report.Qualified:
		return f.qualified(v)
	case report.Signs:
		return f.signs(v)
	case report.Dimension:
		return clean(string(v))
	case missing.Reason:
		return clean(words.Missing(v))
	case heapgraph.Note:
		return clean(words.Unread(v))
	case report.ID:
		return f.id(v)
	case report.Sep:
		return f.glyphs.sep
	case int:
		return strconv.Itoa(v)
	case report.Value:
		return f.scale(v.Measure).format(v.V)
	case report.Share:
		return share(v)
	case report.Change:
		return signed(v.From, v.To, f.scale(v.Measure).format(unit.Abs(unit.Difference(v.From, v.To))))
	case report.Growth:
		return growth(v)
	case report.Measured:
		return unit.Measured(v.V, v.Unit)
	case report.Delta:
		return delta(v)
	case report.Relative:
		return unit.Relative(float64(v))
	case report.Interval:
		return f.interval(v)
	case report.Judgment:
		return v.Text
	case report.Trend:
		return f.trend(v)
	case report.Indented:
		return strings.Repeat(indent, v.Depth) + f.text(v.Name)
	case time.Time:
		zone := f.o.Zone
		if zone == nil {
			zone = time.UTC
		}
		return v.In(zone).Format("2006-01-02 15:04:05 MST")
	case time.Duration:
		return unit.Time(v)
	case hint.Option:
		return clean(hint.SpellOption(f.o.By, v))
	case hint.Command:
		return clean(hint.SpellCommand(f.o.By, v))
	case hint.Text:
		return clean(v.Spell(f.o.By))
	case report.Phrase:
		var b strings.Builder
		one := *f
		one.alone = true
		for _, part := range v {
			b.WriteString(one.text(part))
		}
		return b.String()
	}
	panic("render: item of a kind that no renderer knows")
}

// heading prints a line of a heading. Headings are for people even in a pipe, so identifiers are shortened.
func (f *formatter) heading(l report.Phrase) string {
	short := *f
	short.short = true
	return short.text(l)
}

// asciiSigns replaces what some terminals lack. The characters of strips have one in their place.
var asciiSigns = strings.NewReplacer("█", "#", "▒", ":", "·", ".", "→", "->", "×", "x", "…", "...")

// signs prints characters that some terminals lack.
func (f *formatter) signs(s report.Signs) string {
	if f.o.ASCII {
		return asciiSigns.Replace(string(s))
	}
	return string(s)
}

// id prints the first characters of an identifier, enough to recognize it.
func (f *formatter) id(id report.ID) string {
	const enough = 12
	s := clean(string(id))
	if f.short && width(s) > enough {
		return cutRight(s, enough, f.glyphs.dots)
	}
	return s
}

// label returns the text after a name.
func label(n report.Name) string {
	if n.Inline == report.Called {
		return ""
	}
	return " (" + string(n.Inline) + ")"
}

// share prints a part of a whole, or nothing if the part is zero.
func share(s report.Share) string {
	if s.Whole == 0 {
		return "-"
	}
	text := percent(s.Part, s.Whole)
	if s.Part != 0 && (s.Part < 0) != (s.Whole < 0) {
		text = "-" + text
	}
	return text
}

func growth(g report.Growth) string {
	switch {
	case g.From == g.To:
		return "0%"
	case g.From == 0:
		return "new"
	case g.To == 0:
		return "gone"
	}
	if factor := float64(g.To) / float64(g.From); factor >= unit.AsFactor {
		return unit.Relative(factor)
	}
	return signed(g.From, g.To, percent(unit.Difference(g.From, g.To), g.From))
}

// signed prints text with the sign of to-from.
func signed(from, to int64, text string) string {
	switch {
	case text == "0" || from == to:
		return text
	case from < to:
		return "+" + text
	}
	return "-" + text
}
