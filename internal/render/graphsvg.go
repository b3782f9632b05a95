package render

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/render/layout"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// GraphSVG writes g as an SVG, laid out as graphviz lays out the output of Dot.
func GraphSVG(w io.Writer, g *report.Graph, o Options) error { return DotSVG(w, g, graphOptions(g, o)) }

// GraphPNG is GraphSVG as an image.
func GraphPNG(w io.Writer, g *report.Graph, o Options) error { return DotPNG(w, g, graphOptions(g, o)) }

// DotSVG writes the graph of Dot as an SVG.
func DotSVG(w io.Writer, g *report.Graph, o DotOptions) error {
	c, err := drawGraph(g, o)
	if err != nil {
		return err
	}
	return c.svg(w, o.Dark)
}

// DotPNG writes the graph of Dot as an image.
func DotPNG(w io.Writer, g *report.Graph, o DotOptions) error {
	c, err := drawGraph(g, o)
	if err != nil {
		return err
	}
	const sharp = 1.5 // pixels of the image per CSS pixel
	return c.png(w, sharp, o.Dark)
}

// graphOptions returns the legend of g and the format of its values.
func graphOptions(g *report.Graph, o Options) DotOptions {
	f := newFormatter(o)
	opt := DotOptions{Dark: o.Dark}
	for b := range g.Blocks() {
		switch b := b.(type) {
		case report.Heading:
			for _, l := range b.Lines {
				opt.Labels = append(opt.Labels, f.heading(l))
			}
		case report.Calls:
			opt.Format = f.scale(b.Measure).format
		case report.Note:
			opt.Labels = append(opt.Labels, f.text(b.Text))
		}
	}
	return opt
}

// Sizes are in points, as in graphviz. Four CSS pixels are three points.
const (
	pt         = 4.0 / 3
	legendSize = 14 * pt
	tagSize    = 8 * pt
	callSize   = 11 * pt
	leading    = 1.2 // line height, in font sizes
	depth      = 5.0 // depth of the boxes of tags, which look like blocks
	graphEdge  = 14.0
)

var (
	graphPaper = inkOf(0xffffff, 0x17181c)
	graphText  = inkOf(0x111111, 0xececec)
	plainFill  = inkOf(0xf8f8f8, 0x26282e)
	plainLine  = inkOf(0x555555, 0x9a9da5)
)

// A graphBox is a box in the picture: a node, a tag or the legend.
type graphBox struct {
	lines      []string
	size       float64 // of the font
	title      string
	part       part
	fill, line ink
	left       bool // text is aligned on the left instead of centered
	solid      bool // looks like a block
}

func (b *graphBox) room() layout.Size {
	s := textBlock(b.lines, b.size)
	s.Width += 16 + b.size/2
	s.Height += 8 + b.size/3
	if b.solid {
		s.Width += depth
		s.Height += depth
	}
	return s
}

// textBlock returns the size of a block of lines.
func textBlock(lines []string, size float64) layout.Size {
	var s layout.Size
	for _, l := range lines {
		s.Width = max(s.Width, textWidth(l, size))
	}
	s.Height = float64(len(lines)) * size * leading
	return s
}

// A graphLine is a line in the picture: a call, or the connection of a tag.
type graphLine struct {
	from, to int // indexes of boxes
	label    []string
	title    string
	way      bool // it is on the heaviest path
	ink      ink
	width    float64
	dashed   bool
	weight   int
	span     int
}

// A graphPicture is a call graph as boxes and lines.
type graphPicture struct {
	dot
	boxes   []graphBox
	lines   []graphLine
	node    []int // the box of each node
	hidden  int   // box that stands for all unlisted frames, or -1
	hottest int64
	way     report.Way
}

// drawGraph draws g in the order of Dot.
func drawGraph(g *report.Graph, o DotOptions) (*canvas, error) {
	p := graphPicture{dot: dot{g: g, format: o.Format}, hidden: -1, way: g.HeaviestPath()}
	if legend := legendLines(o.Labels); len(legend) > 0 {
		p.boxes = append(p.boxes, graphBox{
			lines: legend, size: legendSize, title: g.Title, fill: plainFill, line: plainLine, left: true,
		})
	}
	for i := range g.Nodes {
		p.hottest = max(p.hottest, unit.Abs(g.Nodes[i].Flat))
	}
	tagged := make([]bool, len(g.Nodes))
	for i := range g.Nodes {
		p.addNode(i)
		tagged[i] = p.addTags(i)
	}
	way := make(map[*report.Edge]bool)
	for _, id := range p.way.Edges {
		way[&g.Edges[id]] = true
	}
	var edges []*report.Edge
	for i := range g.Nodes {
		for _, id := range g.Nodes[i].Out {
			edges = append(edges, &g.Edges[id])
		}
	}
	p.sort(edges)
	for _, e := range edges {
		p.addCall(e, tagged[e.From], way[e])
	}
	if len(g.Nodes) == 0 {
		p.boxes = append(p.boxes, graphBox{
			lines: []string{"There are no calls to show.", "A filter may have left nothing, or the profile has no samples."},
			size:  12 * pt, fill: plainFill, line: plainLine,
		})
	}
	return p.draw()
}

