package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/hone-perf/hone/internal/report"
)

// FlameOptions tune pictures of flame graphs. The zero FlameOptions draw callers above callees, 1200 pixels wide.
type FlameOptions struct {
	Options
	Pixels float64 // width of the picture; 0 means 1200
	Prefix string  // prefix of names in the SVG, because a page may contain several SVGs
}

// FlameSVG writes a flame graph as one file for browsers. Tooltips show the cost of frames.
func FlameSVG(w io.Writer, f *report.Flame, o FlameOptions) error {
	c := flameCanvas(f, o)
	c.prefix = o.Prefix
	return c.svg(w, o.Dark)
}

// FlamePNG writes a flame graph as an image with two pixels for each CSS pixel.
func FlamePNG(w io.Writer, f *report.Flame, o FlameOptions) error {
	return flameCanvas(f, o).png(w, 2, o.Dark)
}

// Lengths in pictures of flame graphs, in CSS pixels.
const (
	flameMargin  = 14.0
	flameStep    = 18.0 // from row to row
	flameBoxes   = 17.0 // height of a box
	flameLetters = 11.5
	flameLeast   = 0.3 // narrower boxes are merged into runs
	flameThin    = 1.5 // a row needs a box this wide
)

// maxFlameRows limits the height of pictures. Deeper recursion looks the same.
const maxFlameRows = 250

// Colors of pictures. They differ in lightness and between blue and orange, which most color-blind people can distinguish. Dark text on them has the
// contrast of WCAG level AA.
var (
	flamePaper = inkOf(0xffffff, 0x15171b)
	flameText  = inkOf(0x1b1d21, 0x101114) // in boxes
	titleText  = inkOf(0x1f2328, 0xe8eaed)
	smallText  = inkOf(0x59616b, 0xa3abb6)

	tintInks = [...]ink{
		tintOwn:     inkOf(0xf6a55c, 0xee9a45),
		tintStd:     inkOf(0xa9d3a2, 0x76b876),
		tintDep:     inkOf(0xcdb4ea, 0xb39ad9),
		tintRuntime: inkOf(0x9cb8d9, 0x7da3cf),
		tintOther:   inkOf(0xcfcfc8, 0x9b9ea3),
		tintRun:     inkOf(0xdddddb, 0x85898f),

		tintGone:       inkOf(0x7fb2e5, 0x6aa5e0),
		tintMuchLess:   inkOf(0x7fb2e5, 0x6aa5e0),
		tintLess:       inkOf(0xaccdee, 0x8db6dd),
		tintLittleLess: inkOf(0xcfdfee, 0x9fb3c4),
		tintSame:       inkOf(0xdadad7, 0x9b9ea3),
		tintLittleMore: inkOf(0xf3dec6, 0xbfaa93),
		tintMore:       inkOf(0xf6c692, 0xdba86f),
		tintMuchMore:   inkOf(0xf3a04e, 0xec9740),
		tintNew:        inkOf(0xf3a04e, 0xec9740),
	}
)

// lookOf returns the look of boxes with a tint.
func lookOf(t tint) look {
	l := look{fill: tintInks[t], radius: 2}
	switch t {
	case tintGone:
		l.hatch = tintInks[tintLess]
	case tintNew:
		l.hatch = tintInks[tintMore]
	}
	return l
}

// A flamePicture is a flame graph in progress.
type flamePicture struct {
	*formatter
	canvas *canvas
	block  report.FlameBlock
	tints  flameTints
}

func flameCanvas(f *report.Flame, o FlameOptions) *canvas {
	o.ASCII = false // the terminal may lack characters, but the font of pictures has them
	pic := &flamePicture{formatter: newFormatter(o.Options)}
	wide := o.Pixels
	if wide <= 0 {
		wide = 1200
	}
	pic.canvas = newCanvas(wide, 0, flamePaper)
	var lines []string
	for b := range f.Blocks() {
		switch b := b.(type) {
		case report.Heading:
			for _, l := range b.Lines {
				lines = append(lines, pic.heading(l))
			}
		case report.FlameBlock:
			pic.block = b
		}
	}
	pic.tints = tintsOf(pic.block.Root)
	if pic.tints.diff {
		m := pic.block.Measure
		before, after := costBefore(pic.block.Root).Cum, pic.block.Root.Cum
		lines = append(lines, pic.text(report.Phrase{
			"before ", report.Value{V: before, Measure: m}, ", after ", report.Value{V: after, Measure: m}, ": ",
			report.Change{From: before, To: after, Measure: m}, ", ", report.Growth{From: before, To: after},
		}))
	}
	rows := flameRows(pic.block.Root, wide-2*flameMargin, flameLeast)
	for _, n := range f.Notes {
		lines = append(lines, pic.text(n))
	}
	if pic.block.Measure.Total == 0 && len(rows) <= 1 {
		lines = append(lines, "nothing was measured: record for longer, or put the program under load")
	}
	rows, thin := cutSlivers(rows, flameThin)
	if thin > 0 {
		lines = append(lines, fmt.Sprintf("%d more rows are too thin to see; show-from and focus make room for them", thin))
	}
	if deep := len(rows) - maxFlameRows; deep > 0 {
		rows = rows[:maxFlameRows]
		lines = append(lines, fmt.Sprintf("%d deeper rows are not drawn; show-from starts further down", deep))
	}
	y := pic.title(lines)
	y = pic.legend(y)
	for i, row := range rows {
		at := y + float64(i)*flameStep
		if o.Up {
			at = y + float64(len(rows)-1-i)*flameStep
		}
		for _, b := range row {
			pic.box(b, at)
		}
	}
	pic.canvas.height = y + float64(len(rows))*flameStep + flameMargin - (flameStep - flameBoxes)
	return pic.canvas
}

