package render

import (
	"image/color"
	"math"
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// A canvas is a picture under construction. What is drawn is kept in a list, from which svg and png make the same
// picture; what is drawn later covers what was drawn before. Lengths are in CSS pixels, y grows downwards.
//
//	c := newCanvas(800, 600, inkOf(0xffffff, 0x16181d)) // size and paper
//	c.rect(10, 10, 200, 40, look{fill: orange, stroke: gray, width: 1, radius: 3})
//	c.curve(points, look{stroke: gray, width: 2, dash: []float64{4, 3}, arrow: 8})
//	c.polygon(points, look{fill: gray})
//	c.text(20, 34, "runtime.mallocgc", lettering{size: 12, ink: black, anchor: middle, room: 180})
//	c.group("what a pointer that rests here is told", func() { c.rect(…); c.text(…) })
//	err := c.svg(w, false)   // one self-contained file, dark where the reader's system is
//	err = c.png(w, 2, false) // two pixels for each CSS pixel, light
//
// An ink has a color for light paper and one for dark; the zero ink draws nothing. textWidth measures text in the font
// that png draws with; svg holds text that could leave its room to the width measured. fitText shortens a name.
type canvas struct {
	prefix        string // prefix of names in an SVG
	width, height float64
	paper         ink
	marks         []mark
}

// A mark is one thing on a canvas.
type mark struct {
	kind   markKind
	points []point // a rectangle has two opposite corners; text has one point on its baseline
	look   look
	text   string
	letter lettering
	part   part // of a groupMark
}

// A part says what a group of marks draws, to programs that read the picture.
type part struct {
	name string // of the function
	way  bool   // it is on the heaviest path
}

type markKind int

const (
	rectMark    markKind = iota
	curveMark            // points are the control points of cubic splines: one to start at, then three for each
	polygonMark          // points are the corners
	textMark
	groupMark // ends at the matching endMark; text is the title
	endMark
)

type point struct{ x, y float64 }

// An ink is a color on light paper and on dark paper. The zero ink is none.
type ink struct{ light, dark color.RGBA }

// inkOf returns an ink from two numbers in the form 0xrrggbb.
func inkOf(light, dark uint32) ink { return ink{rgb(light), rgb(dark)} }

func rgb(c uint32) color.RGBA { return color.RGBA{uint8(c >> 16), uint8(c >> 8), uint8(c), 0xff} }

// A look is the fill and stroke of a shape.
type look struct {
	fill   ink
	hatch  ink // diagonal lines over the fill
	stroke ink
	width  float64   // of the stroke
	dash   []float64 // lengths of dashes and gaps; none is a solid line
	radius float64   // of the corners of a rectangle
	arrow  float64   // length of an arrowhead at the end of a curve, in the color of the stroke; 0 means none
}

// A lettering is the style of a line of text.
type lettering struct {
	size   float64 // of the font
	ink    ink
	anchor anchor
	room   float64 // fitText shortens wider text; 0 means no limit
}

// An anchor is the part of a text that is at its point.
type anchor int

const (
	start anchor = iota
	middle
	end
)

func newCanvas(width, height float64, paper ink) *canvas {
	return &canvas{width: width, height: height, paper: paper}
}

// rect draws a rectangle; x and y are its top left corner.
func (c *canvas) rect(x, y, w, h float64, l look) {
	c.marks = append(c.marks, mark{kind: rectMark, points: []point{{x, y}, {x + w, y + h}}, look: l})
}

// curve draws cubic splines. points has the start, and then two control points and an end for each spline.
func (c *canvas) curve(points []point, l look) {
	c.marks = append(c.marks, mark{kind: curveMark, points: points, look: l})
}

// polygon draws a closed shape.
func (c *canvas) polygon(points []point, l look) {
	c.marks = append(c.marks, mark{kind: polygonMark, points: points, look: l})
}

// text writes s with the baseline at y. It shortens s to the room of l, if necessary to nothing.
func (c *canvas) text(x, y float64, s string, l lettering) {
	s = clean(s)
	if l.room > 0 {
		s = fitText(s, l.size, l.room)
	}
	if s != "" {
		c.marks = append(c.marks, mark{kind: textMark, points: []point{{x, y}}, text: s, letter: l})
	}
}

// group gives a title to the marks that draw adds. Browsers show it as a tooltip and read it out. Unlike names, which are shortened, titles are
// complete.
func (c *canvas) group(title string, draw func()) { c.groupOf(part{}, title, draw) }

// groupOf is group, with what the marks are.
func (c *canvas) groupOf(of part, title string, draw func()) {
	const longest = 2000
	if len(title) > longest {
		title = strings.ToValidUTF8(title[:longest], "") + "…"
	}
	c.marks = append(c.marks, mark{kind: groupMark, text: title, part: of})
	draw()
	c.marks = append(c.marks, mark{kind: endMark})
}

// letters is the font of all pictures.
var letters = sync.OnceValue(func() *sfnt.Font {
	f, err := opentype.Parse(goregular.TTF)
	if err != nil {
		panic(err) // the font is embedded, so this is a bug
	}
	return f
})

// advances are the widths of the Latin-1 characters in a font of size 1.
var advances = sync.OnceValue(func() *[256]float64 {
	var table [256]float64
	var buf sfnt.Buffer
	for r := range table {
		table[r] = advance(rune(r), &buf)
	}
	return &table
})

func advance(r rune, buf *sfnt.Buffer) float64 {
	const size = 1024
	f := letters()
	i, err := f.GlyphIndex(buf, r)
	if err != nil {
		return 0
	}
	a, err := f.GlyphAdvance(buf, i, fixed.I(size), font.HintingNone)
	if err != nil {
		return 0
	}
	return float64(a) / 64 / size
}

// textWidth returns how wide s is in letters of a size.
func textWidth(s string, size float64) float64 {
	table := advances()
	var buf *sfnt.Buffer
	w := 0.0
	for _, r := range s {
		if int(r) < len(table) {
			w += table[r]
			continue
		}
		if buf == nil {
			buf = new(sfnt.Buffer)
		}
		w += advance(r, buf)
	}
	return w * size
}

// fitText shortens a name to a width. The end of a name says most, so it cuts the start. If three characters do not fit, it returns "".
func fitText(s string, size, room float64) string {
	if len(s) <= 1<<12 && textWidth(s, size) <= room {
		return s
	}
	runes := []rune(s)
	if most := int(room/size*8) + 1; len(runes) > most { // no more can fit, even narrow ones
		runes = runes[len(runes)-most:]
	}
	left := room - textWidth("…", size)
	from := len(runes)
	for from > 0 {
		left -= textWidth(string(runes[from-1]), size)
		if left < 0 {
			break
		}
		from--
	}
	if len(runes)-from < 3 {
		return ""
	}
	return "…" + string(runes[from:])
}

// headOf cuts the last part of a curve, of some length, for an arrowhead. It returns the rest of the curve and the corners of the head.
func headOf(points []point, length, width float64) ([]point, []point) {
	n := len(points)
	tip := points[n-1]
	near := func(p point) bool { return math.Hypot(p.x-tip.x, p.y-tip.y) < length }
	for n > 4 && near(points[n-4]) {
		n -= 3 // skip pieces that the head covers
	}
	rest := append([]point(nil), points[:n]...)
	last := [4]point(rest[n-4:])
	lo, hi := 0.0, 1.0
	for range 20 {
		t := (lo + hi) / 2
		if first, _ := split(last, t); near(first[3]) {
			hi = t
		} else {
			lo = t
		}
	}
	first, _ := split(last, lo)
	copy(rest[n-4:], first[:])
	base := first[3]
	dx, dy := tip.x-base.x, tip.y-base.y
	if d := math.Hypot(dx, dy); d > 0 {
		dx, dy = dx/d, dy/d
	} else {
		dy = 1
	}
	half := length*0.35 + width*0.6
	return rest, []point{tip, {base.x - dy*half, base.y + dx*half}, {base.x + dy*half, base.y - dx*half}}
}

// split cuts a cubic spline in two at t.
func split(c [4]point, t float64) (first, second [4]point) {
	between := func(a, b point) point { return point{a.x + (b.x-a.x)*t, a.y + (b.y-a.y)*t} }
	ab, bc, cd := between(c[0], c[1]), between(c[1], c[2]), between(c[2], c[3])
	abc, bcd := between(ab, bc), between(bc, cd)
	m := between(abc, bcd)
	return [4]point{c[0], ab, abc, m}, [4]point{m, bcd, cd, c[3]}
}
