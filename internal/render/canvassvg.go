package render

import (
	"bufio"
	"fmt"
	"html"
	"image/color"
	"io"
	"math"
	"strconv"
	"strings"
)

// svg writes the picture as one file without scripts. Unless it is dark, the colors follow the reader's preference for light or dark.
func (c *canvas) svg(w io.Writer, dark bool) error {
	s := svgWriter{w: bufio.NewWriter(w), prefix: c.prefix, inks: make(map[ink]int), hatches: make(map[ink]int)}
	wide, high := pixels(c.width), pixels(c.height)
	fmt.Fprintf(s.w, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %s %s" `+
		`font-family="Go,Arial,Helvetica,Liberation Sans,sans-serif">`+"\n", wide, high, wide, high)
	s.styles(c, dark)
	if c.paper != (ink{}) {
		fmt.Fprintf(s.w, `<rect width="%s" height="%s"%s/>`+"\n", wide, high, s.class(look{fill: c.paper}))
	}
	for i := range c.marks {
		s.mark(&c.marks[i])
	}
	s.w.WriteString("</svg>\n")
	return s.w.Flush()
}

type svgWriter struct {
	w       *bufio.Writer
	prefix  string      // of names of classes and hatches
	inks    map[ink]int // number in the class name of an ink
	hatches map[ink]int
}

// styles writes a class for each ink, because only a style sheet can distinguish light and dark.
func (s *svgWriter) styles(c *canvas, dark bool) {
	var inks, hatches []ink
	collect := func(to *[]ink, numbers map[ink]int, i ink) {
		if _, ok := numbers[i]; !ok && i != (ink{}) {
			numbers[i] = len(*to)
			*to = append(*to, i)
		}
	}
	collect(&inks, s.inks, c.paper)
	for i := range c.marks {
		m := &c.marks[i]
		for _, i := range []ink{m.look.fill, m.look.stroke, m.look.hatch, m.letter.ink} {
			collect(&inks, s.inks, i)
		}
		collect(&hatches, s.hatches, m.look.hatch)
	}
	sheet := func(of func(ink) color.RGBA) {
		for n, i := range inks {
			hex := hexOf(of(i))
			fmt.Fprintf(s.w, ".%[1]sf%[2]d{fill:%[3]s}.%[1]ss%[2]d{stroke:%[3]s}\n", s.prefix, n, hex)
		}
	}
	s.w.WriteString("<style>\nrect,path,polygon{fill:none}\n")
	if dark {
		sheet(func(i ink) color.RGBA { return i.dark })
	} else {
		sheet(func(i ink) color.RGBA { return i.light })
		s.w.WriteString("@media (prefers-color-scheme:dark){\n")
		sheet(func(i ink) color.RGBA { return i.dark })
		s.w.WriteString("}\n")
	}
	s.w.WriteString("</style>\n")
	for n, i := range hatches {
		fmt.Fprintf(s.w, `<pattern id="%sh%d" width="%g" height="%[3]g" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">`+
			`<path d="M0 0V%[3]g" stroke-width="%g"%s/></pattern>`+"\n", s.prefix, n, hatchStep, hatchWidth*2, s.class(look{stroke: i}))
	}
}

// Hatches are lines this far apart, and this wide.
const (
	hatchStep  = 6.0
	hatchWidth = 1.5
)