// title writes the title from the top and returns where it ends.
func (p *flamePicture) title(lines []string) float64 {
	y := flameMargin
	room := p.canvas.width - 2*flameMargin
	for i, l := range lines {
		set := lettering{size: 12, ink: smallText}
		if i == 0 {
			set = lettering{size: 14, ink: titleText}
		}
		for _, part := range wrapText(clean(l), set.size, room) {
			y += set.size + 3
			set.room = room // a single word may be wider
			p.canvas.text(flameMargin, y-2, part, set)
		}
		y += 2
	}
	return y + 5
}

// wrapText splits text into lines of a width, between words.
func wrapText(s string, size, room float64) []string {
	const most = 4 // lines; longer text is not meant for pictures
	var lines []string
	line := ""
	for word := range strings.SplitSeq(s, " ") {
		switch longer := line + " " + word; {
		case line == "":
			line = word
		case textWidth(longer, size) <= room:
			line = longer
		case len(lines) == most-1:
			return append(lines, line+" …")
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// legend explains the colors from y on, and returns where it ends.
func (p *flamePicture) legend(y float64) float64 {
	items := p.tints.legend(p.block.Root)
	if len(items) == 0 {
		return y
	}
	const size, side = 11.5, 11.0
	x := flameMargin
	word := func(s string) {
		if s != "" {
			p.canvas.text(x, y+side-1.5, s, lettering{size: size, ink: smallText})
			x += textWidth(s, size) + 5
		}
	}
	for _, item := range items {
		word(item.before)
		for t := item.from; t <= item.to; t++ {
			p.canvas.rect(x, y, side, side, lookOf(t))
			x += side + 1
		}
		x += 4
		word(item.after)
		x += 9
	}
	return y + side + 9
}

// box draws b with its top at y.
func (p *flamePicture) box(b flameBox, y float64) {
	x, w := flameMargin+b.x, b.w
	switch { // leave a gap between neighbors, if they are wide enough
	case w >= 4:
		w--
	case w >= 1.5:
		w -= 0.5
	}
	l := lookOf(p.tints.tint(b))
	if w < 6 {
		l.radius = 0
	}
	if b.node == nil {
		p.canvas.group(fmt.Sprintf("%d narrow frames", b.frames), func() { p.canvas.rect(x, y, w, flameBoxes, l) })
		return
	}
	const pad = 4
	p.canvas.group(p.about(b.node), func() {
		p.canvas.rect(x, y, w, flameBoxes, l)
		if s := p.boxText(b.node, w-2*pad); s != "" {
			p.canvas.text(x+pad, y+flameBoxes-5, s, lettering{size: flameLetters, ink: flameText, room: w - 2*pad})
		}
	})
}

// boxText returns the text of a box: as much of the name as fits and, in a diff, the change if there is room for it.
func (p *flamePicture) boxText(n *report.FlameNode, room float64) string {
	if room < 2*flameLetters {
		return ""
	}
	name := clean(frameName(&p.block, n).Text)
	if p.tints.diff {
		change := "  " + p.text(report.Growth{From: costBefore(n).Cum, To: n.Cum})
		if s, ok := boxName(name, p.glyphs.dots, fitsBox(room-textWidth(change, flameLetters))); ok {
			return s + change
		}
	} else if n == p.tints.all {
		return name + "  " + p.text(report.Value{V: n.Cum, Measure: p.block.Measure})
	}
	s, _ := boxName(name, p.glyphs.dots, fitsBox(room))
	return s
}

func fitsBox(room float64) func(string) bool {
	return func(s string) bool { return textWidth(s, flameLetters) <= room }
}

// about returns the tooltip of a frame.
func (p *flamePicture) about(n *report.FlameNode) string {
	m := p.block.Measure
	cost := func(v int64) string {
		return p.text(report.Phrase{report.Value{V: v, Measure: m}, " (", report.Share{Part: v, Whole: m.Total}, ")"})
	}
	lines := []string{p.text(frameName(&p.block, n))}
	if p.tints.diff {
		before := costBefore(n)
		change := func(what string, from, to int64) {
			lines = append(lines, p.text(report.Phrase{
				what, " ", report.Value{V: from, Measure: m}, " → ", report.Value{V: to, Measure: m}, ": ",
				report.Change{From: from, To: to, Measure: m}, ", ", report.Growth{From: from, To: to},
			}))
		}
		change("cum", before.Cum, n.Cum)
		if !p.block.Callers {
			change("flat", before.Flat, n.Flat)
		}
	} else {
		lines = append(lines, "cum "+cost(n.Cum))
		if n.Flat != n.Cum && !p.block.Callers {
			lines = append(lines, "flat "+cost(n.Flat))
		}
	}
	if n.Origin != "" {
		lines = append(lines, originName(n.Origin))
	}
	return strings.Join(lines, "\n")
}