// legendLines returns the legend. Labels and comments of a profile can have any number of lines of any length, so it cuts them.
func legendLines(labels []string) []string {
	const (
		most = 40
		wide = 160 // characters
	)
	if len(labels) == 0 {
		return nil
	}
	lines := strings.Split(strings.Join(labels, "\n"), "\n")
	if len(lines) > most {
		lines = append(lines[:most:most], "…")
	}
	for i, l := range lines {
		lines[i] = cutRight(clean(l), wide, "…")
	}
	return lines
}

func (p *graphPicture) addNode(i int) {
	n := &p.g.Nodes[i]
	share := shareOf(p.g)
	own := p.format(n.Flat)
	lines, all := nodeLines(&n.Frame), own
	if n.Flat != 0 {
		lines = append(lines, own+share(n.Flat))
	} else {
		lines = append(lines, "0")
	}
	if n.Cum != n.Flat {
		all = p.format(n.Cum)
		of := "of " + all + share(n.Cum)
		if n.Flat != 0 {
			lines = append(lines, of)
		} else {
			lines[len(lines)-1] += " " + of
		}
	}
	size := 8.0
	if p.hottest != 0 {
		size += math.Ceil(16 * math.Sqrt(float64(unit.Abs(n.Flat))/float64(p.hottest)))
	}
	heat := p.heat(n.Cum)
	p.node = append(p.node, len(p.boxes))
	name := n.Frame.String()
	p.boxes = append(p.boxes, graphBox{
		lines: lines, size: size * pt, title: name + " (" + all + ")", part: part{name, slices.Contains(p.way.Nodes, i)},
		fill: ink{hexColor(dotColor(heat, fills)), hexColor(dotColor(heat, darkFills))}, line: lineInk(heat),
	})
}

// heat returns v as a share of the total.
func (p *graphPicture) heat(v int64) float64 {
	if p.g.Total == 0 {
		return 0
	}
	return float64(v) / float64(unit.Abs(p.g.Total))
}

var darkFills = palette{0.45, 0.27}

// lineInk returns the color of lines. On dark paper, important lines are brighter instead of darker.
func lineInk(heat float64) ink {
	dark := palette{0.8, 0.5 + 0.45*min(1, math.Abs(heat)/0.2)}
	return ink{hexColor(dotColor(heat, lines)), hexColor(dotColor(heat, dark))}
}

// hexColor parses a color of dotColor.
func hexColor(s string) color.RGBA {
	n, err := strconv.ParseUint(s[1:], 16, 32)
	if err != nil {
		panic("render: " + s + " is not a color")
	}
	return rgb(uint32(n))
}

// nodeLines returns the lines of dotName.
func nodeLines(f *report.Frame) []string {
	short := *f
	short.Name = strings.NewReplacer("::", "\n", "[...]", "[…]", ".", "\n").Replace(shortName(f.Name))
	short.File = f.FileBase()
	return boxLines(strings.Split(string(short.Append(nil, "\n")), "\n"))
}

// boxLines shortens lines for a box, and omits lines in the middle if there are too many.
func boxLines(lines []string) []string {
	const (
		most = 16
		wide = 40 // in font sizes
	)
	if len(lines) > most {
		lines = append(append(lines[:most/2:most/2], "…"), lines[len(lines)-most/2:]...)
	}
	for i, l := range lines {
		lines[i] = fitText(clean(l), 1, wide)
	}
	return lines
}

// box returns the box of a node. All unlisted nodes share one.
func (p *graphPicture) box(i int) int {
	if i < len(p.node) {
		return p.node[i]
	}
	if p.hidden < 0 {
		p.hidden = len(p.boxes)
		p.boxes = append(p.boxes, graphBox{lines: []string{"not shown"}, size: 8 * pt, fill: plainFill, line: plainLine})
	}
	return p.hidden
}

func (p *graphPicture) addCall(e *report.Edge, tagged, way bool) {
	weight := p.format(e.Mean)
	l := graphLine{from: p.box(e.From), to: p.box(e.To), label: []string{weight}, way: way, ink: plainLine, width: 1, dashed: e.Residual}
	arrow := "->"
	if e.Residual {
		arrow = "..."
	}
	if e.Inline {
		l.label = append(l.label, "(inline)")
	}
	if p.g.Total != 0 {
		heat := p.heat(e.Mean)
		l.weight = 1 + int(min(math.Abs(heat)*100, 100))
		l.width = 1 + math.Floor(min(math.Abs(heat)*5, 5))
		l.ink = lineInk(heat)
	}
	l.title = fmt.Sprintf("%s %s %s (%s)", p.g.Frame(e.From), arrow, p.g.Frame(e.To), weight)
	if tagged {
		l.span = 2 // leaves room for tags
	}
	p.lines = append(p.lines, l)
}