func hexOf(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// class returns the attributes for the colors of l.
func (s *svgWriter) class(l look) string {
	var names []string
	if l.fill != (ink{}) {
		names = append(names, s.prefix+"f"+strconv.Itoa(s.inks[l.fill]))
	}
	if l.stroke != (ink{}) {
		names = append(names, s.prefix+"s"+strconv.Itoa(s.inks[l.stroke]))
	}
	if len(names) == 0 {
		return ""
	}
	return ` class="` + strings.Join(names, " ") + `"`
}

func (s *svgWriter) mark(m *mark) {
	switch m.kind {
	case rectMark:
		s.rect(m, m.look)
		if n, ok := s.hatches[m.look.hatch]; ok {
			s.rect(m, look{radius: m.look.radius}, fmt.Sprintf(` style="fill:url(#%sh%d)"`, s.prefix, n))
		}
	case curveMark:
		s.curve(m)
	case polygonMark:
		s.polygon(m.points, m.look)
	case textMark:
		s.text(m)
	case groupMark:
		s.w.WriteString("<g")
		if m.part.name != "" {
			s.w.WriteString(` data-name="`)
			escapeXML(s.w, m.part.name)
			s.w.WriteByte('"')
		}
		if m.part.way {
			s.w.WriteString(` class="way"`)
		}
		s.w.WriteByte('>')
		if m.text != "" {
			s.w.WriteString("<title>")
			escapeXML(s.w, m.text)
			s.w.WriteString("</title>\n")
		}
	case endMark:
		s.w.WriteString("</g>\n")
	}
}

func (s *svgWriter) rect(m *mark, l look, more ...string) {
	a, b := m.points[0], m.points[1]
	fmt.Fprintf(s.w, `<rect x="%s" y="%s" width="%s" height="%s"`, pixels(a.x), pixels(a.y), pixels(b.x-a.x), pixels(b.y-a.y))
	if l.radius != 0 {
		fmt.Fprintf(s.w, ` rx="%s"`, pixels(l.radius))
	}
	s.w.WriteString(s.class(l) + stroke(l) + strings.Join(more, "") + "/>\n")
}

func (s *svgWriter) curve(m *mark) {
	points, head := m.points, []point(nil)
	if m.look.arrow > 0 {
		points, head = headOf(points, m.look.arrow, m.look.width)
	}
	s.w.WriteString(`<path d="M`)
	for i, p := range points {
		switch i {
		case 0:
		case 1:
			s.w.WriteByte('C')
		default:
			s.w.WriteByte(' ')
		}
		s.w.WriteString(pixels(p.x) + " " + pixels(p.y))
	}
	s.w.WriteString(`"` + s.class(look{stroke: m.look.stroke}) + stroke(m.look) + "/>\n")
	if head != nil {
		s.polygon(head, look{fill: m.look.stroke})
	}
}

func (s *svgWriter) polygon(points []point, l look) {
	s.w.WriteString(`<polygon points="`)
	for i, p := range points {
		if i > 0 {
			s.w.WriteByte(' ')
		}
		s.w.WriteString(pixels(p.x) + "," + pixels(p.y))
	}
	s.w.WriteString(`"` + s.class(l) + stroke(l) + "/>\n")
}

func (s *svgWriter) text(m *mark) {
	p, l := m.points[0], m.letter
	fmt.Fprintf(s.w, `<text x="%s" y="%s" font-size="%s"%s`, pixels(p.x), pixels(p.y), pixels(l.size), s.class(look{fill: l.ink}))
	if l.anchor != start {
		s.w.WriteString(` text-anchor="` + [...]string{middle: "middle", end: "end"}[l.anchor] + `"`)
	}
	// The reader's font may be wider than ours. Text with room to spare keeps its natural width.
	if w := textWidth(m.text, l.size); l.room > 0 && w > 0.85*l.room {
		fmt.Fprintf(s.w, ` textLength="%s" lengthAdjust="spacingAndGlyphs"`, pixels(w))
	}
	s.w.WriteByte('>')
	escapeXML(s.w, m.text)
	s.w.WriteString("</text>\n")
}

// stroke returns the attributes for the line of l.
func stroke(l look) string {
	var out string
	if l.stroke != (ink{}) && l.width != 1 {
		out = ` stroke-width="` + pixels(l.width) + `"`
	}
	if len(l.dash) > 0 {
		lengths := make([]string, len(l.dash))
		for i, d := range l.dash {
			lengths[i] = pixels(d)
		}
		out += ` stroke-dasharray="` + strings.Join(lengths, ",") + `"`
	}
	return out
}

// escapeXML writes s as text. Names come from files and can be hostile, so it replaces characters that XML does not allow, and those that change the
// direction of text.
func escapeXML(w *bufio.Writer, s string) {
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			w.WriteByte('\n')
		}
		w.WriteString(html.EscapeString(clean(line))) // a bufio.Writer keeps its first error, so the caller checks Flush
	}
}

// pixels prints a length to a hundredth of a pixel.
func pixels(v float64) string {
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
}