// addTags adds boxes for the tags of a node, and reports whether there were any.
func (p *graphPicture) addTags(i int) bool {
	n := &p.g.Nodes[i]
	flat := len(n.Out) > 0
	before := len(p.boxes)
	for j := range min(len(n.Tags), maxNodelets) {
		t := &n.Tags[j]
		v := t.CumMean()
		if flat {
			v = t.FlatMean()
		}
		if v != 0 {
			p.addTag(p.node[i], t.Name, v, false)
			p.addRanges(len(p.boxes)-1, n.Numbers[t.Name], flat)
		}
	}
	p.addRanges(p.node[i], n.Numbers[""], flat)
	return len(p.boxes) > before
}

func (p *graphPicture) addRanges(from int, tags []report.Tag, flat bool) {
	for _, t := range tagRanges(tags, flat) {
		v, dashed := t.CumMean(), true
		if flat || t.FlatMean() == v {
			v, dashed = t.FlatMean(), false
		}
		if v != 0 {
			p.addTag(from, t.Name, v, dashed)
		}
	}
}

func (p *graphPicture) addTag(from int, name string, v int64, dashed bool) {
	value := p.format(v)
	p.lines = append(p.lines, graphLine{
		from: from, to: len(p.boxes), label: []string{value}, title: value, ink: plainLine, width: 1, dashed: dashed, weight: 100,
	})
	p.boxes = append(p.boxes, graphBox{
		lines: boxLines(strings.Split(name, `\n`)), // several labels are joined by \n
		size:  tagSize, title: value, fill: plainFill, line: plainLine, solid: true,
	})
}

// draw draws all boxes and lines on a canvas.
func (p *graphPicture) draw() (*canvas, error) {
	var g layout.Graph
	for i := range p.boxes {
		g.Nodes = append(g.Nodes, p.boxes[i].room())
	}
	for i := range p.lines {
		l := &p.lines[i]
		g.Edges = append(g.Edges, layout.Edge{From: l.from, To: l.to, Weight: l.weight, Span: l.span, Label: textBlock(l.label, callSize)})
	}
	at, err := layout.Layered(g, layout.Options{})
	if err != nil {
		return nil, fmt.Errorf("drawing the call graph: %w; limit the number of nodes", err)
	}
	c := newCanvas(at.Width+2*graphEdge, at.Height+2*graphEdge, graphPaper)
	// Important lines were added first, and have to cover the others.
	for i := len(p.lines) - 1; i >= 0; i-- {
		p.lines[i].draw(c, &at.Edges[i])
	}
	for i := range p.boxes {
		p.boxes[i].draw(c, at.Nodes[i], g.Nodes[i])
	}
	return c, nil
}

func (l *graphLine) draw(c *canvas, r *layout.Route) {
	points := make([]point, len(r.Curve))
	for i, q := range r.Curve {
		points[i] = point{q.X + graphEdge, q.Y + graphEdge}
	}
	look := look{stroke: l.ink, width: l.width, arrow: 9 + l.width}
	if l.dashed {
		look.dash = []float64{3 + l.width, 3 + l.width}
	}
	c.groupOf(part{way: l.way}, l.title, func() {
		c.curve(points, look)
		size := textBlock(l.label, callSize)
		textLines(c, l.label, r.Label.X+graphEdge-size.Width/2, r.Label.Y+graphEdge-size.Height/2, callSize, start, 0)
	})
}

func (b *graphBox) draw(c *canvas, at layout.Point, size layout.Size) {
	x, y := at.X-size.Width/2+graphEdge, at.Y-size.Height/2+graphEdge
	w, h := size.Width, size.Height
	face := look{fill: b.fill, stroke: b.line, width: 1}
	c.groupOf(b.part, b.title, func() {
		if b.solid {
			w, h = w-depth, h-depth
			c.polygon([]point{{x, y + depth}, {x + depth, y}, {x + w + depth, y}, {x + w, y + depth}}, face)
			c.polygon([]point{{x + w, y + depth}, {x + w + depth, y}, {x + w + depth, y + h}, {x + w, y + h + depth}}, face)
			y += depth
		}
		c.rect(x, y, w, h, face)
		text := textBlock(b.lines, b.size)
		top := y + (h-text.Height)/2
		if b.left {
			textLines(c, b.lines, x+(w-text.Width)/2, top, b.size, start, text.Width)
		} else {
			textLines(c, b.lines, x+w/2, top, b.size, middle, text.Width)
		}
	})
}

// textLines writes lines from top down. room is their width in a box; 0 means no limit.
func textLines(c *canvas, lines []string, x, top, size float64, a anchor, room float64) {
	for i, l := range lines {
		baseline := top + (float64(i)+0.5)*size*leading + 0.35*size
		c.text(x, baseline, l, lettering{size: size, ink: graphText, anchor: a, room: room})
	}
}
